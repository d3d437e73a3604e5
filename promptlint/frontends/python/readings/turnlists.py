"""What the forms in which programs shorten conversations are made of: functions, and the lists of turns in them.

All of them look at a function as `Body` has read it, and name things by the words here.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from types import MappingProxyType
from typing import TypeVar

from promptlint.frontends.python.readings.rarely import reckoned
from promptlint.frontends.python.readings.shapes import (
    added_to,
    derived_from,
    is_message,
    keyed_name,
    last_name,
    names_of,
    order,
)
from promptlint.frontends.python.syntax.nodes import parameters, walk, within
from promptlint.frontends.python.values.naming import HISTORY, OTHER_HISTORY, called_name, is_about_marks

_OF_MESSAGES = re.compile(
    r"(?:list|List|Sequence|Iterable|MutableSequence|deque|Deque)\[.*(?:Message|MessageParam|ChatTurn)\w*\b"
)

# Names of lists of turns. What is counted, identified or printed of them is another thing.
_TURNS = re.compile(
    r"(^|_)(messages|msgs|turns|rounds|history|hist|conv(ersation)?|dialogue|posts|exchanges|log|topics|episodes)(_|$)",
    re.IGNORECASE,
)
_OF_TURNS = re.compile(r"messages|msgs|turns|dialog|conversation|transcript|convo", re.IGNORECASE)
_ABOUT = re.compile(
    r"_(id|ids|key|count|counts|length|len|size|text|str|name|path|file|dir|type|images?|level|format|limit|tokens)$",
    re.IGNORECASE,
)
# What an agent has done so far is shown like turns.
_DONE_SO_FAR = re.compile(
    r"(^|_)(steps|trials|attempts|trajectory|events|observations|interactions|episodes|experiments|actions)$"
)
# In a class or file named after a conversation, what it keeps may be called by a plainer name.
OF_TALK = re.compile(r"histor|conversation|dialog|chat|memory|transcript|scratchpad|messages", re.IGNORECASE)
_PLAIN = re.compile(
    r"(^|_)(entries|items|records|buffer|log|lines|memories|past|utterances|events|pairs|thread|window|recent|runs)$"
)
_NUMBER = re.compile(r"^(max|min|num|n|last)_")
_NO_TURNS = re.compile(r"^(content|text|parts|blocks)$|tool_calls|^system|examples")

# One turn, or text, that stands for several, and what makes it.
SUMMARY = re.compile(
    r"summar|compress|compact|condens|placeholder|omi(t|ss)|elision|elided|truncat|prun|(^|_)note(_|$)",
    re.IGNORECASE,
)


_Node = TypeVar("_Node", bound=ast.AST)
Function = ast.FunctionDef | ast.AsyncFunctionDef
Loop = ast.For | ast.AsyncFor | ast.While
_LOOPS = frozenset((ast.For, ast.AsyncFor, ast.While))
_DONE = frozenset((ast.For, ast.AsyncFor, ast.While, ast.If, ast.With, ast.AsyncWith, ast.Try))
_STEPS = frozenset((ast.Assign, ast.Return, ast.Call))
Seen = Iterator[tuple[str, ast.AST]]
"""What a form finds: the observation's name, and where."""


@dataclass(frozen=True, slots=True)
class Body:
    """A function, read once for all forms.

    ``owner`` is the name of its class, or of its file. ``steps`` are its assignments, returns and calls in the
    order of the text, functions and classes inside left out, annotated assignments among them without what they
    are annotated with; ``loops`` are those in it, each with all that stands in its body. Most nodes are nothing
    that a form looks at, so that each asks for those of its kinds (`of`).
    ``numbers`` are the constants of the file, ``marking`` what it calls cache marks and the
    functions that set them, ``kept`` the attributes that hold turns by what the file does with them.
    """

    owner: str
    function: Function
    steps: list[ast.Assign | ast.Return | ast.Call]
    lists: frozenset[str]
    loops: list[tuple[Loop, list[ast.AST]]]
    kinds: dict[type[ast.AST], list[ast.AST]]
    numbers: Mapping[str, int]
    marking: frozenset[str] = frozenset()
    kept: frozenset[str] = frozenset()

    def is_about_marks(self, node: ast.AST) -> bool:
        """Tell whether something sets cache marks or takes them off, itself or by what its file has for that."""
        return is_about_marks(node) or (
            bool(self.marking) and any(last_name(n) in self.marking for n in walk(node))
        )

    def holds_turns(self, node: ast.AST) -> bool:
        """Tell whether an expression is a list of turns, by what is done with it or by its name."""
        return is_list(node, self.lists) or is_turns(node)

    def keeps(self, node: ast.AST) -> bool:
        """Tell whether an expression is a list of turns that goes on after the function, and no log of something else."""
        name = last_name(node)
        if name is None or not is_list(node, self.lists):
            return False
        args = self.function.args
        given = isinstance(node, ast.Name) and any(name == a.arg for a in (*args.args, *args.kwonlyargs))
        by_use = name in self.kept or (name in self.lists and HISTORY.search(name) is None)
        return given or by_use or _OF_TURNS.search(name) is not None

    def of(self, kind: type[_Node]) -> list[_Node]:
        """Return the nodes of a kind, in the order of the text."""
        return self.kinds.get(kind, [])  # type: ignore[return-value]

    def number(self, node: ast.expr | None) -> int | None:
        """Return a number that is written, or the value of a constant."""
        value = self.numbers.get(node.id) if isinstance(node, ast.Name) else getattr(node, "value", None)
        return value if isinstance(value, int) else None


