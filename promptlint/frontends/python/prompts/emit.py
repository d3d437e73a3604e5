"""Values to segments: what stands in a prompt, in the order in which it is sent."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from promptlint.frontends.python.evaluate import text
from promptlint.frontends.python.evaluate.machine import last_name, printed
from promptlint.frontends.python.evaluate.methods import filled_messages
from promptlint.frontends.python.evaluate.serialising import serialised
from promptlint.frontends.python.library.engines import role_of
from promptlint.frontends.python.library.files import OWN
from promptlint.frontends.python.syntax.nodes import remembered
from promptlint.frontends.python.values.forms import CONTENT, is_picture, opened, pair, with_earlier
from promptlint.frontends.python.values.naming import MARKERS
from promptlint.frontends.python.values.pieces import Alt, Hole, Lit, Loop, Part, Seg, map_holes, without_text
from promptlint.frontends.python.values.values import (
    Choice,
    Const,
    DictV,
    Item,
    ListV,
    Obj,
    Str,
    Template,
    Unknown,
    Value,
)
from promptlint.layout import (
    DATA,
    LITERAL,
    Breakpoint,
    Cause,
    Confidence,
    Guard,
    Kind,
    Origin,
    OriginKind,
    Scope,
    Section,
    Segment,
)
from promptlint.source import Place

if TYPE_CHECKING:
    from promptlint.frontends.python.evaluate.machine import Machine

MAX_SEGMENTS = 4000
_LABEL = 40  # characters of fixed text in a message that is a turn: a name, a time
_TEXT_KEYS = ("parts", "text", "content", "input_text", "prompt")

# Beside the text of a message; an item that says its ``type`` has one of its own.
_IDS = ("call_id", "tool_call_id", "tool_calls")
_MADE = (Kind.IDENTIFIER, Kind.RANDOM, Kind.CLOCK)

# Lists of messages that a program gives to each request: examples, documents, what the user said now.
_GIVEN = re.compile(
    r"example|shot|demo|sample|system|instruct|prefix|rule|tool|doc|context|image|file|part|content|prompt|quer|question|input|user|data|item",
    re.IGNORECASE,
)
# A part of a message that the program was given: whose it is, and when it was sent, nothing tells.
_OF_A_MESSAGE = re.compile(
    r"(^|(?<!choices)[._])(messages?|msgs?|turns?|history)(\[\])?\.(content|parts|text|blocks)\b",
    re.IGNORECASE,
)
# The name of a file that a folder holds, or the text of one in a folder that the program itself names: it stays as long
# as nobody puts another file there, whatever the words in front of it announce.
_OF_A_FOLDER = re.compile(
    r"(?:^|\.)(?:i?glob|rglob|iterdir|listdir|scandir)\[\](?:\.(?:name|stem|relative_to|as_posix|resolve))*$"
    r"|^(?:pathlib\.Path\(\)|importlib\.resources)\S*\.(?:glob|rglob|iterdir)\[\]\.read_text$"
    rf"|^{re.escape(OWN)}"
)
# What an entry of such a file says, where the program loads all of them; one that asks about each has a request for each.
_IN_A_FOLDER = re.compile(
    r"^pathlib\.Path\(\)\S*\.(?:glob|rglob|iterdir)\[\]\.read_text\.\w*loads?(?:\.\w+|\[\])+$"
)


@dataclass(slots=True)
class Emitter:
    """Collects segments; ``loops`` are the loops that run around the call to the model.

    ``inputs`` are the arguments of the function that is run: what a request may be about. ``rest`` is the mapping
    of those that it has no names for. ``adding`` is the loop that adds the text to what there was: its numbers stand
    side by side there, and stay as they are.
    """

    loops: frozenset[int] = frozenset()
    active: tuple[Guard, ...] = ()
    inputs: frozenset[str] = frozenset()
    rest: str = ""
    adding: int = 0
    segments: list[Segment] = field(default_factory=list)
    gaps: tuple[str, ...] = ()
    section: Section = Section.MESSAGES
    role: str = ""
    message: int = 0
    own: str = ""  # an element of the list that an object keeps and sends
    sent: bool = False  # the whole of a request: a message alone may be a turn that is kept
    turns: bool = False  # what is appended are kept turns themselves, not a text that they are printed into

    def parts(self, parts: Iterable[Part], guards: tuple[Guard, ...] = ()) -> None:
        """Append text."""
        for part in parts:
            if len(self.segments) >= MAX_SEGMENTS:
                self.gaps = (f"it has more than {MAX_SEGMENTS:,} pieces: the rest was not read",)
                return
            if isinstance(part, Lit):
                if part.text:
                    self._add(Segment(part.place(), part.text, LITERAL, scope=Scope.RELEASE, guards=guards))
            elif isinstance(part, Hole):
                self._add(self._hole(part, guards))
            elif isinstance(part, Seg):
                own = part.segment
                self._add(replace(own, guards=guards + own.guards))
            elif isinstance(part, Alt):
                for index, branch in enumerate(part.branches):
                    if branch:
                        guard = replace(part.guard, branch=index)
                        self.parts(branch, guards if self._around(part.guard) else (*guards, guard))
            elif isinstance(part, Loop):
                self.parts(part.parts, guards if self._around(part.guard) else (*guards, part.guard))
            elif self.segments:
                self.segments[-1] = replace(self.segments[-1], breakpoint=part.breakpoint)

    def _around(self, guard: Guard) -> bool:
        """Tell whether the call itself stands under a condition: then it tells nothing about the text."""
        return any(g.place == guard.place for g in self.active)

    def _hole(self, part: Hole, guards: tuple[Guard, ...]) -> Segment:
        cause = part.cause
        if cause is not None and cause.kind is Kind.HISTORY_REWRITE and not self.turns:
            cause = printed(cause)
        counted = part.loop > 0 and part.loop == self.adding
        if part.loop in self.loops and cause is None and not counted:
            way = (part.given,) if part.given is not None else ()
            cause = Cause(Kind.COUNTER, Scope.REQUEST, part.expression, Confidence.HIGH, part.place, way)
        # A number that is counted within the text is no counter of requests.
        of_message = _OF_A_MESSAGE.search(part.name) is not None
        name = "" if (part.loop and cause is None) or of_message else part.name
        field = part.field
        if name and part.root and part.root == self.rest:
            name = name.removeprefix(f"{self.rest}.")
        given = self._given(part) if part.multiline and not of_message else ""
        if cause is None and (self.section is Section.TOOLS or self.role == "assistant"):
            # What a tool's definition is made from says nothing of how often it changes; and what the model
            # has answered is no input, whatever the program calls it.
            name = field = given = ""
        chain = () if part.given is None or cause is not None else (part.given,)
        of_folder = _OF_A_FOLDER.search(name) or (not self.loops and _IN_A_FOLDER.search(name))
        if cause is None and of_folder and not any(map(_without_order, guards)):
            own = name.startswith(OWN)
            origin = Origin(OriginKind.OPAQUE, part.expression, name, "what a folder holds", fixed=own)
            scope = Scope.RELEASE if own else Scope.UNKNOWN
            return Segment(part.place, None, origin, guards=guards, scope=scope)
        written = last_name(part.written) if name and not part.loop and cause is None else ""
        names = (name, written) if written and not name.endswith(written) else ()
        origin = Origin(
            OriginKind.VARIABLE, part.expression, name, names=names, chain=chain, field=field, given=given
        )
        return Segment(
            part.place,
            None,
            origin,
            scope=cause.scope if cause else Scope.RELEASE if counted else Scope.UNKNOWN,
            cause=cause,
            guards=guards,
        )

    def _given(self, part: Hole) -> str:
        """Return the argument that a value comes out of, if it may differ with each call: of ``kwargs["x"]`` x."""
        if part.root and part.root == self.rest:
            return last_name(part.name) if part.name != self.rest else ""
        return part.root if part.root in self.inputs else ""

    def _add(self, segment: Segment) -> None:
        self.segments.append(replace(segment, section=self.section, role=self.role, message=self.message))

    def value(self, value: Value, place: Place, guards: tuple[Guard, ...] = ()) -> None:
        """Append a value as text: message contents and content blocks are looked into."""
        if isinstance(value, ListV):
            items: Sequence[Item] = value.items
            if value.order is not None:
                whole = Hole(place, value.name or value.order.what, value.name, value.order)
                items = text.stretches(items, whole)
            for item in items:
                if len(self.segments) > MAX_SEGMENTS:
                    return
                self._block(item.value, item.place or place, guards + item.guards)
        elif isinstance(value, DictV):
            self._block(value, place, guards)
        elif isinstance(value, Choice):
            for index, option in enumerate(value.values):
                self.value(option, place, (*guards, replace(value.guard, branch=index)))
        elif isinstance(value, Template):
            self.parts(text.fill(value.parts, value.fields, None, False), guards)
        elif isinstance(value, Obj) and value.kind == "message":
            self.value(value.attrs.get("content", Unknown(place)), place, guards)
        elif isinstance(value, Str):
            self.parts(value.parts, guards)
        elif isinstance(value, Const) and value.value is None:
            return
        else:
            self.parts(text.parts_of(value, place, getattr(value, "name", "")), guards)

    def _block(self, value: Value, place: Place, guards: tuple[Guard, ...]) -> None:
        """Append a content block: its text, and the mark on it."""
        if not isinstance(value, DictV):
            self.value(value, place, guards)
            return
        for key in _TEXT_KEYS:
            if (found := value.entries.get(key)) is not None:
                self.value(found.value, place, guards + found.guards)
        if not any(value.get(k) is not None for k in _TEXT_KEYS):
            shown = serialised(value, place, skip=MARKERS)
            if is_picture(value):
                shown = without_text(shown)
                shown = map_holes(shown, partial(_pictured, at=place)) if self.sent else shown
            self.parts(shown, guards)
        self.mark(value)

    def mark(self, value: DictV) -> None:
        """Put the cache mark of a block, if it has one, on what was appended last."""
        for key in MARKERS:
            found = value.get(key)
            if found is None or (isinstance(found, Const) and found.value is None) or not self.segments:
                continue
            ttl = found.get("ttl") if isinstance(found, DictV) else None
            plain = ttl.plain() if isinstance(ttl, Str) else None
            where = value.place or self.segments[-1].place
            # One that was there before the block is a constant that many blocks share.
            if isinstance(found, DictV) and found.born > value.born and found.place is not None:
                where = found.place if found.place.path == where.path else where
            made = found.place if isinstance(found, DictV) else None
            mark = Breakpoint(where, key, plain or "", made)
            self.segments[-1] = replace(self.segments[-1], breakpoint=mark)

    def messages(self, value: Value, place: Place, guards: tuple[Guard, ...] = ()) -> None:
        """Append a message list."""
        items = opened(with_earlier(value)) if isinstance(value, ListV) else [Item(value, spread=True)]
        if isinstance(value, Template) and value.kind == "messages":
            items = [Item(v) for v in filled_messages(value)]
        elif isinstance(value, (Str, Template)):
            self.role, self.message = "user", self.message + 1
            self.value(value, place, guards)
            return
        if isinstance(value, ListV) and value.owner:
            self.own = f"{value.name}[]"
        for item in items:
            self._message(item, place, guards + item.guards)

    def _message(self, item: Item, place: Place, guards: tuple[Guard, ...]) -> None:
        self.turns = item.spread or any(map(_over_elements, guards))
        self._one(item, place, guards)
        self.turns = False

    def _one(self, item: Item, place: Place, guards: tuple[Guard, ...]) -> None:
        value = item.value
        self.message += 1
        if isinstance(value, DictV):
            role = value.get("role")
            plain = role.plain() if isinstance(role, Str) else None
            self.role = role_of(plain or "")
            self.section = Section.SYSTEM if self.role == "system" and self.message == 1 else Section.MESSAGES
            content = next((found for key in CONTENT if (found := value.entries.get(key)) is not None), None)
            where = value.place or place
            if content is not None and role is not None and plain is None and self._is_kept(content.value):
                self.parts((Hole(where, "messages", "messages"),), guards)
            elif content is not None:
                self.value(content.value, where, guards + content.guards)
                self.mark(value)
            else:
                self.parts((Hole(where, "message", self.role),), guards)
            for key in (*_IDS, "id") if value.get("type") is not None else _IDS:
                if (called := value.get(key)) is not None:
                    self._names_a_call(called, where, guards)
        elif isinstance(value, Obj) and value.kind in ("message", "placeholder"):
            self._message_object(value, place, guards)
        elif isinstance(value, Obj) and value.attrs.get("content") is not None:
            role = value.attrs.get("role")
            plain = role.plain() if isinstance(role, Str) else None
            self.role = role_of(plain or "")
            self.section = Section.SYSTEM if self.role == "system" and self.message == 1 else Section.MESSAGES
            self.value(value.attrs["content"], value.place or place, guards)
        elif isinstance(value, Choice):
            for index, option in enumerate(value.values):
                self.message -= 1
                self._one(
                    Item(option, spread=item.spread), place, (*guards, replace(value.guard, branch=index))
                )
        elif (said := pair(value)) is not None:
            self.role = role_of(said[0])
            self.section = Section.SYSTEM if self.role == "system" and self.message == 1 else Section.MESSAGES
            self.value(said[1], place, guards)
        elif isinstance(value, ListV):
            self.message -= 1
            self.messages(value, place, guards)
        elif isinstance(value, (Str, Template)):
            self.section, self.role = Section.MESSAGES, "user"
            self.value(value, place, guards)
        else:
            self.section, self.role = Section.MESSAGES, ""
            name = getattr(value, "name", "") or "messages"
            where = (value.place if isinstance(value, Unknown) else None) or place
            path = f"{name}[]"
            if self.turns:  # what follows a system message, whatever it is called, are the turns so far
                given = name != self.own and _GIVEN.search(name)
                turns = value.cause is None and self.message > 1 - self._told and not given
                path = "messages" if turns else name
            self.parts((Hole(where, name, path, value.cause),), guards)

    def _is_kept(self, content: Value) -> bool:
        """Tell whether a message is a turn that was kept: made in a loop behind a system text, its role kept as well.

        ``[{"role": row.role, "content": row.text} for row in store.turns(chat)]``
        """
        return self.turns and self.message > 1 - self._told and _is_said(content)

    def _names_a_call(self, value: Value, place: Place, guards: tuple[Guard, ...]) -> None:
        """Append what a message names a call of a tool by, or itself, where it is made anew."""
        cause = value.cause
        if cause is not None and cause.kind in _MADE:
            here = cause.place is not None and cause.place.path == place.path
            self.parts((Hole(cause.place if here and cause.place else place, cause.what, "", cause),), guards)

    @property
    def _told(self) -> bool:
        """Tell whether a system text was given apart from the messages."""
        return any(segment.section is Section.SYSTEM for segment in self.segments)

    def _message_object(self, value: Obj, place: Place, guards: tuple[Guard, ...]) -> None:
        where = value.place or place
        if value.kind == "placeholder":
            self.section, self.role = Section.MESSAGES, ""
            self.parts((Hole(where, value.name, value.name),), guards)
            return
        self.role = value.name or "user"
        self.section = Section.SYSTEM if self.role == "system" and self.message == 1 else Section.MESSAGES
        self.value(value.attrs.get("content", Unknown(where)), where, guards)

    def system(self, value: Value, place: Place) -> None:
        """Append a system text or list of system blocks."""
        self.section, self.role, self.message = Section.SYSTEM, "system", 0
        self.value(value, place)
        self.section = Section.MESSAGES

    def tools(self, value: Value, place: Place) -> None:
        """Append tool definitions."""
        self.section, self.role = Section.TOOLS, ""
        items = _tools_of(value)
        order = value.order if isinstance(value, ListV) else value.cause
        if order is not None and order.kind is Kind.UNORDERED:
            self.parts((Hole(place, order.what, "tools", order),))
            items = []
        for index, item in enumerate(items):
            self.message = index
            # What tools come from says nothing of them; under which condition each is sent may.
            guards = tuple(g if g.kind == "if" else replace(g, name="") for g in item.guards)
            if isinstance(item.value, DictV):
                self.parts(serialised(item.value, place, skip=MARKERS), guards)
                self.mark(item.value)
            elif isinstance(item.value, Str) and item.value.cause is not None:
                self.parts(item.value.parts, guards)
            else:
                # The list of tools is the same text in every request unless something says otherwise.
                self.parts((Hole(place, "tools", "", item.value.cause),), guards)
        self.section, self.message = Section.MESSAGES, 0


def _pictured(part: Hole, at: Place) -> Hole:
    """Return what a picture is made of: what a request is about, unless its name is that of a constant.

    One that a helper of another file encodes stands where it is put between the texts.
    """
    name = last_name(part.written) or part.name
    if part.cause is not None or part.loop or not name or name.isupper():
        return part
    what = part.written if part.written.isidentifier() else "picture"
    cause = Cause(Kind.REQUEST_INPUT, Scope.REQUEST, what, Confidence.MEDIUM, part.place)
    return replace(part, cause=cause, place=part.place if part.place.path == at.path else at)


def _tools_of(value: Value) -> list[Item]:
    """Return the tools of a list, or of each that a condition chooses from; one that is empty leaves nothing to choose."""
    if isinstance(value, ListV):
        return value.items
    if not (isinstance(value, Choice) and any(isinstance(one, ListV) for one in value.values)):
        return [Item(value, spread=True)]
    chosen = [
        one
        for one in value.values
        if not (isinstance(one, Const) or (isinstance(one, ListV) and not one.items))
    ]
    if len(chosen) < 2:
        return [item for one in chosen for item in _tools_of(one)]
    return [
        replace(item, guards=(replace(value.guard, branch=index), *item.guards))
        for index, one in enumerate(value.values)
        if one in chosen
        for item in _tools_of(one)
    ]


def emitter_of(m: Machine, *, stays: bool = False) -> Emitter:
    """Return an empty emitter for a prompt that is made where the machine stands; ``stays`` if a loop adds it."""
    made = Emitter(frozenset(m.loops), tuple(m.guards), adding=m.loops[-1] if stays and m.loops else 0)
    entry = m.stack[0] if m.stack else None
    if isinstance(entry, ast.FunctionDef | ast.AsyncFunctionDef):
        made.inputs = _inputs(entry)
        made.rest = entry.args.kwarg.arg if entry.args.kwarg is not None else ""
    return made


@remembered
def _inputs(entry: ast.FunctionDef | ast.AsyncFunctionDef) -> frozenset[str]:
    """Return the arguments of a function that may differ with each call.

    A constructor keeps what it is given, and a default with a value of its own is a setting.
    """
    if entry.name in ("__init__", "__post_init__"):
        return frozenset()
    args = entry.args
    positional = [*args.posonlyargs, *args.args]
    defaults = [
        *zip(positional[::-1], args.defaults[::-1], strict=False),
        *zip(args.kwonlyargs, args.kw_defaults, strict=True),
    ]
    settings = {
        arg.arg
        for arg, default in defaults
        if isinstance(default, ast.Constant) and default.value not in (None, "")
    }
    return frozenset(arg.arg for arg in [*positional, *args.kwonlyargs]) - settings


def _without_order(guard: Guard) -> bool:
    return guard.cause is not None and guard.cause.kind is Kind.UNORDERED


def _is_said(content: Value) -> bool:
    """Tell whether the text of a message is what somebody said, with no more than a label around it."""
    if isinstance(content, Str):
        fixed = sum(len(part.text.strip()) for part in content.parts if isinstance(part, Lit))
        holes = [part for part in content.parts if not isinstance(part, Lit)]
        told = all(isinstance(part, Hole) and _is_data(part.cause) for part in holes)
        return bool(holes) and told and fixed <= _LABEL
    return isinstance(content, Unknown) and _is_data(content.cause)


def _is_data(cause: Cause | None) -> bool:
    return cause is None or cause.kind in DATA


def _over_elements(guard: Guard) -> bool:
    """Tell whether a loop runs over things that are there, not over numbers."""
    return guard.kind == "for" and not guard.expression.startswith("range(")
