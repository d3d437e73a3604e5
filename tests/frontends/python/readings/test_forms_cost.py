"""Functions that are very long: the forms look at each of their parts a bounded number of times."""

from __future__ import annotations

import ast
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from promptlint.frontends.python.readings import downgrading, dressing, dropping, forgetting, trimming, turns
from promptlint.frontends.python.values.modules import Module
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
    text += "\nimport openai\n"  # conversations are where a model is spoken to
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


@pytest.mark.parametrize(("test", "found"), [("m.old", 0), ("used > budget", 1)])
def test_conditions_are_looked_at_once(monkeypatch: pytest.MonkeyPatch, test: str, found: int) -> None:
    looked = []
    for size in (40, 80):
        tests = "".join(f"        if m.a{i} == 1:\n            continue\n" for i in range(size))
        edits = f"        if {test}:\n" + "            m['content'] = 'x'\n" * size
        text = "def trim(messages, budget):\n    for m in messages:\n        used += 1\n" + tests + edits
        with (
            counted(monkeypatch, forgetting, "walk", "exceeds") as counts,
            counted(monkeypatch, turns, "walk", "children") as inner,
        ):
            assert len(seen(text)) == found * size
        looked.append(sum(counts.values()) + sum(inner.values()))
    assert looked[1] <= 2.2 * looked[0]


def test_loops_over_copies(monkeypatch: pytest.MonkeyPatch) -> None:
    looked = []
    for size in (40, 80):
        text = "def trim(messages, budget):\n    a0 = messages\n" + "".join(
            f"    for m in a{i}:\n        used += 1\n        if used > budget:\n            m['content'] = 'x'\n"
            f"    a{i + 1} = list(a{i})\n"
            for i in range(size)
        )
        with (
            counted(monkeypatch, forgetting, "walk", "exceeds") as counts,
            counted(monkeypatch, turns, "walk", "children") as inner,
        ):
            assert len(seen(text)) == size
        looked.append(sum(counts.values()) + sum(inner.values()))
    assert looked[1] <= 2.2 * looked[0]


def test_a_long_chain_of_alternatives(monkeypatch: pytest.MonkeyPatch) -> None:
    looked = []
    for size in (40, 80):
        chain = "".join(
            f"        elif i == {i}:\n            m['content'] = step.short\n" for i in range(size)
        )
        text = (
            "def show(messages):\n    for i, m in enumerate(messages):\n        if i < step.at: pass\n"
            + chain
        )
        with counted(monkeypatch, turns, "walk", "children") as counts:
            assert len(seen(text)) == size
        looked.append(sum(counts.values()))
    assert looked[1] <= 2.2 * looked[0]


def shows(size: int) -> str:
    """Return a function that shows ``size`` summaries while turns are old, ``size`` texts when they are new."""
    return (
        "def show(messages):\n    for i, step in enumerate(messages):\n        if i < len(messages) - 1:\n"
        + "".join(f"            t = step.a{i}.summary\n" for i in range(size))
        + "        else:\n"
        + "".join(f"            t = step.b{i}.message\n" for i in range(size))
    )


def chain(size: int) -> str:
    """Return a function with ``size`` alternatives, of which the last but one shows what the last has in full."""
    return (
        "def show(messages):\n    for i, step in enumerate(messages):\n        if i < 0: pass\n"
        + "".join(f"        elif i == {n}:\n            t = step.a{n}.summary\n" for n in range(size))
        + f"        else:\n            t = step.a{size - 1}.message\n"
    )


@pytest.mark.parametrize(("form", "found"), [(shows, []), (chain, ["step.a{}.summary"])])
def test_branches_are_compared_by_what_they_show(
    monkeypatch: pytest.MonkeyPatch, form: Callable[[int], str], found: list[str]
) -> None:
    looked = []
    for size in (40, 80):
        with counted(monkeypatch, downgrading, "walk", "children", "bisect_left") as counts:
            assert seen(form(size)) == [one.format(size - 1) for one in found]
        looked.append(sum(counts.values()))
    assert looked[1] <= 2.2 * looked[0]


def test_a_summary_is_looked_for_once_in_a_function(monkeypatch: pytest.MonkeyPatch) -> None:
    looked = []
    for size in (20, 40):
        text = "def trim(messages):\n" + "".join(
            f"    old{i} = messages[:-2]\n    s = summarize(old{i})\n"
            "    self.memory.clear()\n    self.memory.add(s)\n"
            for i in range(size)
        )
        with counted(monkeypatch, forgetting, "walk") as counts:
            assert len(seen(text)) == 2 * size
        looked.append(counts["walk"])
    assert looked[1] <= 2.2 * looked[0]


@pytest.mark.parametrize(
    ("body", "looks"),
    [
        ("return rows[-3:]", 0),  # to give something back is no turn
        ("return turns[-3:]", 1),
        ("return events[-3:]", 1),
    ],
)
def test_only_functions_with_a_word_for_turns_are_looked_at(
    monkeypatch: pytest.MonkeyPatch, body: str, looks: int
) -> None:
    with counted(monkeypatch, trimming, "read") as counts:
        seen(f'FIRST = {{"role": "user"}}\ndef last(it):\n    {body}\n')
    assert counts["read"] == looks


def test_a_copied_question_is_looked_for_where_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def looks(copies: int) -> int:
        lines = "".join(
            f"    t{n} = copy(query.user_message)\n    t{n}.content += x\n    send(t{n})\n"
            for n in range(copies)
        )
        with counted(monkeypatch, dressing, "_changes") as counts:
            assert len(seen(f"def ask(query, x):\n{lines}")) == copies
        return counts["_changes"]

    assert looks(80) <= 2.2 * looks(40)