def numbers(tree: ast.Module) -> dict[str, int]:
    """Return the constants of a file that are numbers, or reckoned from such: ``KEPT = LIMIT // 2``."""
    set_to = {
        node.targets[0].id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }
    out: dict[str, int] = {}
    for name, value in set_to.items():
        if isinstance(value, ast.Constant) and isinstance(value.value, int):
            out[name] = value.value
        elif isinstance(value, ast.BinOp) and (number := reckoned(value, set_to)) is not None:
            out[name] = int(number)
    return out


def script_of(tree: ast.Module) -> ast.FunctionDef:
    """Return what a file does when it is run, as a function of its own."""
    nothing = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
    body = [
        n
        for n in tree.body
        if n.__class__ in _DONE or (isinstance(n, ast.Assign) and isinstance(n.value, ast.Call))
    ]
    return ast.FunctionDef(name="", args=nothing, body=body, decorator_list=[], lineno=1, end_lineno=1)


def read(owner: str, function: Function, known: Mapping[str, int] = MappingProxyType({})) -> Body:
    """Read a function."""
    kinds: defaultdict[type[ast.AST], list[ast.AST]] = defaultdict(list)
    steps: list[ast.Assign | ast.Return | ast.Call] = []
    loops: list[tuple[Loop, list[ast.AST]]] = []
    for node in within(function.body):
        if isinstance(node, ast.AnnAssign) and node.value is not None:
            node = ast.copy_location(ast.Assign([node.target], node.value), node)
        kind = node.__class__
        kinds[kind].append(node)
        if kind in _STEPS:
            steps.append(node)  # type: ignore[arg-type]
        elif kind in _LOOPS:
            loops.append((node, walk(*node.body)))  # type: ignore[attr-defined, arg-type]
    return knowing(Body(owner, function, steps, frozenset(), loops, dict(kinds), known), frozenset())


def knowing(body: Body, kept: frozenset[str], marking: frozenset[str] = frozenset()) -> Body:
    """Return a function as it is read by who knows which attributes of the file hold turns, and what sets marks."""
    return replace(body, lists=_conversations(body, kept), marking=marking, kept=kept)


@lru_cache(maxsize=4096)
def is_summary_name(name: str) -> bool:
    """Tell whether a name is one of a turn or text that stands for several, or of what makes it."""
    return SUMMARY.search(name) is not None


def is_turns(node: ast.AST) -> bool:
    """Tell whether a name, an attribute or a key is called like a list of turns."""
    name = keyed_name(node)
    return name is not None and is_turns_name(name)


@lru_cache(maxsize=4096)
def is_turns_name(name: str) -> bool:
    """Tell whether a name is one of a list of turns."""
    if _ABOUT.search(name) or OTHER_HISTORY.search(name):
        return False
    return _TURNS.search(name) is not None or HISTORY.search(name) is not None


def _conversations(body: Body, kept: frozenset[str]) -> frozenset[str]:
    """Return the names in a function that hold the turns of a conversation."""
    names = set(kept) | {
        arg.arg
        for arg in parameters(body.function)
        if HISTORY.search(arg.arg) or says_messages(arg.annotation)
    }
    names |= set(_run_over(body))
    if OF_TALK.search(body.owner):
        names |= {
            n.attr
            for n in body.of(ast.Attribute)
            if _PLAIN.search(n.attr) and last_name(n.value) == "self" and not _NUMBER.search(n.attr)
        }
    for _ in range(2):  # what is made of turns may be gathered, and made into something again
        names = _made_from(body, names)
        names |= _gathered(body, names)
    return frozenset(names | _groups(body, names))


