"""Functions that make a conversation shorter: turns dropped at the front, summarised, or emptied in place.

Trimmers are written in many ways, and what they return goes through callers that the evaluator does not follow.
Their form is telling enough. In each of these, ``messages`` is a parameter or local so named, or annotated as a
list of messages::

    for m in reversed(messages):                 a window is filled from the end,
        if used + count(m) > budget: break       until the budget is used up
        kept.insert(0, m)

    kept = [m for m in messages if m["role"] == "system"]     all but the first and the last turn is dropped
    kept.append(messages[-1])

    messages = messages[:i] + [summary] + messages[i + 1:]    a turn is replaced by something else
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from promptlint.frontends.python.history import HISTORY
from promptlint.frontends.python.modules import Module
from promptlint.frontends.python.nodes import walk, within
from promptlint.layout import Confidence, Layout, LayoutKind, Observation

_TELLS = re.compile(r"[\"']role[\"']|\.role\b|[Mm]essage")
_OF_MESSAGES = re.compile(
    r"(?:list|List|Sequence|Iterable|MutableSequence|deque|Deque)\[.*(?:Message|MessageParam|ChatTurn)\w*\b"
)
# Without one of these words a function has no conversation: most are done with at a glance.
_WORDS = re.compile(r"message|hist|turn|conv|transcript|dialog|msgs|chat|role", re.IGNORECASE)
_LIMIT = re.compile(
    r"token|budget|max|limit|window|remain|available|quota|size|length|\blen\b|count|keep", re.IGNORECASE
)
_SYSTEM = re.compile(r"system|developer", re.IGNORECASE)

Function = ast.FunctionDef | ast.AsyncFunctionDef


def trimming(module: Module) -> list[Layout]:
    """Return a layout without text that carries where a module shortens conversations; none where it does not."""
    if module.tree is None or not _TELLS.search(module.source.text):
        return []
    seen = [
        Observation(what, module.place(node), module.text(node), confidence=Confidence.MEDIUM)
        for function in walk(module.tree)
        if isinstance(function, Function) and _WORDS.search(module.lines(function))
        for what, node in _faults(function)
    ]
    if not seen:
        return []
    return [
        Layout(
            f"conversation in {module.path}", seen[0].place, (), LayoutKind.PROMPT, observations=tuple(seen)
        )
    ]


def _faults(function: Function) -> Iterator[tuple[str, ast.AST]]:
    nodes = list(within(function.body))
    lists = _conversations(function, nodes)
    if not lists and not any(isinstance(n, ast.Attribute) and HISTORY.search(n.attr) for n in nodes):
        return
    for node in nodes:
        if isinstance(node, ast.For | ast.AsyncFor) and _from_the_end(node.iter, lists):
            if (
                isinstance(node.target, ast.Name)
                and (stop := _stops_at_limit(node))
                and _keeps(node, node.target.id)
            ):
                yield "history-cut", stop
        elif isinstance(node, ast.While) and (stop := _counts_down(node, lists)) is not None:
            yield "history-cut", stop
        elif isinstance(node, ast.Assign | ast.Return) and _replaces_one(node.value, lists):
            yield "history-rewritten", node
    yield from _first_and_last(nodes, lists)


def _conversations(function: Function, nodes: list[ast.AST]) -> frozenset[str]:
    """Return the names in a function that hold the turns of a conversation."""
    args = function.args
    names = {
        arg.arg
        for arg in [*args.posonlyargs, *args.args, *args.kwonlyargs]
        if HISTORY.search(arg.arg)
        or (arg.annotation is not None and _OF_MESSAGES.search(ast.unparse(arg.annotation)))
    }
    names |= {name for node in nodes for name in _runs_over_turns(node)}
    for node in nodes:  # in the order of the text
        target = node.targets[0] if isinstance(node, ast.Assign) else None
        if isinstance(target, ast.Name) and isinstance(node, ast.Assign):
            source = _whole(node.value)
            if HISTORY.search(target.id) or (source is not None and source in names):
                names.add(target.id)
    return frozenset(names)


def _runs_over_turns(node: ast.AST) -> Iterator[str]:
    """Yield the lists whose elements are asked for their role."""
    loops = [(node.target, node.iter, walk(*node.body))] if isinstance(node, ast.For | ast.AsyncFor) else []
    if isinstance(node, ast.ListComp | ast.GeneratorExp):
        loops = [(g.target, g.iter, walk(node.elt, *g.ifs)) for g in node.generators]
    for target, source, inside in loops:
        if not (isinstance(target, ast.Name) and isinstance(source, ast.Name)):
            continue
        for child in inside:
            owner = child.value if isinstance(child, ast.Subscript | ast.Attribute) else None
            key = (
                child.attr
                if isinstance(child, ast.Attribute)
                else getattr(getattr(child, "slice", None), "value", "")
            )
            if key == "role" and isinstance(owner, ast.Name) and owner.id == target.id:
                yield source.id
                break


def _whole(node: ast.expr) -> str | None:
    """Return the list that an expression copies or cuts: ``messages[1:]``, ``list(messages)``, ``copy(messages)``."""
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
        return _name(node.value)
    if isinstance(node, ast.Call) and len(node.args) == 1 and not node.keywords:
        called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        return _name(node.args[0]) if called in ("list", "copy", "deepcopy", "reversed") else None
    return _name(node)


def _name(node: ast.AST) -> str | None:
    """Return the last word of a name or attribute: ``messages`` for ``self.messages``."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else None


