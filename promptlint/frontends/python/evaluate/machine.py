"""The evaluator's state: frames, the stack of conditions, budgets.

Functions are run symbolically, once, with whatever is known of their arguments. Both branches of a
condition are taken; what they leave behind is joined, and carries the condition as a guard. A loop
body is run once, for an element that stands for all. Nothing of the program is executed.
"""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING

from promptlint.catalog import Catalog
from promptlint.catalog.model import Sink, Volatile
from promptlint.frontends.mapped import MappedText
from promptlint.frontends.python.evaluate.twins import twin
from promptlint.frontends.python.values.modules import Module, Project, Read
from promptlint.frontends.python.values.pieces import (
    Alt,
    Hole,
    Loop,
    Part,
    TextSource,
    flat,
    map_causes,
    worst,
)
from promptlint.frontends.python.values.values import (
    NONE,
    Choice,
    ClassV,
    Const,
    Declared,
    DictV,
    FuncV,
    Item,
    ListV,
    Obj,
    Str,
    Unknown,
    Value,
    choice,
)
from promptlint.layout import ROWS, Cause, Guard, Kind, Scope, Step
from promptlint.source import Place

if TYPE_CHECKING:
    from promptlint.frontends.python.prompts.record import Recorder

_ROOT = re.compile(r"\w*")
MAX_ROOTS = 6  # elements, and levels, that are looked at for what a collection is made from
MAX_DEPTH = 8
MAX_OWN_STEPS = 60_000  # of an entry or module body
MAX_STEPS = 2_000  # of all that an entry calls
MAX_SPARE = 700  # for attributes, whose making is not paid for by who asks
RESERVE = 400  # kept for the short calls that an entry makes itself after those
MAX_RESERVED = 60  # of one such call
MAX_APART = 4  # functions that build a prompt and are run to their end for an entry without steps
MAX_CHAIN = 6


@dataclass(slots=True)
class Frame:
    """Names and results of one function, class body or module that is being run."""

    module: Module
    names: dict[str, Value]
    func: FuncV | None = None
    cls: ClassV | None = None
    receiver: Value | None = None
    outer: Mapping[str, Value] | None = None
    returns: list[tuple[tuple[Guard, ...], Value]] = field(default_factory=list)
    yields: list[Item] | None = None
    depth: int = 0  # length of the guard stack when the frame was entered
    frozen: bool = False  # module level: runs once per process
    home: dict[str, Value] | None = None  # the namespace of a module or class: others hold it too
    skip: frozenset[int] = frozenset()  # statements that cannot matter
    left: tuple[ast.stmt, int] | None = None  # what ended a block last, and under how many conditions
    exports: set[str] = field(default_factory=set)  # names declared global

    @property
    def once(self) -> bool:
        """Tell whether what is run is the body of a file that runs once in a process."""
        return self.frozen and self.cls is None and self.func is None and not self.module.reruns

    @property
    def where(self) -> str:
        """Return the name of the function, class or module that is run."""
        if self.func is not None:
            return f"{self.func.cls.name}.{self.func.name}" if self.func.cls else self.func.name
        return self.cls.name if self.cls else self.module.path.rsplit("/", 1)[-1]


@dataclass(frozen=True, slots=True)
class Kept:
    """A call's result; ``alive`` holds what the key names by identity, ``reads`` what it took from files."""

    value: Value
    alive: tuple[Value, ...]
    reads: frozenset[Read]
    steps: int


class Under:
    """Holds conditions while something is run; a generator for it would cost as much as a short branch."""

    __slots__ = ("guards", "more")

    def __init__(self, guards: list[Guard], more: tuple[Guard, ...]) -> None:
        self.guards = guards
        self.more = more

    def __enter__(self) -> None:
        self.guards.extend(self.more)

    def __exit__(self, *error: object) -> None:
        del self.guards[len(self.guards) - len(self.more) :]


_UNDER_WAY = (
    "guards",
    "loops",
    "stack",
    "own",
    "steps",
    "limit",
    "exhausted",
    "reserve",
    "long",
    "reach",
    "apart",
    "spare",
)

Results = dict[tuple[object, int | None], Kept]
"""What calls gave, by what was called with what, and by the budget where that cut them short."""


