"""What the text around a value tells, where nothing else does: its form and the words in front of it.

A value in the middle of a sentence is mostly a setting (``answer in {language}``). What a request is about
stands apart from the instructions::

    Page: {url}                 behind a label
    <diff>{changes}</diff>      in a tag
    The notes:
    {notes}                     on a line of its own

and ``Today is {x}`` says what x is, whatever it is called. ``At least {turns} turns`` is a number.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from promptlint.catalog.catalog import Catalog
from promptlint.layout import (
    APART,
    ARGUMENT,
    INCLUDED,
    Cause,
    Confidence,
    Kind,
    Origin,
    OriginKind,
    Scope,
    Segment,
)

_DATA = frozenset({Kind.REQUEST_INPUT, Kind.RETRIEVED, Kind.HISTORY})
_TIMED = frozenset({Kind.CLOCK, Kind.COUNTER})
_NAMED = frozenset({OriginKind.VARIABLE, OriginKind.CALL})
_LABEL = re.compile(
    r"^[\s#>*\-\d.)(\[`\"'_]*([A-Za-z][^\n:{}<>]{0,60}?)[\s*_`\"')\]]*[:=]\s*[*_`\"'\[(]*\s*$"
)
_TAG = re.compile(r"<([A-Za-z][\w:-]*)[^<>]*>\s*$")
_OPENING = re.compile(r"^[\s>*\-\d.)(\[`\"'+|=~#]*$")
_CLOSING = re.compile(r"^[\s`\"')\].,;|*_]*(?:</[\w:-]+>\s*)?$")
_PHRASE = re.compile(r"(?<![\w'])([A-Za-z][A-Za-z' ]{2,40}?)(?:\s+(?:is|was)|\s*[:=])\s*[*_`\"'(]*\s*$")
# "… for the following idea: {name}. {description}", "… based on this request: {goal}"
_ANNOUNCED = re.compile(r"\b(?:following|this|these)\s[A-Za-z][\w' ]{1,40}:\s*[*_`\"'(]*\s*$")
# "Here is a web page.", "Summarise the page below."; but "Choose from the list below."
_POINTING = re.compile(
    r"(?:[.!?]\s|^)(?:here|below) (?:is|are)\b[^.!?]*\.$|\b(?:below|following)\.$", re.IGNORECASE
)
_CHOICES = re.compile(r"\b(?:list|lists|options|choices|categories|one of)\b", re.IGNORECASE)
_PROSE = re.compile(r"(?<![^\W\d_])[^\W\d_]{2,}\W+[^\W\d_]{2,}")
_RULES = ("---", "===")
_FENCES = ("```", "~~~", '"""', "'''", *_RULES)
_FRAMES = frozenset((("[", "]"), ("=", "="), ("<", ">")))  # "[Notes]", "== Notes ==", "<notes>"
_ARGUMENT = re.compile(r"[(,]\s*([A-Za-z_][\w.]*)(?![\w.]*\s*[(=])")
_QUANTITY = re.compile(
    r"\b(?:at (?:least|most)|up to|exactly|(?:more|less|fewer|longer|shorter) than|(?:maximum|minimum|total|limit) of)"
    r"\s+[*_`\"'(]*$",
    re.IGNORECASE,
)
_WORD = re.compile(r"[A-Za-z]+")
_READ = 200  # characters on each side that are looked at


def judged(segments: tuple[Segment, ...], catalog: Catalog) -> tuple[Segment, ...]:
    """Return the segments with causes for the values that only the text around them tells of."""
    out = list(segments)
    written = {s.of_message for s in segments if s.text and (_PROSE.search(s.text) or _TAG.search(s.text))}
    for index, segment in enumerate(segments):
        if not segment.is_hole:
            continue
        # A message that is all one value has no form.
        around = _Around.of(segments, index) if segment.of_message in written else _NOTHING
        if around.is_number(segment):
            out[index] = replace(segment, scope=Scope.UNKNOWN, cause=None)
        elif cause := _cause(segment, around, catalog):
            out[index] = replace(segment, scope=cause.scope, cause=along(cause, segment.origin))
        elif (
            segment.cause is None and segment.scope is Scope.UNKNOWN and catalog.is_fixed(segment.origin.name)
        ):
            out[index] = replace(segment, scope=Scope.RELEASE, origin=replace(segment.origin, fixed=True))
    return tuple(out)


def along(cause: Cause, origin: Origin) -> Cause:
    """Return a cause with the way that the value came, unless it knows its own."""
    if not origin.chain or cause.place is not None:
        return cause
    first = origin.chain[0]
    return replace(cause, place=None if first.note == INCLUDED else first.place, chain=origin.chain)