def _is_list(node: ast.AST, lists: frozenset[str]) -> bool:
    name = _name(node)
    return name is not None and (
        name in lists or (isinstance(node, ast.Attribute) and HISTORY.search(name) is not None)
    )


def _from_the_end(node: ast.expr, lists: frozenset[str]) -> bool:
    """Tell whether a loop runs over a conversation backwards: ``reversed(messages)``, ``messages[::-1]``."""
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "reversed"
        and node.args
    ):
        inner = node.args[0]
        if (
            isinstance(inner, ast.Call)
            and isinstance(inner.func, ast.Name)
            and inner.func.id == "list"
            and inner.args
        ):
            inner = inner.args[0]
        return _is_list(inner, lists)
    if not (isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice)):
        return False
    step = node.slice.step
    return isinstance(step, ast.UnaryOp) and isinstance(step.op, ast.USub) and _is_list(node.value, lists)


def _stops_at_limit(loop: ast.For | ast.AsyncFor | ast.While) -> ast.AST | None:
    """Return the condition under which a loop is left because a budget is used up."""
    for node in walk(*loop.body):
        if (
            isinstance(node, ast.If)
            and any(isinstance(s, ast.Break | ast.Return) for s in (*node.body, *node.orelse))
            and any(map(_exceeds, walk(node.test)))
        ):
            return node.test
    return None


def _exceeds(node: ast.AST) -> bool:
    """Tell whether a comparison is one with a limit, or with nothing left: ``used > budget``, ``left == 0``."""
    if not isinstance(node, ast.Compare):
        return False
    if isinstance(node.ops[0], ast.Gt | ast.GtE | ast.Lt | ast.LtE):
        return _LIMIT.search(ast.unparse(node)) is not None
    other = node.comparators[0]
    return isinstance(node.ops[0], ast.Eq) and isinstance(other, ast.Constant) and other.value == 0


def _keeps(loop: ast.For | ast.AsyncFor | ast.While, turn: str) -> bool:
    """Tell whether a loop puts its turn into another list."""
    for node in walk(*loop.body):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr in ("append", "insert", "appendleft") and any(
                _name(a) == turn for a in node.args
            ):
                return True
        elif (
            isinstance(node, ast.BinOp)
            and isinstance(node.op, ast.Add)
            and isinstance(node.left, ast.List)
            and turn in map(_name, node.left.elts)
        ):
            return True
    return False


def _counts_down(loop: ast.While, lists: frozenset[str]) -> ast.AST | None:
    """Return where a loop that takes turns by a falling index stops: ``turn = messages[i]; …; i -= 1``."""
    falling = {
        n.target.id
        for n in walk(*loop.body)
        if isinstance(n, ast.AugAssign) and isinstance(n.op, ast.Sub) and isinstance(n.target, ast.Name)
    }
    for node in loop.body:
        if (
            isinstance(node, ast.Assign)
            and isinstance(node.value, ast.Subscript)
            and _is_list(node.value.value, lists)
            and _name(node.value.slice) in falling
            and isinstance(node.targets[0], ast.Name)
            and _keeps(loop, node.targets[0].id)
        ):
            return _stops_at_limit(loop)
    return None


def _replaces_one(node: ast.expr | None, lists: frozenset[str]) -> bool:
    """Tell whether an expression is a conversation with another turn at an index: ``m[:i] + [x] + m[i + 1:]``."""
    if not (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add)):
        return False
    left, right = node.left, node.right
    if not (
        isinstance(left, ast.BinOp) and isinstance(left.op, ast.Add) and isinstance(left.right, ast.List)
    ):
        return False
    return _part(left.left, lists, "upper") and _part(right, lists, "lower")


def _part(node: ast.expr, lists: frozenset[str], bound: str) -> bool:
    """Tell whether an expression is a conversation up to, or from, an index that is not fixed."""
    if not (
        isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice) and _is_list(node.value, lists)
    ):
        return False
    at = getattr(node.slice, bound)
    return at is not None and any(isinstance(n, ast.Name) for n in walk(at))


def _first_and_last(nodes: list[ast.AST], lists: frozenset[str]) -> Iterator[tuple[str, ast.AST]]:
    """Find a list of the system messages to which the last turn of the same conversation is appended."""
    firsts = {
        node.targets[0].id: node
        for node in nodes
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and isinstance(node.value, ast.ListComp)
        and _is_list(node.value.generators[0].iter, lists)
        and any(_only_system(test) for test in node.value.generators[0].ifs)
    }
    for node in nodes:
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in ("append", "extend")
            and (first := firsts.get(_name(node.func.value) or "")) is not None
            and node.args
            and _is_end(node.args[0], lists)
        ) or (
            isinstance(node, ast.BinOp)
            and isinstance(node.op, ast.Add)
            and (first := firsts.get(_name(node.left) or "")) is not None
            and _is_end(node.right, lists)
        ):
            yield "history-cut", first


def _only_system(test: ast.expr) -> bool:
    return (
        isinstance(test, ast.Compare)
        and isinstance(test.ops[0], ast.Eq)
        and bool(_SYSTEM.search(ast.unparse(test)))
    )


def _is_end(node: ast.expr, lists: frozenset[str]) -> bool:
    """Tell whether an expression is the last turn of a conversation, alone or in a list: ``messages[-1]``."""
    if isinstance(node, ast.List) and len(node.elts) == 1:
        node = node.elts[0]
    if not (isinstance(node, ast.Subscript) and _is_list(node.value, lists)):
        return False
    at = node.slice
    return (
        isinstance(at, ast.UnaryOp) and isinstance(at.op, ast.USub) and isinstance(at.operand, ast.Constant)
    )