class Machine:
    """Everything that evaluation needs besides the node at hand."""

    def __init__(self, project: Project, catalog: Catalog, recorder: Recorder) -> None:
        self.project = project
        self.catalog = catalog
        self.recorder = recorder
        self.guards: list[Guard] = []
        self.loops: list[int] = []
        self.turns: set[int] = set()  # loops over turns or steps, not over data, and not until it goes well
        self.orders: list[tuple[int, Cause]] = []  # unordered loops being run: when they began, why
        self.stack: list[ast.AST] = []
        self.own = 0
        self.steps = 0
        self.limit = MAX_STEPS
        self.exhausted = False
        self.apart = MAX_APART
        self.spare = MAX_SPARE
        self.reserve = RESERVE
        self.long: set[ast.AST] = set()  # functions for which the reserve was no use
        self.reach = MAX_DEPTH  # the outermost call under way for which a recursion was cut
        self.asked = 0  # attributes under way that other methods set
        self.unmade: dict[tuple[Obj, str], frozenset[Read]] = {}  # while another attribute is under way
        self.keys: set[tuple[str, str]] = set()  # of shared mappings, those whose values are under way
        self.memo: Results = {}  # of calls that recorded no prompt
        self.grown: dict[object, tuple[Cause | None, frozenset[Read]]] = {}  # order of filled attributes
        self.instances: dict[ast.AST, tuple[Obj, frozenset[Read]]] = {}
        self.overrides: dict[object, tuple[list[tuple[ClassV, FuncV]], frozenset[Read]]] = {}
        self.linking = 0  # bodies of modules and imports under way
        self.unfinished: list[Module] = []  # to which others may have handed something, see `registering`
        self.lasting = False  # what is run changes modules for all files, as their own bodies do
        self.registrations: dict[str, list[str]] | None = None  # see `registering`
        self.writers: dict[str, list[str]] | None = None  # see `sharing`
        self.unused: ast.expr | None = None  # the call of an expression statement
        self._volatile: dict[str, Volatile | None] = {}
        self._sinks: dict[str, Sink | None] = {}
        self._tells: dict[str, bool] = {}
        self.fresh = itertools.count(1)

    # Filled by the modules that know how; see evaluate.py.
    evaluate: Callable[[ast.expr, Frame], Value]
    execute: Callable[[list[ast.stmt], Frame], bool]
    complete: Callable[[Module], None]

    def scramble(self, grown: ListV | DictV) -> None:
        """Note that a collection that was there before grows in a loop that has no fixed order."""
        if self.orders and grown.order is None and grown.born < self.orders[-1][0]:
            grown.order = self.orders[-1][1]

    def volatile(self, path: str) -> Volatile | None:
        """Return what the catalogue says of a call; the same paths come again and again."""
        if path not in self._volatile:
            self._volatile[path] = self.catalog.call(path)
        return self._volatile[path]

    def tells(self, name: str) -> bool:
        """Tell whether a name says what its value is, or that it is the program's own."""
        known = self._tells.get(name)
        if known is None:
            known = self.catalog.name(name) is not None or self.catalog.is_chosen(name, plain=False)
            self._tells[name] = known
        return known

    def sink(self, path: str) -> Sink | None:
        """Return the catalogue's sink for a call."""
        if path not in self._sinks:
            self._sinks[path] = self.catalog.sink(path)
        return self._sinks[path]

    def repeats(self, sent: Value | None = None) -> bool:
        """Tell whether a conversation goes on here: in a loop over turns, or with a list made outside of the loop."""
        if any(loop in self.turns for loop in self.loops):
            return True
        return bool(self.loops) and isinstance(sent, ListV) and not self.within_loop(sent)

    def within_loop(self, made: ListV) -> bool:
        """Tell whether a list was made in this round of the innermost loop."""
        inner = max((i for i, g in enumerate(self.guards) if g.kind in ("for", "while")), default=-1)
        return made.depth > inner

    @contextmanager
    def afresh(self, stack: list[ast.AST], steps: int) -> Iterator[None]:
        """Evaluate something that has to do with nothing under way: with conditions and a budget of its own."""
        saved = {name: getattr(self, name) for name in _UNDER_WAY}
        self.guards, self.loops, self.stack, self.own, self.steps, self.limit = [], [], stack, 0, 0, steps
        self.exhausted, self.reserve, self.long, self.reach = False, RESERVE, set(), MAX_DEPTH
        self.apart, self.spare = MAX_APART, MAX_SPARE
        try:
            yield
        finally:
            for name, value in saved.items():
                setattr(self, name, value)

    def copied(self, value: Value | None) -> Value | None:
        """Return what is there for all files, as the file at hand may change it."""
        return value and twin(value, self, self.recorder.twins)

    def recall(self, key: object, budget: int) -> Kept | None:
        """Return what a call gave, if it would give the same within this budget.

        It is charged as if it had been run: what fits into a budget must not depend on who came first.
        """
        for table in (self.memo, self.recorder.calls):
            kept = table.get((key, None))
            if kept is not None and kept.steps > budget:
                kept = None
            kept = kept or table.get((key, budget))
            if kept is not None:
                if table is not self.memo:
                    self.recorder.count += 1  # whoever calls it has recorded something too
                self.project.reads |= kept.reads
                self.steps += kept.steps
                self.exhausted = self.exhausted or self.steps > MAX_STEPS
                return kept
        return None

    def spend(self) -> bool:
        """Count a step; tell whether the budget of this entry, or of the call at hand, is used up."""
        if len(self.stack) < 2:
            # The entry's own body is always run to its end; what it calls shares the budget.
            self.own += 1
            return self.own > MAX_OWN_STEPS
        self.steps += 1
        if self.steps > MAX_STEPS:
            self.exhausted = True
        return self.steps > self.limit

    @contextmanager
    def reserved(self, called: ast.AST) -> Iterator[None]:
        """Evaluate a short call of the entry's own, though what it called before used up the budget.

        Where a program goes on for long before it fills its last template, the date in it still is one.
        """
        steps, limit = self.steps, self.limit
        self.steps, self.limit, self.exhausted = MAX_STEPS - min(MAX_RESERVED, self.reserve), MAX_STEPS, False
        begun = self.steps
        try:
            yield
        finally:
            self.reserve -= self.steps - begun
            if self.exhausted:
                self.long.add(called)
            self.steps, self.limit, self.exhausted = steps, limit, True

    def under(self, *guards: Guard) -> Under:
        """Run something under conditions."""
        return Under(self.guards, guards)

    def since(self, depth: int) -> tuple[Guard, ...]:
        """Return the conditions entered since the stack had that depth."""
        return tuple(self.guards[depth:])