def _made_from(body: Body, turns: set[str]) -> set[str]:
    """Return the names that are set to turns, to a part or copy of them, or are called like them."""
    names = set(turns)
    for node in body.of(ast.Assign):  # in the order of the text
        target = node.targets[0]
        if isinstance(target, ast.Name):
            source = _whole(node.value)
            if HISTORY.search(target.id) or source in names or _is_list_of_messages(node.value):
                names.add(target.id)
    return names


def _gathered(body: Body, turns: set[str]) -> set[str]:
    """Return the lists that loops over turns fill with them: as they are, in pairs, or made anew.

    ::

        for i in range(0, len(messages), 2): runs.append((messages[i], messages[i + 1]))
        for row in messages: out.append({"role": row.role, "content": row.text})
    """
    out: set[str] = set()
    for loop, inside in body.loops:
        if isinstance(loop, ast.While) or not is_list(
            whole := (how := order(loop.iter)).whole, frozenset(turns)
        ):
            continue
        target = loop.target.elts[-1] if isinstance(loop.target, ast.Tuple) else loop.target
        ones = set() if how.places else set(names_of(target))
        for node in inside:
            if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
                to = node.targets[0] if isinstance(node, ast.Assign) else node.target
                if isinstance(to, ast.Name) and (_is_element(node.value, whole) or is_message(node.value)):
                    ones.add(to.id)
        for to, value in added_to(inside):
            given = value.elts if isinstance(value, ast.Tuple | ast.List) else [value]
            if isinstance(to, ast.Name) and all(
                last_name(one) in ones or _is_element(one, whole) or is_message(one) for one in given
            ):
                out.add(to.id)
    return out


def _is_element(node: ast.expr, whole: ast.expr) -> bool:
    """Tell whether an expression is one element of a list, by its place."""
    return (
        isinstance(node, ast.Subscript)
        and not isinstance(node.slice, ast.Slice)
        and ast.unparse(node.value) == ast.unparse(whole)
    )


def _is_list_of_messages(node: ast.expr) -> bool:
    """Tell whether an expression makes a message of each element of something: ``[AIMessage(row.text) for row in rows]``."""
    if not isinstance(node, ast.ListComp):
        return False
    sides = [node.elt.body, node.elt.orelse] if isinstance(node.elt, ast.IfExp) else [node.elt]
    return all(map(is_message, sides))


def _groups(body: Body, turns: set[str]) -> set[str]:
    """Return the names of lists of turns that belong together, made of all turns and laid flat again.

    ``units = grouped(turns)`` and ``[m for unit in units for m in unit]``.
    """
    flat = {
        made.generators[0].iter.id
        for made in body.of(ast.ListComp)
        if len(made.generators) == 2
        and isinstance(made.generators[0].iter, ast.Name)
        and last_name(made.generators[1].iter) == last_name(made.generators[0].target)
    }
    if not flat:
        return set()
    out: set[str] = set()
    for node in reversed(body.of(ast.Assign)):  # from where they are laid flat to where they are made
        target, value = node.targets[0], node.value
        if isinstance(target, ast.Name) and target.id in flat:
            if (source := _whole(value)) is not None:
                flat.add(source)
            given = value.value if isinstance(value, ast.Await) else value
            if isinstance(given, ast.Call) and any(last_name(a) in turns or is_turns(a) for a in given.args):
                out |= flat
    return out


def kept_turns(body: Body) -> frozenset[str]:
    """Return the attributes that hold turns, by what a function does with them.

    It adds messages to them, or pairs of a role and a text; or it makes a message, or a part of a text, of each element.
    """
    added = {
        owner.attr
        for node in body.of(ast.Call)
        if isinstance(node.func, ast.Attribute)
        and node.func.attr == "append"
        and isinstance(owner := node.func.value, ast.Attribute)
        and len(node.args) == 1
        and (is_message(node.args[0]) or _is_pair(node.args[0]))
    }
    for loop, inside in body.loops:
        if isinstance(loop, ast.While):
            continue
        source = order(loop.iter).whole
        if isinstance(source, ast.Attribute) and (
            _made_of(loop.target, inside) or (HISTORY.search(source.attr) and _told(loop.target, inside))
        ):
            added.add(source.attr)
    for made in body.of(ast.ListComp):
        one = made.generators[0]
        if isinstance(one.iter, ast.Attribute) and _made_of(one.target, [made.elt]):
            added.add(one.iter.attr)
    return frozenset(added)


def _made_of(element: ast.expr, inside: list[ast.AST]) -> bool:
    """Tell whether a message is made of what a loop runs over."""
    names = names_of(element)
    return any(is_message(node) and not names.isdisjoint(names_of(node)) for node in inside)


