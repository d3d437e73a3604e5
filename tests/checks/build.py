"""Layouts in one line, and a measure that counts words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from promptlint.checks import CHECKS, Thresholds
from promptlint.findings import Cost, Finding
from promptlint.layout import (
    Cause,
    Confidence,
    Guard,
    Kind,
    Layout,
    LayoutKind,
    Origin,
    OriginKind,
    Scope,
    Section,
    Segment,
)
from promptlint.source import Place, Span

FILE = "prompt.j2"
CLAUDE = {"provider": "anthropic", "model": "claude-opus-4-7", "kind": LayoutKind.REQUEST}
OPENAI = {"provider": "openai", "model": "gpt-6-sol", "kind": LayoutKind.REQUEST}


def place(at: int, size: int = 1, path: str = FILE) -> Place:
    return Place(path, Span(at, at + size))


def cause(
    kind: Kind, scope: Scope, what: str = "`x`", variant: str = "", confidence: Confidence = Confidence.HIGH
) -> Cause:
    return Cause(kind, scope, what, confidence, variant=variant)


def text(words: int, **more: object) -> Segment:
    """Fixed text of so many words, which `Words` counts as so many tokens."""
    return Segment(place(0), "w " * words, scope=Scope.RELEASE, **more)  # type: ignore[arg-type]


def hole(made: Cause | None = None, name: str = "x", **more: object) -> Segment:
    scope = made.scope if made else Scope.UNKNOWN
    return Segment(
        place(0),
        None,
        Origin(OriginKind.VARIABLE, name, name),
        scope=scope,
        cause=made,
        **more,  # type: ignore[arg-type]
    )


def guard(made: Cause | None = None, kind: str = "if", expression: str = "x == 1", at: int = 900) -> Guard:
    return Guard(
        kind, expression, place(at), scope=made.scope if made else Scope.UNKNOWN, cause=made, name="x"
    )


def layout(*segments: Segment, **more: object) -> Layout:
    """Put segments one behind the other, each at its own place."""
    placed = [
        replace(segment, place=place(1000 * index, len(segment.text or "xxx")))
        for index, segment in enumerate(segments)
    ]
    return Layout("prompt", place(0), tuple(placed), **more)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Blocks16:
    name: str = "test"
    block_tokens: int | None = 16


@dataclass(frozen=True)
class Words:
    """A measure whose token is a word and whose block is sixteen of them."""

    of: Layout
    profile: Blocks16 = field(default_factory=Blocks16)

    def tokens(self, index: int) -> int:
        return len((self.of.segments[index].text or "").split())

    def lost_behind(self, index: int, scope: Scope, within: Sequence[Guard] = ()) -> Cost:
        behind = range(index + 1, len(self.of.segments))
        count = sum(
            self.tokens(i) for i in behind if scope.narrower_than(self.of.segments[i].scope_within(within))
        )
        return Cost(count, count // 16, "test")


SYSTEM, TOOLS, MESSAGES = Section.SYSTEM, Section.TOOLS, Section.MESSAGES


def run(made: Layout, thresholds: Thresholds = Thresholds(), off: bool = False) -> list[Finding]:  # noqa: B008
    found: list[Finding] = []
    for check in CHECKS:
        if check.default or off:
            found.extend(check.run(made, Words(made), thresholds))
    return found