def fixed(place: Place, text: str) -> TextSource:
    """Return a source whose text maps, as a whole, to one place."""
    return TextSource(
        place.path, lambda: MappedText(place.path, text, ((0, place.span.start),), place.span.end)
    )


def step(cause: Cause | None, place: Place, note: str) -> Cause | None:
    """Return a cause with one more place on its way."""
    if cause is None or len(cause.chain) >= MAX_CHAIN or (cause.chain and cause.chain[-1].place == place):
        return cause
    return replace(cause, chain=(*cause.chain, Step(place, note)))


def printed(cause: Cause) -> Cause | None:
    """Return what the last turns are within a text: the conversation, which a rule of its own is about."""
    if cause.variant == ROWS:
        return None
    return replace(cause, kind=Kind.HISTORY, scope=Scope.SESSION, variant="")


def passed(value: Value, place: Place, note: str) -> Value:
    """Return a value that went through a place, with the place added to the way of its causes."""
    if isinstance(value, Str):
        if value.cause is None:
            return value
        return Str(map_causes(value.parts, lambda cause: step(cause, place, note)))
    if isinstance(value, Unknown) and value.cause is not None:
        return unknown_like(value, cause=step(value.cause, place, note))
    return value


def unknown_like(
    value: Unknown,
    *,
    cause: Cause | None = None,
    name: str | None = None,
    place: Place | None = None,
    multiline: bool | None = None,
    given: Mapping[str, Value] | None = None,
) -> Unknown:
    """Return a copy of an unknown with another cause, name, place, or attributes that it was given."""
    like = Unknown(
        place or value.place,
        name=value.name if name is None else name,
        path=value.path,
        cause=cause,
        text=value.text,
        loop=value.loop,
        multiline=value.multiline if multiline is None else multiline,
        holds=value.holds,
        given=given or value.given,
        templates=value.templates,
    )
    return Declared(like, value.says) if isinstance(value, Declared) else like


def join(guard: Guard, before: Value | None, values: list[Value | None]) -> Value:
    """Return what a name holds behind a branch, given its value on each path.

    Text that only grew on some paths keeps its common beginning: ``P`` and ``P + Q`` become
    ``P`` followed by ``Q`` under the condition.
    """
    known = [v for v in values if v is not None]
    first = known[0]
    if all(v is first for v in known) and len(known) == len(values):
        return first
    if all(isinstance(v, Str) for v in values):
        return Str(join_parts(guard, [v.parts for v in values if isinstance(v, Str)]))
    if len(known) == 1:
        return first
    return choice(guard, known)