def _told(element: ast.expr, inside: list[ast.AST]) -> bool:
    """Tell whether a text with what a loop runs over in it is added to another."""
    names = names_of(element)
    return any(
        isinstance(text, ast.JoinedStr) and not names.isdisjoint(names_of(text))
        for _, text in added_to(inside)
    )


def _is_pair(node: ast.expr) -> bool:
    """Tell whether an expression is who speaks, and what: ``("user", text)``, ``(role, text)``."""
    if not isinstance(node, ast.Tuple) or len(node.elts) != 2:
        return False
    who = node.elts[0]
    return last_name(who) in ("role", "speaker") or getattr(who, "value", None) in (
        "user",
        "assistant",
        "human",
        "ai",
    )


def says_messages(annotation: ast.expr | None) -> bool:
    """Tell whether something is annotated as a list of messages: ``list[ChatMessage]``."""
    if annotation is None or isinstance(annotation, (ast.Name, ast.Attribute)):
        return False
    return _OF_MESSAGES.search(ast.unparse(annotation)) is not None


def _is_done(node: ast.expr, name: str) -> bool:
    """Tell whether a list is called like what was done so far; the steps of a plan are still to be taken."""
    owner = last_name(node.value) if isinstance(node, ast.Attribute) else None
    return _DONE_SO_FAR.search(name) is not None and "plan" not in (owner or "").lower()


def _run_over(body: Body) -> Iterator[str]:
    """Yield the lists whose elements are asked for their role, or have messages made of them."""
    for loop, inside in body.loops:
        if isinstance(loop, ast.While) or (name := list_name(whole := order(loop.iter).whole)) is None:
            continue
        if (
            asks_for_role(loop.target, inside)
            or _is_done(whole, name)
            or _makes_messages(names_of(loop.target), inside)
        ):
            yield name
    comprehensions: list[ast.ListComp | ast.GeneratorExp] = [
        *body.of(ast.ListComp),
        *body.of(ast.GeneratorExp),
    ]
    for made in comprehensions:
        for one in made.generators:
            if (name := list_name(order(one.iter).whole)) is not None and (
                asks_for_role(one.target, walk(made.elt, *one.ifs))
                or _made_of(one.target, walk(made.elt))
                or _or_message(made.elt, one.target)
            ):
                yield name


def _or_message(made: ast.expr, element: ast.expr) -> bool:
    """Tell whether an element is taken over, or has a message in its place: ``m if i in kept else {"role": …}``."""
    if not isinstance(made, ast.IfExp):
        return False
    sides = made.body, made.orelse
    return any(map(is_message, sides)) and any(last_name(side) in names_of(element) for side in sides)


def _makes_messages(element: frozenset[str], inside: list[ast.AST]) -> bool:
    """Tell whether a loop makes messages of its element, or of what it computes from that."""
    made = [node for node in inside if isinstance(node, ast.Call | ast.Dict) and is_message(node)]
    derived = derived_from(element, inside) if made else frozenset()
    return any(not derived.isdisjoint(names_of(node)) for node in made)


def list_name(node: ast.AST) -> str | None:
    """Return what a list of turns may be called: its last name, or the call that gives it (``node.path()``)."""
    if isinstance(node, ast.Call):
        given = isinstance(node.func, ast.Attribute) and not node.args
        return ast.unparse(node) if given else None
    name = last_name(node)
    return None if name is None or _NO_TURNS.search(name) else name


def asks_for_role(turn: ast.expr, inside: list[ast.AST]) -> bool:
    """Tell whether something is done with the role of what a loop runs over: ``m.role``, ``m["role"]``."""
    if not isinstance(turn, ast.Name):
        return False
    for node in inside:
        if isinstance(node, ast.Attribute):
            key: object = node.attr
        elif isinstance(node, ast.Subscript):
            key = getattr(node.slice, "value", "")
        else:
            continue
        if key == "role" and isinstance(node.value, ast.Name) and node.value.id == turn.id:
            return True
    return False


def _whole(node: ast.expr) -> str | None:
    """Return the list that an expression copies or cuts: ``messages[1:]``, ``list(messages)``, ``copy(messages)``."""
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
        return last_name(node.value)
    if isinstance(node, ast.Call) and len(node.args) == 1 and not node.keywords:
        return (
            last_name(node.args[0]) if called_name(node) in ("list", "copy", "deepcopy", "reversed") else None
        )
    return last_name(node)


def is_list(node: ast.AST, lists: frozenset[str]) -> bool:
    """Tell whether an expression is one of the lists of turns, or an attribute or key named like one."""
    name = keyed_name(node)
    return name is not None and (
        name in lists or (not isinstance(node, ast.Name) and HISTORY.search(name) is not None)
    )
