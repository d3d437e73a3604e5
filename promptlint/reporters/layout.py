"""Showing one prompt: its segments, a strip coloured by scope, and what a cache can reuse."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from promptlint.layout import Guard, Layout, LayoutKind, OriginKind, Scope, Section, Segment
from promptlint.prefix.measure import Measure
from promptlint.prefix.reusable import Reusable
from promptlint.reporters.mask import mask
from promptlint.source import Place
from promptlint.words import counted

_STRIP = 96
_PATH = 28  # characters of a file and line beside a part
_LETTER = {
    Scope.RELEASE: "=",
    Scope.PROCESS: "p",
    Scope.MACHINE: "m",
    Scope.DAY: "d",
    Scope.TENANT: "t",
    Scope.USER: "u",
    Scope.SESSION: "s",
    Scope.REQUEST: "r",
    Scope.UNKNOWN: "?",
}
_COLOR = {  # of 256: green to red, as the text changes more often
    Scope.RELEASE: 34,
    Scope.PROCESS: 70,
    Scope.MACHINE: 106,
    Scope.DAY: 142,
    Scope.TENANT: 178,
    Scope.USER: 208,
    Scope.SESSION: 202,
    Scope.REQUEST: 160,
    Scope.UNKNOWN: 244,
}
_WITHIN = {
    Scope.RELEASE: "all requests",
    Scope.DAY: "one day",
    Scope.TENANT: "one tenant",
    Scope.USER: "one user",
    Scope.SESSION: "one conversation",
}


@dataclass(frozen=True, slots=True)
class View:
    """One prompt to show: its measure now, and with stable text first; it may stand for its ``variants``.

    ``lines`` are those that its segments stand in; ``model`` is the one that both are measured for.
    """

    layout: Layout
    measure: Measure
    reordered: Measure
    lines: tuple[int, ...]
    variants: int = 1
    model: str = ""


def scope_of(segment: Segment) -> Scope:
    """Return the scope to show: fixed text that no guard touches is of the release."""
    if segment.origin.kind is OriginKind.LITERAL and segment.effective_scope is Scope.UNKNOWN:
        return Scope.RELEASE
    return segment.effective_scope if segment.effective_scope is not Scope.RELEASE else segment.scope


def render_layout(view: View, *, color: bool, width: int = 110) -> str:
    """Return the table, the strip and the reusable prefix of one prompt."""
    layout, measure = view.layout, view.measure
    profile = measure.profile
    of = "with the samples" if any(map(_is_sample, layout.segments)) else "of fixed text"
    total = f"{'about ' if measure.estimated else ''}{counted(measure.total, 'token')} {of}"
    block = f", blocks of {profile.block_tokens}" if profile.block_tokens else ""
    lines = [f"{layout.name}: {total} ({measure.counter.name}), cache {profile.name}{block}"]
    if view.variants > 1:
        which = "request " if layout.kind is LayoutKind.REQUEST else ""
        lines.append(
            f"  the longest {which}of {view.variants} variants, by callers, branches and steps; --all shows each"
        )
    lines += [f"  not complete: {gap}" for gap in layout.gaps]
    lines += [
        "",
        *_table(view, color, width),
        "",
        *_strip(view, color, min(_STRIP, width - 4)),
        "",
        *_prefixes(view),
    ]
    return "\n".join(lines) + "\n"


def _is_sample(segment: Segment) -> bool:
    return not segment.is_hole and segment.origin.kind is not OriginKind.LITERAL


def _paint(text: str, scope: Scope, color: bool) -> str:
    return f"\x1b[38;5;{_COLOR[scope]}m{text}\x1b[0m" if color else text


def _table(view: View, color: bool, width: int) -> list[str]:
    heads, places = _heads(view.layout), _places(view)
    wide = max(map(len, places), default=0)
    rows = [f"{'#':>4}  {'part':<10} {'tokens':>7}  {'changes':<10} {'line':<{wide}}  text"]
    for first, end in _rows(view.layout.segments):
        segment = view.layout.segments[first]
        scope = scope_of(segment)
        part = segment.role or segment.section.value
        tokens = "·" if segment.is_hole else f"{sum(map(view.measure.tokens, range(first, end))):,}"
        changes = _paint(f"{'-' if scope is Scope.RELEASE else scope.value:<10}", scope, color)
        guard = f"[{_guard(segment.guards[-1], heads)}] " if segment.guards else ""
        mark = _mark(view.layout.segments[end - 1])
        text = " ".join(map(_text, view.layout.segments[first:end]))
        shown = _preview(guard + text, width - 39 - wide - len(mark)) + mark
        rows.append(f"{first:>4}  {part:<10} {tokens:>7}  {changes} {places[first]:<{wide}}  {shown}")
    return rows


def _rows(segments: Sequence[Segment]) -> Iterator[tuple[int, int]]:
    """Yield what stands in one row, from and to: of a tool, which is many small pieces of JSON, all up to a value."""
    first = 0
    for at in range(1, len(segments) + 1):
        before, after = segments[at - 1], segments[at] if at < len(segments) else None
        together = (
            after is not None
            and not (before.is_hole or after.is_hole or before.breakpoint)
            and before.section is after.section is Section.TOOLS
            and (before.guards, before.scope, before.place.path)
            == (after.guards, after.scope, after.place.path)
            and before.message == after.message
        )
        if not together:
            yield first, at
            first = at


def _places(view: View) -> list[str]:
    """Return where each part stands: its line, with the name of its file where the parts are of several."""
    segments, lines = view.layout.segments, [f"{line}" for line in view.lines]
    if len({segment.place.path for segment in segments}) < 2:
        wide = max(map(len, ["line", *lines]), default=0)
        return [f"{line:>{wide}}" for line in lines]
    files = {segment.place.path: PurePosixPath(segment.place.path).name for segment in segments}
    if len(set(files.values())) < len(files):
        files = {path: path for path in files}
    shown = (f"{files[segment.place.path]}:{line}" for segment, line in zip(segments, lines, strict=True))
    return [f"…{place[1 - _PATH :]}" if len(place) > _PATH else place for place in shown]


def _heads(layout: Layout) -> dict[Place, str]:
    """Return what stands in the head of each condition, by its place: its other branches may repeat it."""
    return {g.place: g.expression for s in layout.segments for g in s.guards if g.branch == 0}


def _guard(guard: Guard, heads: Mapping[Place, str]) -> str:
    """Name a condition with its branch: what stands under ``else`` is not under the condition itself."""
    said = f"{guard.kind} {guard.expression}"
    if guard.branch == 0:
        return said
    head = heads.get(guard.place)
    if guard.kind != "if" or head is None:
        return f"{said}, branch {guard.branch + 1}"
    return f"else of {said}" if head == guard.expression else f"el{said}"


def _text(segment: Segment) -> str:
    if segment.text is not None:
        return segment.text if segment.text.strip() else segment.text.replace("\n", "\\n")
    cause = f"  ({segment.cause.kind.value})" if segment.cause else ""
    return f"«{segment.origin.expression or segment.origin.name or segment.origin.why}»{cause}"


def _mark(segment: Segment) -> str:
    """Show the cache mark at the end of a segment, with its lifetime where one is written."""
    found = segment.breakpoint
    return f"  <- {found.marker} {found.ttl}".rstrip() if found else ""


def _preview(text: str, width: int) -> str:
    flat = mask(" ".join(text.split()))
    return flat if len(flat) <= width else f"{flat[: width * 2 // 3]} … {flat[-max(1, width // 3 - 3) :]}"


def _strip(view: View, color: bool, width: int) -> list[str]:
    """Draw the prompt as one line: fixed text by its tokens, a hole as one character."""
    segments = view.layout.segments
    total = max(1, sum(view.measure.tokens(i) for i in range(len(segments))))
    room = max(1, width - sum(s.is_hole for s in segments))
    line, seen = "", []
    for index, segment in enumerate(segments):
        scope = scope_of(segment)
        size = 1 if segment.is_hole else round(view.measure.tokens(index) * room / total)
        line += _paint(_LETTER[scope] * size, scope, color)
        if scope not in seen:
            seen.append(scope)
    seen.sort(key=lambda s: s.rank)
    legend = "  ".join(f"{_paint(_LETTER[s], s, color)} {s.value}" for s in seen)
    return [f"  {line}", f"  {legend}"]


def _prefixes(view: View) -> list[str]:
    rows = [
        f"  {'reusable within':<18} {'tokens':>8} {'matched':>8} {'blocks':>7}   {'stable first':>12}   stops at"
    ]
    for scope, words in _WITHIN.items():
        now, then = view.measure.prefix(scope), view.reordered.prefix(scope)
        stop = "" if now.first_blocker is None else f"#{now.first_blocker}"
        plus = "+" if now.holes else " "
        rows.append(
            f"  {words:<18} {now.tokens:>7,}{plus} {now.aligned_tokens:>8,} {now.blocks:>7,}   "
            f"{then.aligned_tokens:>12,}   {stop}"
        )
    rows.append(
        "  tokens: of fixed text before the first part that changes more often; + holes in it count too"
    )
    rows.append(
        "  matched: what the cache can reuse of them; stable first: the same if what changes came last"
    )
    least = view.measure.profile.min_tokens or 0
    if any(0 < view.measure.prefix(scope).tokens < least for scope in _WITHIN):
        rows.append(
            f"  matched is 0 where that is under {counted(least, 'token')}, the least that {view.measure.profile.name} caches"
        )
    return [row.rstrip() for row in rows]


def layout_json(view: View) -> dict[str, Any]:
    """Return the same as JSON values."""
    measure, heads = view.measure, _heads(view.layout)
    return {
        "name": view.layout.name,
        "file": view.layout.place.path,
        "complete": view.layout.complete,
        "gaps": list(view.layout.gaps),
        "profile": measure.profile.name,
        "tokenizer": measure.counter.name,
        "estimated": measure.estimated,
        "tokens": measure.total,
        "segments": [_segment(view, index, heads) for index in range(len(view.layout.segments))],
        "reusable": {s.value: _reusable(measure.prefix(s)) for s in _WITHIN},
        "stable_first": {s.value: _reusable(view.reordered.prefix(s)) for s in _WITHIN},
    }


def _segment(view: View, index: int, heads: Mapping[Place, str]) -> dict[str, Any]:
    segment = view.layout.segments[index]
    return {
        "file": segment.place.path,
        "start": segment.place.span.start,
        "end": segment.place.span.end,
        "line": view.lines[index],
        "text": None if segment.text is None else mask(segment.text),
        "section": segment.section.value,
        "role": segment.role,
        "message": segment.message,
        "tokens": None if segment.is_hole else view.measure.tokens(index),
        "scope": scope_of(segment).value,
        "kind": segment.cause.kind.value if segment.cause else None,
        "expression": segment.origin.expression,
        "guards": [_guard(guard, heads) for guard in segment.guards],
        "mark": segment.breakpoint and {"field": segment.breakpoint.marker, "ttl": segment.breakpoint.ttl},
    }


def _reusable(found: Reusable) -> dict[str, Any]:
    return {
        "tokens": found.tokens,
        "matched": found.aligned_tokens,
        "blocks": found.blocks,
        "first_blocker": found.first_blocker,
        "holes": found.holes,
    }
