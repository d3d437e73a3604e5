"""Functions that are very long: the forms look at each of their parts a bounded number of times."""

from __future__ import annotations

import ast
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from promptlint.frontends.python import dropping, trimming
from promptlint.frontends.python.modules import Module
from promptlint.layout import Observation
from promptlint.source import Place, SourceFile, Span

Counts = dict[str, int]


@contextmanager
def counted(monkeypatch: pytest.MonkeyPatch, module: Any, *names: str) -> Iterator[Counts]:
    """Count the calls of functions of a module, and what their results hold where those are lists."""
    counts = dict.fromkeys(names, 0)

    def counting(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **named: Any) -> Any:
            result = function(*args, **named)
            counts[name] += len(result) if isinstance(result, list) else 1
            return result

        return call

    with monkeypatch.context() as patch:
        for name in names:
            patch.setattr(module, name, counting(name, getattr(module, name)))
        yield counts


def seen(text: str) -> list[str]:
    source = SourceFile("trim.py", text)
    layouts = trimming.trimming(Module(source, ast.parse(text), None))
    return [text[o.place.span.start : o.place.span.end] for layout in layouts for o in layout.observations]


def test_what_stands_in_a_wider_place_is_left_out() -> None:
    draw = random.Random(4)
    for _ in range(200):
        spans = [sorted((draw.randrange(12), draw.randrange(12))) for _ in range(draw.randrange(9))]
        found = [
            Observation(draw.choice(("history-cut", "history-rewritten")), Place("a.py", Span(start, end)))
            for start, end in spans
        ]
        kept = [
            one
            for one in found
            if not any(
                other.what == one.what
                and other.place != one.place
                and other.place.span.start <= one.place.span.start
                and one.place.span.end <= other.place.span.end
                for other in found
            )
        ]
        assert trimming._widest(found) == kept


def test_places_are_compared_with_the_widest_only() -> None:
    class Counting(int):
        looks = 0

        def __le__(self, other: int) -> bool:
            Counting.looks += 1
            return int(self) <= other

        def __ge__(self, other: int) -> bool:
            Counting.looks += 1
            return int(self) >= other

    many = [Observation("history-cut", Place("a.py", Span(Counting(i), Counting(i + 1)))) for i in range(500)]
    Counting.looks = 0  # what the spans asked when they were made
    assert len(trimming._widest(many)) == 500
    assert Counting.looks <= 2 * 500


def test_a_limit_is_looked_for_once_in_a_function(monkeypatch: pytest.MonkeyPatch) -> None:
    loop = "    while total:\n        if {}: pass\n        messages.pop(i)\n"
    for test, found in (("used > budget", 60), ("used > other", 0)):
        with counted(monkeypatch, dropping, "_too_many") as counts:
            assert len(seen("def trim(messages):\n" + loop.format(test) * 60)) == found
        assert counts == {"_too_many": 1}
