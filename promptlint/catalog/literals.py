"""Values pasted into a fixed text that a program must have written there.

A date in an example is part of the prompt and never changes. What is looked for is a value behind a label
that says it belongs to one run: ``Current time: 2026-11-03T09:15:27Z``.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from promptlint.catalog.model import Volatile

_EXAMPLE = re.compile(
    r"\b(?:examples?|e\.g\.|for instance|such as|sample|format(?:ted)?|like this|looks? like|schema|output|"
    r"input|response|expected|shots?)\b",
    re.IGNORECASE,
)
_FENCE = re.compile(r"^[ \t]*(?:```|~~~)", re.MULTILINE)
LOOK_BACK = 200
MOST = 100  # values of one kind in one text; where there are more, it is a record and no prompt


@dataclass(frozen=True, slots=True)
class Literal:
    """A pattern whose group ``value`` is the volatile text."""

    pattern: re.Pattern[str]
    trigger: str  # a character every match contains: a cheap test before the search
    value: Volatile


def find_literals(text: str, table: tuple[Literal, ...]) -> Iterator[tuple[int, int, Volatile]]:
    """Yield the range of each pasted value in a text, in the order of the table.

    Silent inside code fences, and behind words that announce an example within the last
    `LOOK_BACK` characters.
    """
    fences: list[int] | None = None
    for literal in table:
        if literal.trigger not in text:
            continue
        for match in islice(literal.pattern.finditer(text), MOST):
            if fences is None:
                fences = [fence.start() for fence in _FENCE.finditer(text)]
            in_code = bisect_right(fences, match.start()) % 2 == 1
            if not in_code and not _EXAMPLE.search(text, max(0, match.start() - LOOK_BACK), match.start()):
                yield match.start("value"), match.end("value"), literal.value