def combine(returns: list[tuple[tuple[Guard, ...], Value]]) -> Value:
    """Return one value for several ``return`` statements; the last is the one without a condition.

    Of an object, what it has is asked for all the same; a list that is not there at times is another one.
    """
    found = [(g, v) for g, v in returns if not (isinstance(v, Const) and v.value is None)] or returns
    if not found:
        return NONE
    out = found[-1][1]
    for guards, value in reversed(found[:-1]):
        if value is out:
            continue
        if not guards:
            out = value
        elif isinstance(value, Str) and isinstance(out, Str):
            out = join(guards[-1], None, [value, out])
        else:
            out = choice(guards[-1], (value, out))
    options = out.values if isinstance(out, Choice) else (out,)
    if all(isinstance(one, Unknown | ListV | Const) for one in options):
        for guards, value in reversed(returns):
            if isinstance(value, Const) and value.value is None and guards and guards[-1].kind == "if":
                out = choice(guards[-1], (value, out))
    return out


def join_parts(guard: Guard, texts: list[tuple[Part, ...]]) -> tuple[Part, ...]:
    """Join texts: what they share at the beginning and the end stands once."""
    shortest = min(len(t) for t in texts)
    grown = all(
        t[:shortest] == texts[0][:shortest] for t in texts
    )  # at once: a text may grow a thousand times
    head = shortest if grown else 0
    while head < shortest and all(t[head] is texts[0][head] or t[head] == texts[0][head] for t in texts):
        head += 1
    tail = 0
    while tail < shortest - head and all(
        t[-1 - tail] is texts[0][-1 - tail] or t[-1 - tail] == texts[0][-1 - tail] for t in texts
    ):
        tail += 1
    middle = tuple(t[head : len(t) - tail] for t in texts)
    if not any(middle):
        return texts[0]
    return (*texts[0][:head], Alt(guard, middle), *(texts[0][len(texts[0]) - tail :] if tail else ()))


def repeat_parts(guard: Guard, before: tuple[Part, ...], after: tuple[Part, ...]) -> tuple[Part, ...]:
    """Return a text that a loop body turned from ``before`` into ``after``."""
    if after[: len(before)] == before:
        grown = after[len(before) :]
        return (*before, Loop(guard, grown)) if grown else before
    if before and after[-len(before) :] == before:
        return (Loop(guard, after[: -len(before)]), *before)
    return join_parts(guard, [before, after])


_LAST = re.compile(r"(?:.*\.)?([A-Za-z_]\w*)|.*\[[\"']([A-Za-z_]\w*)[\"']\]")


@cache
def last_name(expression: str) -> str:
    """Return the last name of an expression, ``notes`` of ``state["notes"]``; "" where it ends otherwise."""
    found = _LAST.fullmatch(expression)
    return (found.group(1) or found.group(2)) if found else ""


def hole(place: Place, value: Value, expression: str) -> Hole:
    """Return the hole that an unknown value leaves in a text."""
    if isinstance(value, Unknown):
        return Hole(
            place,
            expression or value.text or value.name,
            value.name or value.path,
            worst(value.cause, value.holds),
            value.loop,
            call=value.path.endswith("()"),
            multiline=value.multiline,
            root=root_of(value),
            written=expression,
        )
    return Hole(place, expression, getattr(value, "name", ""), value.cause, root=root_of(value))


def root_of(value: Value, depth: int = 0) -> str:
    """Return the name that a value's expression begins with; that of a collection is an element's."""
    if isinstance(value, Unknown):
        return _ROOT.match(value.path).group()  # type: ignore[union-attr]
    if isinstance(value, Str):
        return next((p.root for p in flat(value.parts) if isinstance(p, Hole) and p.root), "")
    inner: Iterable[Value] = ()
    if isinstance(value, ListV):
        inner = (i.value for i in value.items[:MAX_ROOTS])
    elif isinstance(value, DictV):
        inner = [*(i.value for i in list(value.entries.values())[:MAX_ROOTS]), *value.rest[:MAX_ROOTS]]
    elif isinstance(value, Choice):
        inner = value.values
    roots = (root_of(one, depth + 1) for one in inner) if depth < MAX_ROOTS else ()
    return next((root for root in roots if root and root != "self"), "")