def _cause(segment: Segment, around: _Around, catalog: Catalog) -> Cause | None:
    origin, known = segment.origin, segment.cause
    if known is not None:
        if known.variant != ARGUMENT or known.confidence is not Confidence.LOW:
            return None
        label = around.label
        if around.announced:
            said = catalog.phrase(around.phrase)
            setting = said is None or said.kind not in _DATA
        else:
            setting = label is None or catalog.is_setting_label(label) or catalog.is_setting(origin.name)
        return None if setting else replace(known, variant=APART)
    if segment.scope is not Scope.UNKNOWN or origin.kind not in _NAMED:
        return None
    names = filter(None, (*(origin.names or (origin.name,)), origin.field, origin.given))
    if any(catalog.is_setting(name) or catalog.name(name) for name in names):
        return None
    if origin.kind is OriginKind.CALL and any(
        map(catalog.is_setting, _ARGUMENT.findall(origin.expression[:_READ]))
    ):
        return None  # json.dumps(example)
    if around.label is not None and catalog.is_setting_label(around.label):
        return None
    said = catalog.phrase(around.phrase if around.label is None else around.label)
    if said is not None and (said.kind in _TIMED or (said.kind in _DATA and around.sets_apart)):
        variant = APART if said.kind in _DATA else said.variant
        what = f"`{origin.shown}` (by the words in front of it)"
        return Cause(said.kind, said.scope, what, Confidence.LOW, variant=variant, name=origin.name)
    if said is not None or around.label is None:
        return None  # whose name and which folder a text means is its caller's to say
    what = f"`{origin.shown}` (by its place)"
    return Cause(Kind.REQUEST_INPUT, Scope.REQUEST, what, Confidence.LOW, variant=APART)


@dataclass(frozen=True, slots=True)
class _Around:
    """What stands around a value: ``label`` is None in running text, "" on a line of its own without one."""

    label: str | None
    phrase: str
    announced: bool = False  # in running text, by "the following"
    line: str = ""  # what stands in front of the value in its line
    after: str = ""  # and behind it

    @property
    def sets_apart(self) -> bool:
        """Tell whether the text says that what follows is not its own."""
        return self.label is not None or self.announced

    def is_number(self, segment: Segment) -> bool:
        """Tell whether a value that only a name tells of counts what it is called: ``{sentences} sentences``."""
        known = segment.cause
        if known is None or known.confidence is not Confidence.LOW or known.kind not in _DATA:
            return False
        unit = _WORD.search(self.after)
        name = _WORD.findall(segment.origin.name)
        counts = unit is not None and name[-1:] == [unit.group()] and unit.group().endswith("s")
        return counts or _QUANTITY.search(self.line) is not None

    @classmethod
    def of(cls, segments: tuple[Segment, ...], index: int) -> _Around:
        """Read the line of a hole, and the one above it."""
        line, heading = _above(segments, index)
        after = _below(segments, index)
        said = _PHRASE.search(line)
        phrase = said.group(1) if said else ""
        if _ANNOUNCED.search(line):
            return cls(None, phrase, announced=True)
        if not _CLOSING.match(after):
            return cls(None, phrase, line=line, after=after)
        if found := _TAG.search(line) or _LABEL.match(line):
            return cls(found.group(1), phrase)
        return cls(heading if _OPENING.match(line) else None, phrase)


_NOTHING = _Around(None, "")


def _above(segments: tuple[Segment, ...], index: int) -> tuple[str, str | None]:
    """Return the start of a hole's line, and the words of the heading above it if it has one."""
    known = ""
    for segment in reversed(segments[max(0, index - _READ) : index]):
        if segment.text is None or len(known) >= _READ or segment.of_message != segments[index].of_message:
            break
        known = segment.text[-_READ:] + known
    head, newline, line = known[-_READ:].rpartition("\n")
    return line, _heading(head) if newline else None


def _heading(above: str) -> str | None:
    """Return the words of a heading that ends a text, "" for a fence or rule without one, None for prose."""
    lines = [line for part in above.splitlines() if (line := part.strip())]
    if not lines:
        return None
    titled = lines[-1].startswith(_RULES) and _WORD.search(lines[-1])  # --- NOTES ---
    fenced = not titled and lines[-1].startswith(_FENCES)
    last = lines[-2] if fenced and len(lines) > 1 else lines[-1]
    bare = last.rstrip("* ")
    is_heading = (
        titled
        or bare.endswith(":")
        or last.startswith(("#", "**"))
        or (last[0], last[-1]) in _FRAMES
        or (_POINTING.search(bare) and not _CHOICES.search(bare))
    )
    return " ".join(_WORD.findall(last)) if is_heading else "" if fenced else None


def _below(segments: tuple[Segment, ...], index: int) -> str:
    """Return the rest of a hole's line; a further value in it shows as an ellipsis."""
    line = ""
    for segment in segments[index + 1 : index + _READ]:
        if segment.of_message != segments[index].of_message:
            break
        if segment.text is None:
            return line + "…"
        part, newline, _ = segment.text[:_READ].partition("\n")
        line += part
        if newline or len(line) > _READ:
            break
    return line
