"""What in a function depends on how a conversation ends: its length, its last turns, counts that run from its end.

What is known of a turn, and of those in front of it, is the same in every request. What is known only from those
behind it is not::

    n = len(turns)                               its length, and what is computed from that
    used += size(turn)                           what is counted in a loop from its end
    newest[event.path] = i                       what stays of all turns is the last of each kind
    total = sum(size(t) for t in turns)          anything over all of it
    near = index.search(question)                what is looked up for the newest of them
    shown = set(places[:-3])                     all but its last ones

A list of turns is called like one, is asked for roles, or has messages made of its elements; so is any list that
is made of one. What a loop fills, and counts, from the first turn on is so far the same in every request.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from promptlint.frontends.python.readings.shapes import (
    added_to,
    derived_from,
    grows,
    is_negative,
    last_name,
    names_of,
    order,
)
from promptlint.frontends.python.readings.turnlists import Body, Loop, is_turns, list_name
from promptlint.frontends.python.syntax.nodes import children, parameters
from promptlint.frontends.python.values.naming import called_name

_OF_ALL = frozenset({"len", "sum", "max", "min", "next"})
_COUNTS = re.compile(r"count|token|size|length|estimate|find_last|last_index", re.IGNORECASE)
_LOOKS_UP = re.compile(r"search|query|retriev|similar|relevan|nearest|recall|lookup|rank", re.IGNORECASE)
_OF_LISTS = re.compile(r"['\"]?(?:list|List|Sequence|Iterable)\[\s*(?:list|List|Sequence)\[")
_FEW = 3  # a conversation is longer than this number before it matters how long it is


@dataclass(frozen=True, slots=True)
class Run:
    """A loop over turns: whether from the last on, whether it leaves the last ones out, and what its names hold.

    ``turns`` hold a turn, its place, or something made of it; ``places`` only count.
    """

    loop: Loop
    inside: list[ast.AST]
    backwards: bool
    older: bool
    turns: frozenset[str]
    places: frozenset[str]


@dataclass(slots=True)
class Ending:
    """A function while it is asked what depends on the end of a conversation; `ending` reads it."""

    body: Body
    lists: set[str] = field(default_factory=set)
    batches: frozenset[str] = frozenset()  # arguments that are several conversations, each sent on its own
    names: set[str] = field(default_factory=set)  # that depend on the end
    ends: set[str] = field(default_factory=set)  # lists that begin or stop so far in front of the end
    newest: set[str] = field(default_factory=set)  # mappings that keep the last of each kind
    counted: set[str] = field(default_factory=set)  # in loops from the end
    growing: set[str] = field(default_factory=set)  # counted in loops from the first turn on
    runs: list[Run] = field(default_factory=list)
    so_far: dict[int, frozenset[str]] = field(default_factory=dict)
    """The lists that are filled, and the names that are set, in the loops from the first turn on around a node."""

    @property
    def text(self) -> str:
        """Return the function as it is written, but for blanks."""
        return ast.unparse(self.body.function)

    def is_turns(self, node: ast.AST) -> bool:
        """Tell whether an expression is a list of turns."""
        name = list_name(node)
        if name is None or name in self.batches:
            return False
        if name in self.lists:
            return True
        return is_turns(node) and not name.endswith("log")  # others write such ones too

    def late(self, node: ast.AST | None) -> bool:
        """Tell whether an expression depends on the end."""
        return self.reason(node) is not None

    def reason(self, node: ast.AST | None) -> str | None:
        """Return what in an expression depends on the end: a name, or the list that is asked."""
        waiting: list[ast.AST] = [node] if node is not None else []
        so_far = self.so_far.get(id(node), frozenset())
        while waiting:
            one = waiting.pop()
            if isinstance(one, ast.Name):
                if one.id in self.names and not (one.id in so_far and one.id in self.growing):
                    return one.id
            elif isinstance(one, ast.Call):
                name = called_name(one)
                if (found := self._measured(one, name, so_far)) is not None:
                    return found
                if name == "next":  # what it gives where there is none says nothing of the end
                    waiting += one.args[:1]
                elif name not in ("isinstance", "range"):
                    waiting += children(one)
            elif isinstance(one, ast.Subscript) and self._holds(one.value):
                owner = last_name(one.value)
                if owner in so_far:
                    continue
                bounds = _bounds(one.slice)
                if owner in self.newest or any(map(is_negative, bounds)):
                    return owner
                waiting += bounds
            elif isinstance(one, ast.Compare) and (part := self._is_among(one)) is not None:
                return part
            elif not (isinstance(one, ast.Lambda) or (isinstance(one, ast.Compare) and self._is_small(one))):
                waiting += children(one)
        return None

    def _is_among(self, test: ast.Compare) -> str | None:
        """Return the list, if a comparison asks whether something is one of the last: ``i in places[-3:]``, ``i in fresh``."""
        among = last_name(test.comparators[0])
        return among if isinstance(test.ops[0], ast.In | ast.NotIn) and among in self.ends else None

    def _measured(self, call: ast.Call, name: str, so_far: frozenset[str]) -> str | None:
        """Return the list of which a call computes something over all of it: ``len(turns)``, ``count_tokens(turns)``."""
        if name not in _OF_ALL and not _COUNTS.search(name):
            return None
        for given in call.args:
            how = order(given)
            if self.is_turns(how.whole) and (name != "next" or how.backwards):
                whole = list_name(how.whole)
                if whole not in so_far:
                    return whole
        return None

    def _holds(self, node: ast.expr) -> bool:
        return self.is_turns(node) or last_name(node) in self.newest

    def _is_small(self, test: ast.Compare) -> bool:
        """Tell whether a comparison asks only whether there is any, or one at a place: ``len(turns) > 1``, ``x is None``."""
        nothing = isinstance(test.comparators[0], ast.Constant)
        if (nothing and isinstance(test.ops[0], ast.Is | ast.IsNot)) or _within_bounds(test):
            return True
        number = getattr(test.comparators[0], "value", None)
        if not isinstance(number, int) or number >= _FEW or last_name(test.left) in self.counted:
            return False
        return isinstance(test.left, ast.Call) or isinstance(test.ops[0], ast.Eq | ast.NotEq)


def ending(body: Body) -> Ending | None:
    """Read a function; None if it has no turns."""
    batches = _batches(body)
    out = Ending(body, set(body.lists) - batches, batches)
    if not (out.lists or any(map(is_turns, body.of(ast.Attribute)))):
        return None
    if not (body.loops or body.of(ast.ListComp)):
        return out  # what depends on the end matters where something is done with each of the turns
    _add_sources(out)
    _find_so_far(out)
    _follow(out)
    if out.runs:  # what a loop counts is used in front of it too
        out.runs = []
        _follow(out)
    return out


def _batches(body: Body) -> frozenset[str]:
    """Return the arguments that are lists of conversations: ``messages: list[list[BaseMessage]]``."""
    given = parameters(body.function)
    return frozenset(
        a.arg for a in given if a.annotation is not None and _OF_LISTS.match(ast.unparse(a.annotation))
    )


def _add_sources(out: Ending) -> None:
    """Add the lists that lists of turns are filled from."""
    for loop, inside in reversed(out.body.loops) if out.lists else ():
        if isinstance(loop, ast.While) or (name := list_name(order(loop.iter).whole)) is None:
            continue
        turn = names_of(loop.target)
        if any(list_name(to) in out.lists and last_name(value) in turn for to, value in added_to(inside)):
            out.lists.add(name)


def _follow(out: Ending) -> None:
    """Go through a function once, and note what each name holds."""
    for node in out.body.steps:  # in the order of the text
        if not isinstance(node, ast.Assign) or not isinstance(target := node.targets[0], ast.Name):
            continue
        value = node.value.value if isinstance(node.value, ast.Await) else node.value
        whole = order(value).whole
        if whole is not value and out.is_turns(whole):
            out.lists.add(target.id)
            if out.late(value):
                out.ends.add(target.id)
        elif not _is_list(value) and (out.late(value) or _is_looked_up(value, out.body)):
            out.names.add(target.id)
    told = _streamed(out.body)
    for loop, inside in out.body.loops:
        if id(loop) in told:
            continue
        run = _counting_down(out, loop, inside) if isinstance(loop, ast.While) else _over(out, loop, inside)
        if run is None:
            continue
        out.runs.append(run)
        if run.backwards:
            out.counted |= grows(inside) - set_in(inside)
            out.names |= out.counted | _remembered(inside) | _found_at(run) | _first_of_pair(loop)
            out.lists |= {
                name
                for to, value in added_to(inside)
                if last_name(value) in run.turns and (name := list_name(to)) is not None
            }
        elif not isinstance(loop, ast.While):
            out.newest |= set(_last_of_each(loop, inside))
            out.names |= _growing(inside) - set_in(inside)  # what was counted, when all were


def _streamed(body: Body) -> frozenset[int]:
    """Return the loops within one over a stream: what that brings is shown to somebody, and sent to no model."""
    return frozenset(
        id(node)
        for loop, inside in body.loops
        if isinstance(loop, ast.AsyncFor) and isinstance(loop.iter, ast.Call)
        for node in inside
        if isinstance(node, ast.For | ast.AsyncFor | ast.While)
    )


def _is_looked_up(node: ast.expr, body: Body) -> bool:
    """Tell whether a call looks something up for what a function is given: for what was said last."""
    if not (isinstance(node, ast.Call) and _LOOKS_UP.search(called_name(node))):
        return False
    given = {a.arg for a in parameters(body.function)} - {"self", "cls"}
    return any(not given.isdisjoint(names_of(one)) for one in node.args)


def _over(out: Ending, loop: ast.For | ast.AsyncFor, inside: list[ast.AST]) -> Run | None:
    how = order(loop.iter)
    if not out.is_turns(how.whole):
        return _up_to_place(out, loop, inside)
    older = how.upper is not None and (is_negative(how.upper) or out.late(how.upper))
    turns = derived_from(names_of(loop.target), inside)
    return Run(loop, inside, how.backwards, older, turns, _places(loop, *inside))


def _up_to_place(out: Ending, loop: ast.For | ast.AsyncFor, inside: list[ast.AST]) -> Run | None:
    """Return a loop over the places in front of one that was found from the end: ``for i in range(newest): turns[i]``."""
    if not (
        isinstance(loop.iter, ast.Call)
        and called_name(loop.iter) == "range"
        and loop.iter.args
        and out.late(loop.iter.args[:2][-1])
    ):
        return None
    places = names_of(loop.target)
    if not any(
        isinstance(n, ast.Subscript) and last_name(n.slice) in places and out.is_turns(n.value)
        for n in inside
    ):
        return None
    return Run(loop, inside, False, True, derived_from(places, inside), places)


def _found_at(run: Run) -> frozenset[str]:
    """Return what a loop sets to the place that it has come to: ``newest = i``."""
    return frozenset(
        n.targets[0].id
        for n in run.inside
        if isinstance(n, ast.Assign)
        and isinstance(n.targets[0], ast.Name)
        and last_name(n.value) in run.places
    )


def _counting_down(out: Ending, loop: ast.While, inside: list[ast.AST]) -> Run | None:
    """Return a loop that takes turns by a falling place: ``turn = turns[k]; k -= 1``."""
    falling = frozenset(
        n.target.id
        for n in inside
        if isinstance(n, ast.AugAssign) and isinstance(n.op, ast.Sub) and isinstance(n.target, ast.Name)
    )
    if not falling or not any(
        isinstance(n, ast.Subscript) and last_name(n.slice) in falling and out.is_turns(n.value)
        for n in inside
    ):
        return None
    return Run(loop, inside, True, False, derived_from(falling, inside), falling)


def _first_of_pair(loop: Loop) -> frozenset[str]:
    """Return what counts turns from the end: ``i`` of ``for i, turn in enumerate(reversed(turns))``."""
    if isinstance(loop, ast.While) or not isinstance(loop.target, ast.Tuple):
        return frozenset()
    counts = isinstance(loop.iter, ast.Call) and called_name(loop.iter) == "enumerate"
    return names_of(loop.target.elts[0]) if counts else frozenset()


def _last_of_each(loop: ast.For | ast.AsyncFor, inside: list[ast.AST]) -> Iterator[str]:
    """Yield the mappings in which a loop keeps the last turn, or its place, of each kind: ``newest[event.path] = i``."""
    for node in inside:
        if (
            isinstance(node, ast.Assign)
            and isinstance(at := node.targets[0], ast.Subscript)
            and isinstance(at.value, ast.Name)
            and not isinstance(at.slice, ast.Constant)
            and last_name(node.value) in names_of(loop.target)
            and at.value.id not in names_of(loop.target)
        ):
            yield at.value.id


def _find_so_far(out: Ending) -> None:
    backwards: set[int] = set()
    forwards: list[list[ast.AST]] = []
    for loop, inside in out.body.loops:
        if isinstance(loop, ast.While) or not order(loop.iter).backwards:
            forwards.append(inside)
        else:
            backwards |= set(map(id, inside))
    for inside in forwards:
        out.growing |= (growing := _growing(inside))
        filled = {name for to, _ in added_to(inside) if (name := last_name(to)) is not None}
        same = growing | set_in(inside) | filled
        for node in inside if same else ():
            if id(node) not in backwards:
                out.so_far[id(node)] = out.so_far.get(id(node), frozenset()) | same


def set_in(inside: list[ast.AST]) -> frozenset[str]:
    """Return the names that assignments of a loop set."""
    return frozenset(
        n.targets[0].id for n in inside if isinstance(n, ast.Assign) and isinstance(n.targets[0], ast.Name)
    )


def _growing(inside: list[ast.AST]) -> frozenset[str]:
    return frozenset(
        n.target.id
        for n in inside
        if isinstance(n, ast.AugAssign) and isinstance(n.op, ast.Add) and isinstance(n.target, ast.Name)
    )


def _places(*nodes: ast.AST) -> frozenset[str]:
    """Return the names that count what loops run over."""
    out: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.For | ast.AsyncFor) and isinstance(node.iter, ast.Call):
            out |= names_of(node.target) if called_name(node.iter) == "range" else _first_of_pair(node)
    return frozenset(out)


def _remembered(inside: list[ast.AST]) -> frozenset[str]:
    """Return what a loop remembers from turn to turn: what it sets only to one truth value, and the sets it fills."""
    said: defaultdict[str, list[object]] = defaultdict(list)
    sets: set[str] = set()
    for node in inside:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            said[node.targets[0].id].append(getattr(node.value, "value", None))
        elif (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in ("add", "update")
            and isinstance(node.func.value, ast.Name)
        ):
            sets.add(node.func.value.id)
    flags = {name for name, values in said.items() if values in ([True], [False])}
    return frozenset(flags | (sets - said.keys()))


def _is_list(node: ast.expr) -> bool:
    return isinstance(node, ast.List) or (isinstance(node, ast.BinOp) and isinstance(node.left, ast.List))


def _bounds(at: ast.expr) -> list[ast.expr]:
    return [b for b in (at.lower, at.upper) if b is not None] if isinstance(at, ast.Slice) else [at]


def _within_bounds(test: ast.Compare) -> bool:
    """Tell whether a comparison asks whether there is an element at a place: ``i + 1 < len(turns)``."""
    at, length, asks = test.left, test.comparators[0], isinstance(test.ops[0], ast.Lt | ast.GtE)
    if isinstance(at, ast.Call):
        at, length, asks = length, at, isinstance(test.ops[0], ast.Gt | ast.LtE)
    added = isinstance(at, ast.BinOp) and isinstance(at.op, ast.Add)
    measured = isinstance(length, ast.Call) and called_name(length) == "len"
    return asks and measured and (added or isinstance(at, ast.Name))
