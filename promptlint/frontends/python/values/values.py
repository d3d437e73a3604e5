"""The values that the evaluator computes: text as pieces, collections, objects, and the unknown.

Text keeps the place of every piece. What cannot be known stays a `Hole` or an `Unknown` that carries
its name and, where it was traced, the `Cause` that makes it change.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import accumulate, count
from typing import TYPE_CHECKING

from promptlint.frontends.python.values.pieces import (
    MAX_PARTS,
    Lit,
    Part,
    Seg,
    bounded,
    cause_of,
    flat,
    text_of,
    weight_of,
    worst,
)
from promptlint.layout import Cause, Guard, Scope
from promptlint.source import Place

if TYPE_CHECKING:
    from promptlint.frontends.python.values.modules import Module


_made = count(1)  # collections and objects, in the order in which they are made


class Value:
    """Base of all values."""

    __slots__ = ()

    cause: Cause | None = None


class Const(Value):
    """A number, boolean, None, bytes or other constant."""

    __slots__ = ("value",)

    def __init__(self, value: object) -> None:
        self.value = value


NONE = Const(None)
ABSENT = Const(None)  # an argument that some calls are given and others are not


class Str(Value):
    """Text as pieces."""

    __slots__ = ("_cause", "_weight", "parts")
    _cause: Cause | None  # once it was asked for

    def __init__(self, parts: tuple[Part, ...]) -> None:
        weight = weight_of(parts)
        self.parts = bounded(parts) if weight > MAX_PARTS else parts
        self._weight = weight

    def plus(self, parts: tuple[Part, ...]) -> Str:
        """Return the text with more at its end; what stands here is not looked through again."""
        if self._weight > MAX_PARTS:
            return self
        weight = self._weight + weight_of(parts)
        if weight > MAX_PARTS:
            return Str(self.parts + parts)
        longer = Str.__new__(Str)
        longer.parts, longer._weight = self.parts + parts, weight
        longer._cause = worst(self.cause, *(cause_of(p) for p in flat(parts)))
        return longer

    @property
    def cause(self) -> Cause | None:  # type: ignore[override]
        """Return the worst cause among the holes."""
        try:
            return self._cause
        except AttributeError:
            self._cause = worst(*(cause_of(p) for p in flat(self.parts)))
            return self._cause

    def plain(self) -> str | None:
        """Return the text if all of it is known."""
        out = []
        for part in self.parts:
            if isinstance(part, Lit):
                out.append(part.text)
            elif isinstance(part, Seg) and part.segment.text is not None and not part.segment.guards:
                out.append(part.segment.text)
            else:
                return None
        return "".join(out)

    def literal_length(self) -> int:
        """Return the number of known characters."""
        return sum(len(text_of(p)) for p in flat(self.parts))

    def has_text(self, least: int) -> bool:
        """Tell whether at least so many characters are known."""
        return any(known >= least for known in accumulate(len(text_of(p)) for p in flat(self.parts)))


class Unknown(Value):
    """A value that is not known: its name, its place, and why it changes if that was traced.

    ``path`` is the dotted expression it came from (``client.chat.completions``), ``kind`` the
    external type where known. ``loop`` is set for counters of a loop. ``holds`` is why something that was
    put into it has no fixed order: it shows where all of it is printed. ``given`` are the keywords of the
    constructor that made it, which it has as attributes. ``templates`` are those that it was given, or will be:
    an object and its methods share them.
    """

    __slots__ = (
        *("cause", "given", "holds", "loop", "multiline", "name", "path", "place", "templates", "text"),
    )

    def __init__(
        self,
        place: Place | None,
        *,
        name: str = "",
        path: str = "",
        cause: Cause | None = None,
        text: str = "",
        loop: int = 0,
        multiline: bool = True,
        holds: Cause | None = None,
        given: Mapping[str, Value] | None = None,
        templates: list[Held] | None = None,
    ) -> None:
        self.place = place
        self.holds = holds
        self.given = given
        self.templates = templates
        self.name = name
        self.path = path
        self.cause = cause
        self.text = text
        self.loop = loop
        self.multiline = multiline


@dataclass(frozen=True, slots=True)
class Says:
    """An annotation, and where its names are looked up."""

    node: ast.expr
    module: Module
    closure: Mapping[str, Value] | None = None


class Declared(Unknown):
    """An unknown value with an annotation, which is read when it is needed."""

    __slots__ = ("says",)

    def __init__(self, value: Unknown, says: Says) -> None:
        for slot in Unknown.__slots__:
            setattr(self, slot, getattr(value, slot))
        self.says = says


@dataclass(slots=True)
class Item:
    """An element of a list, with the conditions under which it is there."""

    value: Value
    guards: tuple[Guard, ...] = ()
    spread: bool = False  # stands for all elements of an unknown collection
    place: Place | None = None  # where it was written, for the sections of a prompt


class ListV(Value):
    """A list, tuple or set. ``order`` says why its order is not fixed, if it is not."""

    __slots__ = ("born", "depth", "items", "kind", "name", "order", "owner")

    def __init__(
        self, items: list[Item], kind: str = "list", order: Cause | None = None, depth: int = 0
    ) -> None:
        self.items = items
        self.kind = kind
        self.order = order
        self.depth = depth
        self.name = ""
        self.owner = ""
        self.born = next(_made)

    @property
    def cause(self) -> Cause | None:  # type: ignore[override]
        """Return the worst cause of order and elements."""
        return nested_cause(self)

    def known(self) -> bool:
        """Tell whether every element is known to be there."""
        return not any(i.spread or i.guards for i in self.items)


class DictV(Value):
    """A mapping in insertion order. ``rest`` holds values merged in from unknown mappings."""

    __slots__ = ("born", "depth", "entries", "order", "place", "rest")

    def __init__(self, depth: int = 0, place: Place | None = None) -> None:
        self.order: Cause | None = None  # why the order of insertion is not fixed
        self.entries: dict[object, Item] = {}
        self.rest: list[Value] = []
        self.depth = depth
        self.place = place
        self.born = next(_made)

    @property
    def cause(self) -> Cause | None:  # type: ignore[override]
        """Return the worst cause among the values."""
        return nested_cause(self)

    def get(self, key: object) -> Value | None:
        """Return the value of a constant key."""
        item = self.entries.get(key)
        return item.value if item else None


STORED = (ListV, DictV)
KEPT = "<kept>"  # the owner of a list that a mapping or module keeps between calls: it may hold earlier turns
"""What ``rest`` holds as it was put under a key that is not known; an unknown may be a mapping that was merged in."""


def moment() -> int:
    """Return a number above those of all collections made before, and below those made later."""
    return next(_made)


class FuncV(Value):
    """A function of the project: its node, its module, and the names it closes over."""

    __slots__ = (
        *("closure", "cls", "decorators", "module", "name", "node", "ran", "says", "wrapper", "wrapping"),
    )

    def __init__(
        self,
        node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda,
        module: Module,
        closure: Mapping[str, Value] | None = None,
        cls: ClassV | None = None,
    ) -> None:
        self.node = node
        self.module = module
        self.closure = closure
        self.cls = cls
        self.name = getattr(node, "name", "<lambda>")
        self.decorators: tuple[str, ...] = ()
        self.ran = False
        self.says: Value | None = None  # what a decorator that makes a tool of it tells a model
        self.wrapper: Value | None = None  # called in place of the function
        # Makes what the decorators put in the function's place, on the first call.
        self.wrapping: Callable[[], Value | None] | None = None


class Bound(Value):
    """A method with its object, or a function with some arguments given (``partial``)."""

    __slots__ = ("args", "func", "keywords", "receiver")

    def __init__(
        self,
        func: Value,
        receiver: Value | None = None,
        args: tuple[Value, ...] = (),
        keywords: dict[str, Value] | None = None,
    ) -> None:
        self.func = func
        self.receiver = receiver
        self.args = args
        self.keywords = keywords or {}


class ClassV(Value):
    """A class of the project."""

    __slots__ = (
        *(
            "bases",
            "data",
            "declared",
            "external",
            "fillers",
            "measured",
            "module",
            "name",
            "namespace",
            "node",
            "writes",
        ),
    )

    def __init__(self, node: ast.ClassDef, module: Module) -> None:
        self.node = node
        self.module = module
        self.name = node.name
        self.namespace: dict[str, Value] = {}
        self.bases: list[ClassV] = []
        self.external: list[str] = []  # dotted names of bases outside the project
        self.writes: dict[str, list[tuple[FuncV, ast.AST]]] | None = None
        self.fillers: dict[str, list[FuncV]] | None = None  # methods that fill an attribute, found once
        self.measured: frozenset[str] | None = None  # attributes that methods set to what they find out
        self.data: bool | None = None  # a data class? asked once
        self.declared: dict[str, tuple[ClassV, ast.AnnAssign]] | None = None  # its fields, found once

    def mro(self) -> Iterator[ClassV]:
        """Yield this class and its project bases, depth first, each once."""
        seen: set[int] = set()
        stack: list[ClassV] = [self]
        while stack:
            cls = stack.pop(0)
            if id(cls) in seen:
                continue
            seen.add(id(cls))
            yield cls
            stack[:0] = cls.bases

    def find(self, name: str, after: ClassV | None = None) -> Value | None:
        """Return an attribute through the bases; ``after`` starts behind that class (``super()``)."""
        waiting = after is not None
        for cls in self.mro():
            if waiting:
                waiting = cls is not after
                continue
            if name in cls.namespace:
                return cls.namespace[name]
        return None


class Obj(Value):
    """An instance of a project class, or of a library class that the evaluator models (``kind``)."""

    __slots__ = (
        *("attrs", "born", "busy", "cls", "grown", "kept", "kind"),
        *("name", "pending", "place", "unmade", "used"),
    )

    def __init__(
        self, cls: ClassV | None = None, kind: str = "", name: str = "", place: Place | None = None
    ) -> None:
        self.cls = cls
        self.kind = kind
        self.name = name
        self.attrs: dict[str, Value] = {}
        self.place = place
        self.busy: set[str] = set()
        self.unmade: dict[
            str, frozenset[tuple[str, str | None]]
        ] = {}  # what no method tells, by what was read for it
        self.grown: set[str] = set()  # collections that other methods have filled before
        self.kept: Scope | None = Scope.SESSION  # how long it lives; None: made anew for each request
        self.used = False  # part of an object that was there before: somebody has called its methods
        # The constructor, until an attribute is asked for.
        self.pending: Callable[[Obj], object] | None = None
        self.born = next(_made)


HELD = "<held>"  # the attribute with the list, mapping or text that an object is: `class Prompt(list)`


class Ext(Value):
    """Something outside the project, known by its dotted name: ``datetime.datetime``, ``openai.OpenAI()``."""

    __slots__ = ("path",)

    def __init__(self, path: str) -> None:
        self.path = path


class ModuleV(Value):
    """A module of the project."""

    __slots__ = ("module",)

    def __init__(self, module: Module) -> None:
        self.module = module


class Super(Value):
    """What ``super()`` gives: an object whose attributes are looked up behind a class."""

    __slots__ = ("after", "receiver")

    def __init__(self, receiver: Value, after: ClassV | None) -> None:
        self.receiver = receiver
        self.after = after


class Choice(Value):
    """One of several values, chosen by a condition; ``within`` are those of choices that were among the values."""

    __slots__ = ("guard", "values", "within")

    def __init__(self, guard: Guard, values: tuple[Value, ...], within: tuple[Guard, ...] = ()) -> None:
        self.guard = guard
        self.values = values
        self.within = within

    @property
    def cause(self) -> Cause | None:  # type: ignore[override]
        """Return the worst cause among the values."""
        return nested_cause(self)


MAX_CHOICE = 4


def choice(guard: Guard, values: Iterable[Value]) -> Value:
    """Return one of several values, chosen by a condition.

    Choices within choices are flattened, equal values stand once, and all that is unknown becomes one
    unknown: a program has too many paths to keep each.
    """
    known: list[Value] = []
    unknown: Unknown | None = None
    within: list[Guard] = []
    for value in values:
        if isinstance(value, Choice):
            within += (value.guard, *value.within)
        for one in value.values if isinstance(value, Choice) else (value,):
            if isinstance(one, Unknown):
                if unknown is None or (
                    one.cause is not None and worst(unknown.cause, one.cause) is one.cause
                ):
                    unknown = one
            elif not any(one is k or _same(one, k) for k in known):
                known.append(one)
    out = [*known[:MAX_CHOICE], *([unknown] if unknown is not None else [])]
    if len(out) == 1:
        return out[0]
    return Choice(guard, tuple(out), tuple(dict.fromkeys(within))[:MAX_CHOICE])


def _same(one: Value, other: Value) -> bool:
    if isinstance(one, Const) and isinstance(other, Const):
        return type(one.value) is type(other.value) and one.value == other.value
    return isinstance(one, Ext) and isinstance(other, Ext) and one.path == other.path


@dataclass(slots=True)
class Template(Value):
    """A text with named fields, and the values already given to some of them."""

    parts: tuple[Part, ...]
    fields: dict[str, Value] = field(default_factory=dict)
    role: str = ""
    kind: str = (
        ""  # "messages" for a chat template, its parts in `messages`; "jinja" of a file, "engine" of a text
    )
    messages: tuple[Value, ...] = ()


@dataclass(frozen=True, slots=True)
class Held:
    """A template that an object of a library was given, and the name it was put under."""

    name: str
    template: Template


MAX_NESTED = 300  # values looked at for the cause of a collection


def nested_cause(value: Value) -> Cause | None:
    """Return the worst cause within a collection; a collection may contain itself."""
    best: Cause | None = None
    todo: list[Value] = [value]
    seen: set[int] = set()
    while todo and len(seen) < MAX_NESTED:
        one = todo.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one, ListV):
            best = worst(best, one.order)
            todo.extend(i.value for i in one.items[:50])
        elif isinstance(one, DictV):
            best = worst(best, one.order)
            todo.extend(i.value for i in list(one.entries.values())[:50])
            todo.extend(one.rest)
        elif isinstance(one, Choice):
            todo.extend(one.values)
        else:
            best = worst(best, one.cause)
    return best
