"""Text as pieces: known text with its place, holes, and the branches and loops around them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import chain

from promptlint.frontends.base import MAX_PIECES
from promptlint.frontends.mapped import MappedText
from promptlint.layout import Breakpoint, Cause, Guard, Kind, Segment, Step
from promptlint.source import Place


class TextSource:
    """Where decoded text comes from; its character map is made only when somebody asks."""

    __slots__ = ("_make", "_mapped", "path")

    def __init__(self, path: str, make: Callable[[], MappedText]) -> None:
        self.path = path
        self._make = make
        self._mapped: MappedText | None = None

    @property
    def mapped(self) -> MappedText:
        """Return the text with its way back to the file."""
        if self._mapped is None:
            self._mapped = self._make()
        return self._mapped


@dataclass(frozen=True, slots=True)
class Lit:
    """Known text: ``text`` starts at offset ``at`` of the decoded text of ``source``.

    ``whole`` is set where the text was changed (dedent, strip of the middle) and no longer maps
    character by character.
    """

    text: str
    source: TextSource
    at: int = 0
    whole: bool = False

    def place(self) -> Place:
        """Return where the text stands."""
        mapped = self.source.mapped
        if self.whole:
            return mapped.place(0, len(mapped.text))
        return mapped.place(self.at, self.at + len(self.text))

    def cut(self, start: int, end: int) -> Lit:
        """Return a part of the text."""
        return replace(self, text=self.text[start:end], at=self.at + (0 if self.whole else start))


@dataclass(frozen=True, slots=True)
class Hole:
    """A place in a text whose value is not known."""

    place: Place
    expression: str
    name: str = ""
    cause: Cause | None = None
    loop: int = 0  # id of the loop whose counter this is
    call: bool = False  # the value is what a call gave of which nothing is known
    multiline: bool = True  # the value may contain a newline
    root: str = ""  # the name that the value's expression begins with
    field: str = ""  # the field of a template that the value fills
    given: Step | None = None  # where it is given for that field, or put in place of a word
    written: str = ""  # as what it enters a text: its own name may be that of a call


@dataclass(frozen=True, slots=True)
class Alt:
    """One of several texts, chosen by a condition."""

    guard: Guard
    branches: tuple[tuple[Part, ...], ...]
    weight: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "weight", 1 + sum(map(_weight, chain.from_iterable(self.branches))))


@dataclass(frozen=True, slots=True)
class Loop:
    """Text repeated for each element of a collection."""

    guard: Guard
    parts: tuple[Part, ...]
    weight: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "weight", 1 + sum(map(_weight, self.parts)))


@dataclass(frozen=True, slots=True)
class Mark:
    """A cache mark at this point."""

    breakpoint: Breakpoint


@dataclass(frozen=True, slots=True)
class Seg:
    """A segment as another frontend made it: a piece of a template file, or of a text with fields."""

    segment: Segment


Part = Lit | Hole | Alt | Loop | Mark | Seg


_LONG = 250  # characters
MAX_PARTS = MAX_PIECES  # of one text: a program of sixty lines can double a text sixty times


def _weight(part: Part) -> int:
    """Return how many pieces a piece stands for; one that is very long is as much as several."""
    if isinstance(part, Lit):
        return 1 + len(part.text) // _LONG
    return part.weight if isinstance(part, Alt | Loop) else 1


def weight_of(parts: Iterable[Part]) -> int:
    """Return how many pieces the pieces stand for."""
    return sum(map(_weight, parts))


def bounded(parts: tuple[Part, ...]) -> tuple[Part, ...]:
    """Return the pieces of a text, with one hole for what goes beyond `MAX_PARTS`."""
    weight = 0
    for at, part in enumerate(parts):
        weight += _weight(part)
        if weight > MAX_PARTS:
            places = (
                p.place if isinstance(p, Hole) else p.place() for p in parts if isinstance(p, Hole | Lit)
            )
            place = next(places, None)
            return (*parts[:at], Hole(place, "…")) if place is not None else parts[:at]
    return parts


def worst(*causes: Cause | None) -> Cause | None:
    """Return the cause that changes most often, the surer one first among equals."""
    best: Cause | None = None
    for cause in causes:
        if cause is not None and (
            best is None
            or (cause.scope.rank, cause.confidence.rank) > (best.scope.rank, best.confidence.rank)
        ):
            best = cause
    return best


def flat(parts: Iterable[Part]) -> Iterator[Part]:
    """Yield literals, holes and marks in order, through branches and loops."""
    for part in parts:
        if isinstance(part, Alt):
            for branch in part.branches:
                yield from flat(branch)
        elif isinstance(part, Loop):
            yield from flat(part.parts)
        else:
            yield part


def cause_of(part: Part) -> Cause | None:
    """Return why a piece changes, if it is a hole with a known cause."""
    if isinstance(part, Hole):
        return part.cause
    return part.segment.cause if isinstance(part, Seg) else None


def disorder(parts: Iterable[Part]) -> Cause | None:
    """Return why a text's repetitions have no fixed order, if one has none."""
    for part in parts:
        if isinstance(part, Loop):
            if part.guard.cause is not None and part.guard.cause.kind is Kind.UNORDERED:
                return part.guard.cause
            inner: Iterable[tuple[Part, ...]] = (part.parts,)
        else:
            inner = part.branches if isinstance(part, Alt) else ()
        for branch in inner:
            if (found := disorder(branch)) is not None:
                return found
    return None


def text_of(part: Part) -> str:
    """Return the known text of a piece, or nothing."""
    if isinstance(part, Lit):
        return part.text
    return (part.segment.text or "") if isinstance(part, Seg) else ""


def without_text(parts: Iterable[Part]) -> tuple[Part, ...]:
    """Return the pieces without their known text."""
    out: list[Part] = []
    for part in parts:
        if isinstance(part, Alt):
            out.append(Alt(part.guard, tuple(map(without_text, part.branches))))
        elif isinstance(part, Loop):
            out.append(Loop(part.guard, without_text(part.parts)))
        elif not isinstance(part, Lit):
            out.append(part)
    return tuple(out)


def map_holes(parts: tuple[Part, ...], change: Callable[[Hole], Hole]) -> tuple[Part, ...]:
    """Return the pieces with every hole replaced by what ``change`` makes of it."""
    out: list[Part] = []
    for part in parts:
        if isinstance(part, Hole):
            out.append(change(part))
        elif isinstance(part, Alt):
            out.append(Alt(part.guard, tuple(map_holes(b, change) for b in part.branches)))
        elif isinstance(part, Loop):
            out.append(Loop(part.guard, map_holes(part.parts, change)))
        else:
            out.append(part)
    return tuple(out)


def map_causes(parts: tuple[Part, ...], change: Callable[[Cause], Cause | None]) -> tuple[Part, ...]:
    """Return the pieces with every cause replaced by what ``change`` makes of it."""
    out: list[Part] = []
    for part in parts:
        if isinstance(part, Hole) and part.cause is not None:
            out.append(replace(part, cause=change(part.cause)))
        elif isinstance(part, Seg) and part.segment.cause is not None:
            out.append(Seg(replace(part.segment, cause=change(part.segment.cause))))
        elif isinstance(part, Alt):
            out.append(Alt(part.guard, tuple(map_causes(b, change) for b in part.branches)))
        elif isinstance(part, Loop):
            out.append(Loop(part.guard, map_causes(part.parts, change)))
        else:
            out.append(part)
    return tuple(out)
