"""The result of reading one template: its segments, and what is known about each hole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from promptlint.frontends.jinja.values import Piece, Symbol, is_date
from promptlint.layout import Observation, Origin, OriginKind, Segment, Step


@dataclass(frozen=True, slots=True)
class Hole:
    """What is known about one hole of a fragment.

    ``index`` is the hole's position in `Fragment.segments`; ``path`` its variable or callee, as
    ``user.name``, ``messages[].content`` or ``datetime.now``. ``exact`` is True where the hole prints
    just that variable, so that its value may be put in its place. ``default`` is printed where the
    variable is missing; ``names`` are all variables and callees in the expression.
    """

    index: int
    path: str
    kind: OriginKind
    exact: bool
    filters: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    default: str | None = None
    chain: tuple[Step, ...] = ()


@dataclass(frozen=True, slots=True)
class Fragment:
    """A template's segments in the order in which they are printed.

    A loop's body stands once, under a guard ``for``; every branch of an ``if`` stands once, under
    guards that differ in ``branch``. ``holes`` has one entry for each segment that is a hole.
    """

    segments: tuple[Segment, ...]
    complete: bool = True
    gaps: tuple[str, ...] = ()
    observations: tuple[Observation, ...] = ()
    holes: tuple[Hole, ...] = ()


def variables(fragment: Fragment) -> dict[str, tuple[Hole, ...]]:
    """Return the holes of a fragment by the root of their path: ``user`` for ``user.name``."""
    found: dict[str, list[Hole]] = {}
    for hole in fragment.holes:
        root = hole.path.partition(".")[0].partition("[")[0]
        found.setdefault(root, []).append(hole)
    return {root: tuple(holes) for root, holes in found.items()}


def build(
    pieces: Sequence[Piece], gaps: Sequence[str] = (), observations: Sequence[Observation] = ()
) -> Fragment:
    """Turn pieces into a fragment."""
    segments: list[Segment] = []
    holes: list[Hole] = []
    for piece in pieces:
        if piece.symbol is not None:
            holes.append(_hole(len(segments), piece.symbol))
            segments.append(Segment(piece.place, None, _origin(piece.symbol), guards=piece.guards))
        elif piece.text:
            segments.append(Segment(piece.place, piece.text, guards=piece.guards))
    return Fragment(tuple(segments), not gaps, tuple(gaps), tuple(observations), tuple(holes))


def _hole(index: int, symbol: Symbol) -> Hole:
    return Hole(
        index,
        symbol.path,
        symbol.kind,
        symbol.exact and symbol.kind is OriginKind.VARIABLE,
        symbol.filters,
        symbol.names,
        symbol.default,
        symbol.chain,
    )


def _origin(symbol: Symbol) -> Origin:
    names = symbol.names if len(symbol.names) > 1 else ()
    if is_date(symbol.default):  # whatever it is called, mostly nobody gives another
        return Origin(OriginKind.OPAQUE, symbol.expression or symbol.path, symbol.path, "a day as default")
    return Origin(symbol.kind, symbol.expression or symbol.path, symbol.path, symbol.why, names, symbol.chain)
