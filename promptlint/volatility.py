"""Scopes for a layout: how often each segment changes, and why.

A frontend that traced a value to its source has said so in the segment's cause, and keeps the word. For
everything else the catalogue is asked, in this order: what a filter does to the value, what the call gives,
which loop the value comes from, what its name tells, and last the text around it (`apart`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from operator import itemgetter

from promptlint.apart import along, judged
from promptlint.catalog.catalog import Catalog
from promptlint.catalog.clock import refine_clock
from promptlint.catalog.model import Volatile
from promptlint.layout import (
    ARGUMENT,
    LITERAL,
    Cause,
    Confidence,
    Guard,
    Kind,
    Layout,
    LayoutKind,
    Origin,
    OriginKind,
    Scope,
    Segment,
)
from promptlint.source import Place, Span

_FILTER = re.compile(r"(?<!\|)\|(?!\|)\s*([A-Za-z_][\w.]*)")
_QUOTED = re.compile(r"""(["'])(?:\\.|(?!\1).)*\1""")
_LOOP_TARGETS = re.compile(r"^\s*(?:async\s+)?(?:for\s+)?([\w\s,()]+?)\s+in\s")
_NAME = re.compile(r"[A-Za-z_$][\w$]*")
# What may stand in a test for presence beside a name: "x is not none", "x|length > 0", "isinstance(x, list)".
_NEUTRAL = re.compile(
    r"^\s*(?:el)?if\b|\bnot\b"
    r"|\|\s*(?:length|count|trim|list|default\([^)]*\))"
    r"|\bis\s+(?:not\s+)?(?:defined|undefined|string|mapping|iterable|sequence|number|true|false|none|None|True|False)\b"
    r"|(?:!=|==|[<>]=?)\s*(?:[01]\b|\'\'|\"\"|None\b|none\b|null\b|\[\]|\{\})"
    r"|\b(?:len|bool|callable|any|all|str)\b(?=\()"
    r"|\b(?:isinstance|hasattr)\b(?=\()|,\s*[\w.\"'| ()]+(?=\))"
    r"|\.(?:strip|get)\((?:[\"']\w+[\"'])?\)"
)
_JUNCTION = re.compile(r"\b(?:and|or)\b|&&|\|\|")
_VALUE = r"[\w.$]+(?:\[[\w'\"]+\][\w.]*)*"
_BARE = re.compile(rf"[\s(]*(?:{_VALUE})?(?:\(\s*(?:{_VALUE})?\s*\))?[\s)]*")
# Not whether there is a value, but which: `user.is_admin`, `account.has_feature(…)`.
_RIGHT = re.compile(
    r"(?:user|customer|account|tenant|member|profile)\w*\.(?:(?:is|has|can|may)_\w+|(?:can|may|has|allows?)\w*\()",
    re.IGNORECASE,
)
_CLASS = re.compile(r"(?:.*\.)?[A-Z]\w*[a-z]\w*(?:\[\])*", re.DOTALL)
# Who the reader is; the goal beside it is the reader's own, and no user's.
_READER = frozenset(("role", "persona", "backstory", "agent_role", "agent_name"))
_AIMS = frozenset(("goal", "goals", "objective", "objectives", "retry_goal"))
_SHARED = 3  # fields of a template that begin with the same word
_READ = 400  # characters of a condition or loop that are looked at; some patterns are quadratic


def annotate(layout: Layout, catalog: Catalog) -> Layout:
    """Return the layout with a scope, and where it changes a cause, for every segment.

    Literal text gets `RELEASE`. A hole that nothing is known about stays `UNKNOWN`.
    """
    segments: list[Segment] = []
    program, own = _shared(layout), _own_aims(layout)
    asked: dict[Guard, Guard] = {}  # one condition stands around many segments
    for segment in layout.segments:
        for guard in segment.guards:
            if guard not in asked:
                asked[guard] = _guard(guard, catalog)
        guards = tuple(asked[guard] for guard in segment.guards)
        known = replace(segment, guards=guards) if guards != segment.guards else segment
        if known.is_hole:
            segments.append(known if _called(known) in own else _hole(known, catalog, program))
        else:
            segments.extend(_literal(known, catalog))
    # A template file may make anything: a page, a setup file, code.
    sure = layout.kind is not LayoutKind.TEMPLATE or layout.confidence is Confidence.HIGH
    return layout.with_segments(judged(tuple(segments), catalog) if sure else tuple(segments))


def _literal(segment: Segment, catalog: Catalog) -> Iterator[Segment]:
    """Yield a literal, cut where a value of one run was pasted into it."""
    if segment.cause is not None or segment.scope is not Scope.UNKNOWN:
        yield segment
        return
    text = segment.text or ""
    at = 0
    for start, end, found in sorted(catalog.literals(text), key=lambda item: item[:2]):
        if start < at:
            continue
        if start > at:
            yield _part(segment, at, start)
        shown = text[start:end]
        cause = Cause(found.kind, found.scope, f"{shown!r}, written into the text", found.confidence)
        yield replace(
            _part(segment, start, end),
            text=None,
            scope=found.scope,
            cause=cause,
            origin=Origin(OriginKind.OPAQUE, shown, "", "pasted"),
        )
        at = end
    if at == 0:
        yield replace(segment, scope=Scope.RELEASE)
    elif at < len(text) or segment.breakpoint is not None:
        yield replace(_part(segment, at, len(text)), breakpoint=segment.breakpoint)


def _part(segment: Segment, start: int, end: int) -> Segment:
    """Return a range of a literal; its place is exact where the file shows the text as it is."""
    text = segment.text or ""
    span = segment.place.span
    place = segment.place
    if span.end - span.start == len(text):
        place = Place(place.path, Span(span.start + start, span.start + end))
    return replace(
        segment, text=text[start:end], place=place, origin=LITERAL, scope=Scope.RELEASE, breakpoint=None
    )


def _shared(layout: Layout) -> str:
    """Return the first word that some fields written in capitals share, their program's: ``APP_NOW``, ``APP_CWD``."""
    names = {segment.origin.name for segment in layout.segments if segment.is_hole}
    words = Counter(name.partition("_")[0] for name in names if name.isupper() and "_" in name)
    word, times = max(words.items(), key=itemgetter(1), default=("", 0))
    return f"{word}_" if times >= _SHARED else ""


def _called(hole: Segment) -> str:
    return hole.origin.name or hole.origin.field


def _own_aims(layout: Layout) -> frozenset[str]:
    """Return the names of goals that are printed beside a role of the same owner: ``agent.goal`` beside ``agent.role``."""
    named = [_called(segment).rpartition(".") for segment in layout.segments if segment.is_hole]
    owners = {owner for owner, _, last in named if last in _READER}
    return frozenset("".join(parts) for parts in named if parts[2] in _AIMS and parts[0] in owners)


def _hole(segment: Segment, catalog: Catalog, program: str) -> Segment:
    if segment.cause is not None or segment.scope is not Scope.UNKNOWN:
        return segment
    origin = segment.origin
    if origin.kind in (OriginKind.OPAQUE, OriginKind.INCLUDE, OriginKind.LITERAL):
        return segment
    cause = _by_filter(origin, catalog) or _by_call(origin, segment.place.path, catalog)
    if cause is None or cause.confidence is Confidence.LOW:
        path = segment.place.path
        cause = _by_loop(segment) or cause or _by_name(origin, path, catalog)
        cause = cause or _of_program(origin, program, path, catalog) or _by_place(origin, catalog)
    if cause is None:
        return segment
    return replace(segment, scope=cause.scope, cause=along(cause, origin))


def _of_program(origin: Origin, program: str, path: str, catalog: Catalog) -> Cause | None:
    """Return what a name tells without its program's in front."""
    if not program or not origin.name.startswith(program):
        return None
    found = _by_name(replace(origin, name=origin.name.removeprefix(program), names=()), path, catalog)
    return found and replace(found, what=f"`{origin.shown}` (by its name)", name=origin.name)


def _guard(guard: Guard, catalog: Catalog) -> Guard:
    """Find out how often a condition or a collection changes.

    A plain test for presence (``{% if documents %}``) says little: the value differs between requests,
    whether there is one mostly does not. It stays unknown.
    """
    if guard.cause is not None or guard.scope is not Scope.UNKNOWN or not guard.name:
        return guard
    kind = OriginKind.CALL if "(" in guard.expression else OriginKind.VARIABLE
    origin = Origin(kind, guard.expression, guard.name, names=guard.names)
    cause = _by_filter(origin, catalog) or _by_call(origin, guard.place.path, catalog)
    if cause is None and not (guard.kind in ("if", "while") and tests_presence(guard)):
        cause = _by_name(origin, guard.place.path, catalog)
    # `while step < limit`: a turn is added for each, and none of them changes.
    if cause is None or (cause.kind is Kind.COUNTER and guard.kind in ("for", "while")):
        return guard
    return replace(guard, scope=cause.scope, cause=replace(cause, place=guard.place))


def tests_presence(guard: Guard) -> bool:
    """Tell whether a condition only asks whether values are there, or of which type they are."""
    if len(guard.expression) > _READ or _RIGHT.search(guard.expression):
        return False
    text = _NEUTRAL.sub(" ", guard.expression)
    return all(_BARE.fullmatch(part) for part in _JUNCTION.split(text))


def _by_filter(origin: Origin, catalog: Catalog) -> Cause | None:
    """Read the filters of a template expression; the last one that is known decides."""
    if "|" not in origin.expression:
        return None
    bare = _QUOTED.sub("''", origin.expression)
    for name in reversed(_FILTER.findall(bare)):
        if found := catalog.template_filter(name):
            return _cause(found, f"the filter `{name}`", origin)
    return None


def _by_call(origin: Origin, path: str, catalog: Catalog) -> Cause | None:
    if origin.kind is not OriginKind.CALL:
        return None
    found: list[Cause] = []
    for name in _names(origin):
        known = None if _in_code(path) else catalog.template_global(name)
        known = known or catalog.call(name)
        if known is not None and not (known.kind is Kind.UNORDERED and "sorted(" in origin.expression):
            found.append(_cause(known, f"`{origin.shown}`", origin))
    return _worst(found)


def _by_name(origin: Origin, path: str, catalog: Catalog) -> Cause | None:
    names = _names(origin)
    if _in_code(path):  # `Document` is a class there, and says nothing about a value
        names = tuple(name for name in names if not _CLASS.fullmatch(name))
    known = [(name, _of_history(name, catalog) or catalog.name(name)) for name in names]
    # `for step in steps`: what a collection holds are the steps themselves, nobody counts with them.
    element = origin.name.endswith("[]")
    return _worst(
        [
            _named(found, name, origin, catalog)
            for name, found in known
            if found and not (element and found.kind is Kind.COUNTER)
        ]
    )


def _named(found: Volatile, name: str, origin: Origin, catalog: Catalog) -> Cause:
    """Return the cause of a name. ``goals[].text`` may be written ``item``: then the name is told apart."""
    last = name.rpartition(".")[2].rstrip("[]")
    told = last if catalog.name(last) == found else name  # what suffices to tell it
    if not origin.expression or name in origin.expression:
        what = f"`{name}` (by its name)"
    elif told in origin.expression:
        what = f"`{origin.shown}` (by its name)"
    else:
        what = f"`{origin.shown}` (by the name `{told}`)"
    return replace(_cause(found, what, origin), name=name)


def _by_place(origin: Origin, catalog: Catalog) -> Cause | None:
    """Read what a value fills, where its own name says nothing: a field ``{question}``, an argument's place."""
    of_field = catalog.name(origin.field) if origin.field else None
    if of_field is not None and of_field.kind is Kind.HISTORY:  # `user_turns` in {chat_history}
        return _cause(of_field, f"`{origin.field}` (by its name)", origin)
    if not (origin.field or origin.given) or catalog.is_chosen(origin.name, plain=False):
        return None
    # What fills it was not seen: nothing speaks for the value but the field.
    unseen = bool(origin.field) and not origin.name and origin.given == origin.field
    # Whose name and whose folder a template means is its caller's to say: an agent has both.
    if unseen and of_field is not None and of_field.kind in (Kind.ENVIRONMENT, Kind.PER_USER):
        return None
    if of_field is not None:
        cause = replace(_cause(of_field, f"`{origin.field}` (by its name)", origin), name=origin.field)
        return replace(cause, variant=cause.variant or ARGUMENT) if unseen else cause
    if unseen:
        return None
    names = filter(None, (origin.name, origin.field, origin.given))
    if not origin.given or any(catalog.is_chosen(name) for name in names) or _is_vocabulary(origin):
        return None
    same = origin.shown == origin.given
    what = f"`{origin.shown}` " + ("(an argument)" if same else f"(from the argument `{origin.given}`)")
    return Cause(Kind.REQUEST_INPUT, Scope.REQUEST, what, Confidence.LOW, variant=ARGUMENT)


def _is_vocabulary(origin: Origin) -> bool:
    """Tell whether a list that was given is printed as it is: the words to choose from, ``", ".join(labels)``."""
    at = origin.expression.removeprefix(f"{origin.given}[")
    one = at != origin.expression and at.endswith("]") and at[:-1].isdecimal()
    joined = ".join(" in origin.expression and origin.name in (origin.given, f"{origin.given}[]")
    return one or joined


def _of_history(name: str, catalog: Catalog) -> Volatile | None:
    """Return what the owner of ``chat_history[].question`` tells: whatever a turn holds is history."""
    owner, element, _ = name.rpartition("[].")
    found = catalog.name(owner) if element else None
    return found if found is not None and found.kind is Kind.HISTORY else None


def _in_code(path: str) -> bool:
    return path.endswith((".py", ".pyi", ".ipynb"))


def _names(origin: Origin) -> tuple[str, ...]:
    return origin.names or ((origin.name,) if origin.name else ())


def _worst(causes: list[Cause]) -> Cause | None:
    """Return the cause that is surest, and among those the one that changes most often."""
    return max(causes, key=lambda cause: (cause.confidence.rank, cause.scope.rank), default=None)


def _by_loop(segment: Segment) -> Cause | None:
    """Return the cause of the loop whose element the hole prints.

    The loop variable is known from ``for d in documents``, or the frontend has put the collection's
    name in its place: ``documents.title``.
    """
    name = segment.origin.name or segment.origin.expression
    root = _NAME.match(name)
    if root is None:
        return None
    for guard in reversed(segment.guards):
        if guard.kind != "for" or guard.cause is None:
            continue
        targets = _LOOP_TARGETS.match(guard.expression[:_READ])
        if targets and root.group() in _NAME.findall(targets.group(1)):
            return guard.cause
        if guard.name and re.match(rf"{re.escape(guard.name)}(?![\w$])", name):
            return guard.cause
    return None


def _cause(found: Volatile, what: str, origin: Origin) -> Cause:
    scope = found.scope
    if found.kind is Kind.CLOCK:
        scope = refine_clock(scope, origin.expression)
    return Cause(found.kind, scope, what, found.confidence, variant=found.variant)
