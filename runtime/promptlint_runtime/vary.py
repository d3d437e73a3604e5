"""Requests made from a layout: each hole gets a text for the scope within which it stays the same.

::

    --vary day,session,request --each 2

    day 0 ─┬─ session 0 ─┬─ request 0      a hole of scope `session` has the same text in both
           │             └─ request 1      requests of a session, one of scope `user` in all of them
           └─ session 1 ─┬─ …
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

from promptlint.errors import UsageError
from promptlint.layout import Layout, Scope, Segment
from promptlint.source import SourceFile
from promptlint_runtime.prompts import Piece, Prompt

MAX_REQUESTS = 10_000
_WORDS = [
    "amber",
    "basin",
    "cedar",
    "delta",
    "ember",
    "fable",
    "grain",
    "haven",
    "inlet",
    "jetty",
    "kernel",
    "linden",
    "meadow",
    "north",
    "olive",
    "prairie",
    "quartz",
    "ridge",
    "slate",
    "thistle",
    "umber",
    "valley",
    "willow",
    "yarrow",
    "zephyr",
    "anchor",
    "bridge",
    "copper",
    "dune",
    "estuary",
]


def parse_scopes(text: str) -> tuple[Scope, ...]:
    """Read the names of scopes, separated by commas; return them from wide to narrow.

    Raises:
        UsageError: a name that is no scope, or none at all.
    """
    known = {scope.value: scope for scope in Scope if scope is not Scope.UNKNOWN}
    names = [name.strip() for name in text.split(",") if name.strip()]
    wrong = [name for name in names if name not in known]
    if wrong or not names:
        raise UsageError(f"no scope named {', '.join(wrong) or '(nothing)'}", f"take of: {', '.join(known)}")
    return tuple(sorted({known[name] for name in names}, key=lambda scope: scope.rank))


def vary(
    layout: Layout,
    sources: Mapping[str, SourceFile],
    scopes: Sequence[Scope],
    *,
    each: int = 2,
    words: int = 12,
    seed: int = 0,
    values: Mapping[str, Any] | None = None,
) -> list[Prompt]:
    """Return ``each`` to the power of ``len(scopes)`` prompts.

    Args:
        layout: the prompt, with scopes.
        sources: files by path, for the lines.
        scopes: what varies, wide to narrow. A hole whose scope lies between two of them varies with the
            wider one; one of unknown scope with the narrowest, so that no reuse is promised for it.
        each: values of each scope.
        words: length of a hole's text.
        seed: of the texts.
        values: texts for holes by name, which then do not vary.

    Raises:
        UsageError: that would be too many.
    """
    if each ** len(scopes) > MAX_REQUESTS:
        raise UsageError(f"{each}^{len(scopes)} is over {MAX_REQUESTS:,} requests", "give a smaller --each")
    prompts = []
    for numbers in product(range(each), repeat=len(scopes)):
        pieces: list[Piece] = []
        for segment in layout.segments:
            if any(guard.branch for guard in segment.guards):
                continue  # of several branches the first is taken
            text = segment.text
            if text is None:
                given = (values or {}).get(segment.origin.name)
                text = _value(segment, scopes, numbers, words, seed) if given is None else str(given)
            pieces += _lines(text, segment, sources)
        label = ", ".join(f"{scope} {number}" for scope, number in zip(scopes, numbers, strict=True))
        prompts.append(Prompt(f"{layout.place.path}:{layout.name}", tuple(pieces), label))
    return prompts


def _value(segment: Segment, scopes: Sequence[Scope], numbers: Sequence[int], words: int, seed: int) -> str:
    scope = segment.effective_scope
    held = len(scopes) if scope is Scope.UNKNOWN else sum(s.rank <= scope.rank for s in scopes)
    name = segment.origin.name or segment.origin.expression
    rng = random.Random(f"{seed}/{name}/{numbers[:held]}")
    return " ".join(rng.choices(_WORDS, k=words))


def _lines(text: str, segment: Segment, sources: Mapping[str, SourceFile]) -> list[Piece]:
    place = segment.place
    source = sources.get(place.path)
    first = source.position(place.span.start)[0] if source else 1
    if segment.text is None or source is None:
        return [Piece(text, place.path, first)] if text else []
    return [
        Piece(line, place.path, first + number, fixed=True)
        for number, line in enumerate(text.splitlines(keepends=True))
    ]
