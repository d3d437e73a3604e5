"""What the forms in which programs shorten conversations are made of: lists of turns, limits, windows.

All of them look at a function as `Body` has read it, and name things by the words here.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from promptlint.frontends.python.history import HISTORY
from promptlint.frontends.python.naming import called_name
from promptlint.frontends.python.nodes import walk, within

_OF_MESSAGES = re.compile(
    r"(?:list|List|Sequence|Iterable|MutableSequence|deque|Deque)\[.*(?:Message|MessageParam|ChatTurn)\w*\b"
)
_LIMIT = re.compile(
    r"token|budget|max|limit|window|remain|available|quota|size|length|\blen\b|count|keep", re.IGNORECASE
)

# Names of lists of turns. What is counted, identified or printed of them is another thing.
_TURNS = re.compile(
    r"(^|_)(messages|msgs|turns|rounds|history|hist|conv(ersation)?|dialogue|posts|exchanges|log|topics|episodes)(_|$)",
    re.IGNORECASE,
)
_ABOUT = re.compile(
    r"_(id|ids|key|count|counts|length|len|size|text|str|name|path|file|dir|type|images?|level|format|limit|tokens)$",
    re.IGNORECASE,
)
# One turn, or text, that stands for several, and what makes it.
SUMMARY = re.compile(
    r"summar|compress|compact|condens|placeholder|omi(t|ss)|truncat|prun|(^|_)note(_|$)", re.IGNORECASE
)

Function = ast.FunctionDef | ast.AsyncFunctionDef
LOOPS = ast.For | ast.AsyncFor | ast.While
Loop = ast.For | ast.AsyncFor | ast.While
Seen = Iterator[tuple[str, ast.AST]]
"""What a form finds: the observation's name, and where."""


@dataclass(frozen=True, slots=True)
class Body:
    """A function, read once for all forms.

    ``owner`` is the name of its class, or of its file. ``nodes`` stand in the order of the text, functions and
    classes inside left out; ``loops`` are those among them, each with all that stands in its body.
    """

    owner: str
    function: Function
    nodes: list[ast.AST]
    lists: frozenset[str]
    loops: list[tuple[Loop, list[ast.AST]]]


def read(owner: str, function: Function) -> Body:
    """Read a function."""
    nodes = list(within(function.body))
    loops = [(node, walk(*node.body)) for node in nodes if isinstance(node, LOOPS)]
    return Body(owner, function, nodes, conversations(function, nodes), loops)


def is_turns(node: ast.AST) -> bool:
    """Tell whether a name or attribute is called like a list of turns."""
    name = last_name(node)
    return name is not None and is_turns_name(name)


def is_turns_name(name: str) -> bool:
    """Tell whether a name is one of a list of turns."""
    if _ABOUT.search(name):
        return False
    return _TURNS.search(name) is not None or HISTORY.search(name) is not None


def conversations(function: Function, nodes: list[ast.AST]) -> frozenset[str]:
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
        return last_name(node.value)
    if isinstance(node, ast.Call) and len(node.args) == 1 and not node.keywords:
        return (
            last_name(node.args[0]) if called_name(node) in ("list", "copy", "deepcopy", "reversed") else None
        )
    return last_name(node)


def last_name(node: ast.AST) -> str | None:
    """Return the last word of a name or attribute: ``messages`` for ``self.messages``."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else None


def is_list(node: ast.AST, lists: frozenset[str]) -> bool:
    """Tell whether an expression is one of the lists of turns, or an attribute named like one."""
    name = last_name(node)
    return name is not None and (
        name in lists or (isinstance(node, ast.Attribute) and HISTORY.search(name) is not None)
    )


def _given_to(name: str, node: ast.expr) -> ast.expr | None:
    """Return what a call of a plain name is given first: ``messages`` for ``list(messages)``."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name and node.args:
        return node.args[0]
    return None


def from_the_end(node: ast.expr, lists: frozenset[str]) -> bool:
    """Tell whether a loop runs over a conversation backwards: ``reversed(messages)``, ``messages[::-1]``."""
    if (turned := _given_to("reversed", node)) is not None:
        whole = _given_to("list", turned) or turned
        if isinstance(whole, ast.Subscript) and isinstance(whole.slice, ast.Slice):
            whole = whole.value  # ``reversed(messages[1:])``: the first always stays
        return is_list(whole, lists)
    if not (isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice)):
        return False
    step = node.slice.step
    return isinstance(step, ast.UnaryOp) and isinstance(step.op, ast.USub) and is_list(node.value, lists)


def exceeds(node: ast.AST) -> bool:
    """Tell whether a comparison is one with a limit, or with nothing left: ``used > budget``, ``left == 0``."""
    if not isinstance(node, ast.Compare):
        return False
    if isinstance(node.ops[0], ast.Gt | ast.GtE | ast.Lt | ast.LtE):
        return _LIMIT.search(ast.unparse(node)) is not None
    other = node.comparators[0]
    return isinstance(node.ops[0], ast.Eq) and isinstance(other, ast.Constant) and other.value == 0


def keeps(inside: list[ast.AST], turn: str) -> bool:
    """Tell whether a loop, by what stands in it, puts its turn into another list."""
    for node in inside:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr in ("append", "insert", "appendleft") and any(
                last_name(a) == turn for a in node.args
            ):
                return True
        elif (
            isinstance(node, ast.BinOp)
            and isinstance(node.op, ast.Add)
            and isinstance(node.left, ast.List)
            and turn in map(last_name, node.left.elts)
        ):
            return True
    return False


def parts_of(node: ast.expr) -> Iterator[ast.expr]:
    """Yield what a list is put together of: ``a`` and ``b`` of ``[*a, b]`` and of ``a + b``."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        yield from parts_of(node.left)
        yield from parts_of(node.right)
    elif isinstance(node, ast.List | ast.Tuple):
        for element in node.elts:
            yield from parts_of(element.value if isinstance(element, ast.Starred) else element)
    elif isinstance(node, ast.IfExp):
        yield from parts_of(node.body)
    elif isinstance(node, ast.Call) and last_name(node.func) in ("list", "tuple") and node.args:
        yield from parts_of(node.args[0])
    else:
        yield node
