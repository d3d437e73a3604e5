"""What is written to a turn: does it follow from the turn alone, or from where the turn stands?

Providers want their own shapes, so programs change every message on its way out. A change that looks only at
the message gives the same bytes in every request; one that looks at positions, counters or other messages
gives other bytes as the conversation grows.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from promptlint.frontends.python.syntax.nodes import children, remembered, walk
from promptlint.frontends.python.values.naming import is_about_marks

_POSITIONS = frozenset({"enumerate", "range"})
_OWN_OBJECT = frozenset({"self", "cls"})
_Loop = ast.For | ast.AsyncFor
_Setting = ast.Assign | ast.AugAssign | ast.NamedExpr | ast.For


def stays(node: ast.AST, func: ast.AST) -> bool:
    """Tell whether an assignment in a loop over turns gives each the same text in every request.

    It does where the text follows from the turn alone, and where the loop sets cache marks or takes them off.
    """
    return follows_from_turn(node, func) or any(map(is_about_marks, _read(func).loops_around(node)[-1:]))


def follows_from_turn(node: ast.AST, func: ast.AST) -> bool:
    """Tell whether an assignment in a loop over turns depends on nothing but the turn, by the names it uses.

    Parameters, ``self`` and what the file defines count as fixed, and so does the number of a turn that is counted
    from the front; the list, what the function computed from it outside of the loop, and counters do not. False
    outside of a loop.
    """
    read = _read(func)
    loops = read.loops_around(node)
    return bool(loops) and all(read.follows(node, loop) for loop in loops)


def is_of_each(node: ast.expr, turns: str, func: ast.AST) -> bool:
    """Tell whether a loop around ``node`` runs over all elements of a list, by their number or themselves."""
    return any(ast.unparse(_whole(loop.iter)) == turns for loop in _read(func).loops_around(node))


def is_built_here(node: ast.AST, name: str, func: ast.AST) -> bool:
    """Tell whether the loop around ``node`` is the one that appends to a list: it merges turns, in order."""
    read = _read(func)
    return any(name in read.grown(loop) for loop in read.loops_around(node))


def is_added(node: ast.AST, func: ast.AST) -> bool:
    """Tell whether a loop puts a message behind those that a list had before: it is a turn, whatever its role.

    ``messages.append(…)``, ``messages += [… , …]`` and ``state.messages + […]`` do, where the loop does not begin the
    list itself.
    """
    read = _read(func)
    above = read.above(node)
    around = next(above, None)
    if isinstance(around, ast.List):
        node, around = around, next(above, None)
    owner: ast.expr | None = None
    if isinstance(around, ast.Call) and getattr(around.func, "attr", "") in ("append", "extend"):
        owner = getattr(around.func, "value", None)
    elif isinstance(around, ast.AugAssign):
        owner = around.target
    elif isinstance(around, ast.BinOp) and around.right is node:
        owner = around.left
    loop = next((n for n in above if isinstance(n, _Loop | ast.While)), None)
    if owner is None or loop is None:
        return False
    return ast.unparse(owner) not in _set_in(loop)


@remembered
def _set_in(loop: ast.AST) -> frozenset[str]:
    """Return what is assigned to in a loop."""
    return frozenset(
        ast.unparse(target) for n in walk(loop) if isinstance(n, ast.Assign) for target in n.targets
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Step:
    """What sets names: an assignment, or a loop its variables; ``loops`` are those that it stands in."""

    node: _Setting
    bound: set[str]
    loops: tuple[_Loop, ...]


class _Function:
    """A function, read once for all that is asked about its assignments."""

    def __init__(self, func: ast.AST) -> None:
        self._parents: dict[ast.AST, ast.AST] = {}
        self._loops: dict[ast.AST, tuple[_Loop, ...]] = {func: ()}
        self._uses: defaultdict[str, list[_Step]] = defaultdict(list)  # by the names that the steps use
        self._foreign: dict[_Loop, set[str]] = {}
        self._decided: dict[_Loop, dict[ast.AST, bool]] = {}
        self._grown: dict[_Loop, set[str]] = {}
        waiting = [func]
        for node in waiting:  # grows meanwhile
            around = self._loops[node]
            if isinstance(node, _Loop):
                around = self._loops[node] = (*around, node)
            for child in children(node):
                self._parents[child] = node
                self._loops[child] = around
                waiting.append(child)
            if isinstance(node, _Setting):
                self._enter(node, around)

    def _enter(self, node: _Setting, around: tuple[_Loop, ...]) -> None:
        source = node.iter if isinstance(node, ast.For) else node.value
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        step = _Step(node, {name for target in targets for name in _bound(target)}, around)
        for name in _names(source):
            self._uses[name].append(step)

    def above(self, node: ast.AST) -> Iterator[ast.AST]:
        """Yield what a node stands in, from the inside."""
        while node in self._parents:
            node = self._parents[node]
            yield node

    def loops_around(self, node: ast.AST) -> tuple[_Loop, ...]:
        """Return the loops that a node stands in, from the outside; none if the function does not have it."""
        return self._loops.get(node, ())

    def follows(self, node: ast.AST, loop: _Loop) -> bool:
        """Tell whether an assignment depends on nothing that one of the loops around it brings in."""
        if any(_by_place(n) for n in walk(loop.iter)):
            return False  # which turns are changed depends on where they stand
        foreign = self._brought_in(loop)
        if self._is_decided(node, loop, foreign):
            return False
        if not isinstance(node, ast.Subscript):
            return True
        around = next((n for n in self.above(node) if isinstance(n, ast.stmt)), None)
        assigned = around.value if isinstance(around, ast.Assign | ast.AnnAssign) else None
        return assigned is None or not _uses(assigned, loop, foreign)

    def grown(self, loop: _Loop) -> set[str]:
        """Return the names of the lists to which a loop appends."""
        known = self._grown.get(loop)
        if known is None:
            known = self._grown[loop] = {name for n in walk(loop) if (name := _appended(n)) is not None}
        return known

    def _brought_in(self, loop: _Loop) -> set[str]:
        """Return the names that a loop gets from its list and its count, and what is computed from them."""
        known = self._foreign.get(loop)
        if known is None:
            turns = _whole(loop.iter)
            mine = _keyed(turns)
            outside = self._spread(
                _read_by(turns),
                lambda s: (
                    isinstance(s.node, ast.Assign)
                    and loop not in s.loops
                    and not (mine is not None and _of_other_keys(s.node.value, *mine))
                ),
            )
            foreign = outside | (_counters(loop) - _set_anew(loop))
            if turns is loop.iter:
                foreign |= _positions(loop)
            known = self._foreign[loop] = self._spread(
                foreign,
                lambda s: (
                    s.node is not loop
                    and loop in s.loops
                    and not (isinstance(s.node, ast.Assign) and _is_at_hand(s.node.value, loop))
                ),
            )
        return known

    def _spread(self, names: set[str], where: Callable[[_Step], bool]) -> set[str]:
        """Return names and those that some of the steps compute from them."""
        found = set(names)
        waiting = list(found)
        while waiting:
            for step in self._uses.get(waiting.pop(), ()):
                if not step.bound <= found and where(step):
                    waiting += step.bound - found
                    found |= step.bound
        return found

    def _is_decided(self, node: ast.AST, loop: _Loop, foreign: set[str]) -> bool:
        """Tell whether a condition between a loop and a node uses one of the names."""
        known = self._decided.setdefault(loop, {loop: False})
        between: list[ast.AST] = []
        while node not in known:
            between.append(node)
            node = self._parents[node]
        decided = known[node]
        for inner in reversed(between):
            if not decided and isinstance(inner, ast.If | ast.While):
                decided = _uses(inner.test, loop, foreign)
            known[inner] = decided
        return decided


def _appended(node: ast.AST) -> str | None:
    """Return the list that a call appends to."""
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "append"
        and isinstance(node.func.value, ast.Name)
    ):
        return node.func.value.id
    return None


def _names(node: ast.AST) -> set[str]:
    return {n.id for n in walk(node) if isinstance(n, ast.Name) and n.id not in _OWN_OBJECT}


def _bound(node: ast.AST) -> Iterator[str]:
    """Yield the names that the statements below a node assign."""
    for child in walk(node):
        if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Store):
            yield child.id


def _read_by(node: ast.AST) -> set[str]:
    """Return the names that an expression reads, not those of what it calls."""
    called = {id(n.func) for n in walk(node) if isinstance(n, ast.Call)}
    return {
        n.id
        for n in walk(node)
        if isinstance(n, ast.Name) and id(n) not in called and n.id not in _OWN_OBJECT
    }


def _whole(source: ast.expr) -> ast.expr:
    """Return the list whose elements a loop numbers from the front: of ``enumerate(turns)``, ``range(len(turns))``."""
    if isinstance(source, ast.Call) and len(source.args) == 1:
        called, first = getattr(source.func, "id", ""), source.args[0]
        if called == "enumerate":
            return first
        if called == "range" and isinstance(first, ast.Call) and getattr(first.func, "id", "") == "len":
            return first.args[0] if len(first.args) == 1 else source
    return source


def _keyed(node: ast.AST) -> tuple[str, str] | None:
    """Return the name and the key of ``payload["messages"]``, ``payload.get("messages")``, ``payload.messages``."""
    key: object = None
    owner: ast.AST | None = None
    if isinstance(node, ast.Subscript):
        owner, key = node.value, getattr(node.slice, "value", None)
    elif isinstance(node, ast.Attribute) and node.attr != "get":
        owner, key = node.value, node.attr
    elif isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "get" and node.args:
        owner, key = getattr(node.func, "value", None), getattr(node.args[0], "value", None)
    return (owner.id, key) if isinstance(owner, ast.Name) and isinstance(key, str) else None


def _of_other_keys(source: ast.AST, name: str, key: str) -> bool:
    """Tell whether an expression reads a mapping under other keys only: the model of a request, not its turns."""
    read = [found[1] for n in walk(source) if (found := _keyed(n)) is not None and found[0] == name]
    uses = sum(isinstance(n, ast.Name) and n.id == name for n in walk(source))
    return key not in read and len(read) == uses


def _numbers(loop: _Loop) -> set[str]:
    """Return the variables that number the turns of a loop from the front; a turn keeps such a number."""
    return _positions(loop) if _whole(loop.iter) is not loop.iter else set()


def _is_at_hand(node: ast.AST, loop: _Loop) -> bool:
    """Tell whether an expression is the turn of a loop by its number: ``turns[i]``."""
    return (
        isinstance(node, ast.Subscript)
        and isinstance(node.slice, ast.Name)
        and node.slice.id in _numbers(loop)
        and ast.unparse(node.value) == ast.unparse(_whole(loop.iter))
    )


def _uses(node: ast.AST, loop: _Loop, foreign: set[str]) -> bool:
    """Tell whether an expression uses a foreign name, or the number of a turn for more than to name the turn.

    The first is the first in every request (``i == 0``); which is the third from the end is another each time.
    """
    numbers = _numbers(loop)
    waiting = [node]
    for part in waiting:  # grows meanwhile
        if _is_at_hand(part, loop):
            continue
        if isinstance(part, ast.Name) and part.id in foreign:
            return True
        if isinstance(part, ast.Subscript) and not numbers.isdisjoint(_names(part.slice)):
            return True
        if isinstance(part, ast.Compare):
            sides = [part.left, *part.comparators]
            counted = [side for side in sides if not numbers.isdisjoint(_names(side))]
            if counted and not all(s in counted or isinstance(s, ast.Constant) for s in sides):
                return True
        waiting.extend(children(part))
    return False


def _by_place(node: ast.AST) -> bool:
    """Tell whether a part of a loop's iterable picks turns by where they stand, or counts from the end."""
    if isinstance(node, ast.Slice):
        # ``messages[1:]`` is the same turns in every request, and those that were added.
        return (
            node.upper is not None or node.step is not None or not isinstance(node.lower, ast.Constant | None)
        )
    return isinstance(node, ast.Name) and node.id == "reversed"


def _counters(loop: _Loop) -> set[str]:
    """Return the names that a loop counts with."""
    return {
        n.target.id for n in walk(loop) if isinstance(n, ast.AugAssign) and isinstance(n.target, ast.Name)
    }


def _set_anew(loop: _Loop) -> set[str]:
    """Return the names that every round of a loop sets anew before it counts with them."""
    return {
        name for statement in loop.body if isinstance(statement, ast.Assign) for name in _bound(statement)
    }


def _positions(loop: _Loop) -> set[str]:
    """Return the loop's variables that count, not those that hold a turn."""
    call = loop.iter
    if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in _POSITIONS):
        return set()
    target = loop.target
    if call.func.id == "enumerate" and isinstance(target, ast.Tuple) and target.elts:
        target = target.elts[0]
    return set(_bound(target))


@lru_cache(maxsize=8)  # a function is asked about one of its assignments after the other
def _read(func: ast.AST) -> _Function:
    return _Function(func)
