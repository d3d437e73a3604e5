"""Tools that are taken from a conversation while it goes on, told by the form.

They stand in front of everything; a loop that takes them away for its last round pays for all of it again::

    if last_round:
        tools = []
    else:
        tools = all_tools

    reply = create(messages=messages, tools=tools)
    messages.append(reply)
    create(messages=messages)                     the same conversation, without the tools in front of it

    self._call()                                  a function that sends the conversation with all its tools
    self._call(tools=[FINISH])                    and with one

    create(messages=self.messages, tools=[FINISH] if forced else self.tools)
    self._call(); self._call(forced=True)         a function that has the choice, and is asked for both
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from promptlint.frontends.python.readings.anew import alike_in_each_round
from promptlint.frontends.python.readings.shapes import last_name, names_of, parts_of
from promptlint.frontends.python.readings.turnlists import Body, Function, Seen, is_turns
from promptlint.frontends.python.syntax.nodes import GROWING, SHRINKING, walk
from promptlint.frontends.python.values.naming import SENT_AS, called_name

_TOOLS = re.compile(
    r"(^|_)(tools?|functions)(_?(defs?|definitions?|schemas?|specs?|list|param))?$", re.IGNORECASE
)
# ``client.beta.chat.completions.parse`` sends what ``client.chat.completions.create`` does.
_FORM = re.compile(r"\bbeta\.|(?<=\.)(?:create|parse|stream)$")
_ROUND = re.compile(
    r"last|final|max|limit|cycle|iteration|turn|round|step|attempt|budget|remaining|count|first|force",
    re.IGNORECASE,
)


def withdrawn(body: Body) -> Seen:
    """Yield where the rounds of a loop are sent without the tools that the others have."""
    for loop, inside in body.loops:
        rounds: frozenset[str] = frozenset()
        if isinstance(loop, ast.While):
            yield from _changed(loop, inside)
        elif isinstance(loop.iter, ast.Call) and (over := called_name(loop.iter)) in (
            "range",
            "enumerate",
            "count",
        ):
            rounds = names_of(loop.target)
            if over == "range":
                yield from _changed(loop, inside)
        for node in inside:
            if isinstance(node, ast.If):
                yield from _none_in_one(node, rounds)
            elif isinstance(node, ast.keyword | ast.Assign) and _none_at_times(node.value, rounds):
                name = node.arg if isinstance(node, ast.keyword) else last_name(node.targets[0])
                if _TOOLS.search(name or ""):
                    yield "tools-changed", node.value


def _changed(loop: ast.For | ast.AsyncFor | ast.While, inside: list[ast.AST]) -> Seen:
    """Yield where the tools of a conversation that goes on in a loop get more, or are others by what happened in it."""
    sent = {
        ast.unparse(keyword.value)
        for call in inside
        if isinstance(call, ast.Call) and any(k.arg in SENT_AS for k in call.keywords)
        for keyword in call.keywords
        if keyword.arg == "tools" and isinstance(keyword.value, ast.Name | ast.Attribute)
    }
    if not sent:
        return
    happened = {
        n.id
        for node in inside
        if isinstance(node, ast.Assign)
        for n in walk(*node.targets)
        if isinstance(n, ast.Name)
    }
    for node in inside:
        match node:
            case ast.Call(func=ast.Attribute(attr=attr, value=owner)) if attr in GROWING | SHRINKING:
                named = ast.unparse(owner)
                others = named in sent and not alike_in_each_round(loop, named, node)
            case ast.AugAssign():
                others = ast.unparse(node.target) in sent
            case ast.Assign(value=ast.IfExp(test=test)):
                others = ast.unparse(node.targets[0]) in sent and not happened.isdisjoint(names_of(test))
            case _:
                continue
        if others:
            yield "tools-changed", node.value if isinstance(node, ast.Assign) else node


def _by_round(test: ast.expr, rounds: frozenset[str]) -> bool:
    """Tell whether a condition asks in which round a loop is."""
    return _ROUND.search(ast.unparse(test)) is not None or not rounds.isdisjoint(names_of(test))


def _none_in_one(test: ast.If, rounds: frozenset[str]) -> Seen:
    none = [node for node in test.body if _sets_tools(node, empty=True)]
    if not (none and _by_round(test.test, rounds)):
        return
    some = {
        last_name(node.targets[0])
        for node in walk(*test.orelse)
        if isinstance(node, ast.Assign) and _sets_tools(node, empty=False)
    }
    for node in none:
        if isinstance(node, ast.Assign) and last_name(node.targets[0]) in some:
            yield "tools-changed", node


def _none_at_times(value: ast.AST, rounds: frozenset[str]) -> bool:
    """Tell whether an expression is tools in some rounds and none in others: ``TOOLS if i < limit else None``."""
    return (
        isinstance(value, ast.IfExp)
        and _is_nothing(value.body) is not _is_nothing(value.orelse)
        and _by_round(value.test, rounds)
    )


@dataclass(frozen=True, slots=True)
class _Sent:
    """A call that sends a conversation: to whom, the list of turns as text, whether more turns are added in it."""

    call: ast.Call
    to: str
    turns: str
    more: bool
    tools: bool


def withheld(function: Function) -> Seen:
    """Yield the calls that send a conversation on without the tools with which it was sent before."""
    nodes = walk(function)
    captured = dict(_captured(nodes))
    sent = [one for n in nodes if isinstance(n, ast.Call) and (one := _sent(n, captured)) is not None]
    sent.sort(key=lambda one: _place(one.call))
    for at, later in enumerate(sent):
        if not later.tools and any(
            (first.to, first.turns, first.tools) == (later.to, later.turns, True)
            and (later.more or _grows_between(first, later, nodes))
            and not _one_or_other(first.call, later.call, nodes)
            for first in sent[:at]
        ):
            none = next((k.value for k in later.call.keywords if k.arg == "tools"), later.call)
            yield "tools-changed", none


def reduced(functions: list[Function]) -> Seen:
    """Yield the tools with which one caller of a function that sends a conversation replaces those of the others."""
    senders = {function.name: function for function in functions if _takes_tools(function)}
    calls: dict[str, list[tuple[ast.Call, ast.expr | None]]] = {}
    for function in functions if senders else ():
        for node in walk(function):
            if (
                isinstance(node, ast.Call)
                and (name := last_name(node.func)) in senders
                and name != function.name
            ):
                tools = next((k.value for k in node.keywords if k.arg == "tools"), None)
                if all(k.arg is not None for k in node.keywords):
                    calls.setdefault(ast.unparse(node.func), []).append((node, _set_to(tools, function)))
    for made in calls.values():
        asks_again = "tools or " in ast.unparse(senders[last_name(made[0][0].func) or ""])
        all_of = {_conversation(call) for call, tools in made if tools is None or not _is_part(tools)}
        for call, tools in made:
            if tools is None or not _is_part(tools) or (asks_again and _is_nothing(tools)):
                continue
            if _conversation(call) in all_of:
                yield "tools-changed", next(k.value for k in call.keywords if k.arg == "tools")


def switched(functions: list[Function]) -> Seen:
    """Yield the tools of a function that sends one conversation with these or those, as its callers ask for."""
    for function in functions:
        if (choice := _choice(function)) is None:
            continue
        calls = [
            (caller, node, asks)
            for caller in functions
            if caller is not function
            for node in walk(caller)
            if isinstance(node, ast.Call)
            and last_name(node.func) == function.name
            and (asks := _asked(choice.test, node, function)) is not None
        ]
        these = [one for one in calls if one[2]]
        those = [one for one in calls if not one[2]]
        if any(_same_talk(a[:2], b[:2], choice.turns) for a in these for b in those):
            yield "tools-changed", choice.tools


@dataclass(frozen=True, slots=True)
class _Choice:
    """Tools of a request that are others by a condition, and the turns that are sent behind them."""

    tools: ast.expr
    test: ast.expr
    turns: str


def _choice(function: Function) -> _Choice | None:
    """Return the choice of tools in a function that sends turns which it does not make."""
    nodes = walk(function)
    args = {arg.arg for arg in (*function.args.args, *function.args.kwonlyargs)}
    for node in nodes:
        given = {k.arg: k.value for k in node.keywords} if isinstance(node, ast.Call) else {}
        turns = next((value for name, value in given.items() if name in SENT_AS), None)
        tools = given.get("tools")
        parts = list(parts_of(turns)) if turns is not None else []
        kept = next((p for p in parts if is_turns(p)), None)
        if tools is None or kept is None or (isinstance(kept, ast.Name) and kept.id not in args):
            continue
        test = tools.test if isinstance(tools, ast.IfExp) else _test_of(tools, nodes)
        if test is not None:
            return _Choice(tools, test, ast.unparse(kept))
    return None


def _test_of(tools: ast.expr, nodes: list[ast.AST]) -> ast.expr | None:
    """Return the condition by which a name is set to one of two things."""
    if not isinstance(tools, ast.Name):
        return None
    sets = [n for n in nodes if isinstance(n, ast.Assign) and last_name(n.targets[0]) == tools.id]
    if len(sets) == 1:
        value = sets[0].value
        return value.test if isinstance(value, ast.IfExp) else None
    if len(sets) != 2 or ast.unparse(sets[0].value) == ast.unparse(sets[1].value):
        return None
    return next((n.test for n in nodes if isinstance(n, ast.If) and sets[-1] in (*n.body, *n.orelse)), None)


def _asked(test: ast.expr, call: ast.Call, function: Function) -> bool | None:
    """Tell what a condition on a parameter is for one call, None where that is not known."""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=ast.Name() as inner):
            asked = _asked(inner, call, function)
            return None if asked is None else not asked
        case ast.Compare(left=ast.Name() as left, ops=[ast.Eq()], comparators=[ast.Constant(value=of)]):
            given = _given(left.id, call, function)
            return given.value == of if given is not None else None
        case ast.Name(id=name):
            given = _given(name, call, function)
            return bool(given.value) if given is not None else None
        case _:
            return None


def _given(name: str, call: ast.Call, function: Function) -> ast.Constant | None:
    """Return the constant that a parameter has in a call."""
    if any(k.arg is None for k in call.keywords) or any(isinstance(a, ast.Starred) for a in call.args):
        return None
    args = function.args
    named = [arg.arg for arg in args.args]
    values = dict(zip(reversed(named), reversed(args.defaults), strict=False))
    values |= {
        arg.arg: value
        for arg, value in zip(args.kwonlyargs, args.kw_defaults, strict=True)
        if value is not None
    }
    bound = 1 if named[:1] in (["self"], ["cls"]) and isinstance(call.func, ast.Attribute) else 0
    values |= dict(zip(named[bound:], call.args, strict=False))
    values |= {k.arg: k.value for k in call.keywords if k.arg is not None}
    value = values.get(name)
    return value if isinstance(value, ast.Constant) else None


def _same_talk(one: tuple[Function, ast.Call], other: tuple[Function, ast.Call], turns: str) -> bool:
    """Tell whether two calls of a function that sends turns are of one conversation."""
    (caller, first), (another, later) = sorted((one, other), key=lambda made: _place(made[1]))
    if ast.unparse(first.func) != ast.unparse(later.func) or _handed(first) != _handed(later):
        return False
    kept = turns.startswith("self.")
    talk = turns if kept else _handed(first)
    nodes = walk(caller)
    begun = [
        n
        for made_by in (caller, another)
        for n in walk(made_by)
        if isinstance(n, ast.Assign) and any(ast.unparse(t) == talk for t in n.targets)
    ]
    if caller is not another:
        return kept and not begun
    between = any(_end(first) < _place(n) < _place(later) for n in begun)
    return bool(talk) and not between and not _one_or_other(first, later, nodes)


def _handed(call: ast.Call) -> str:
    """Return how a call names the turns that it hands on, wherever they stand in it."""
    given = (*call.args, *(k.value for k in call.keywords))
    return next((ast.unparse(value) for value in given if is_turns(value)), "")


def _takes_tools(function: Function) -> bool:
    """Tell whether a function sends turns that it does not make, with tools that its caller may give."""
    args = function.args
    named = any(arg.arg == "tools" for arg in (*args.args, *args.kwonlyargs))
    if not (named or args.kwarg):
        return False
    for node in walk(function):
        given: dict[object, ast.expr] = {}
        if isinstance(node, ast.Call):
            given = {k.arg: k.value for k in node.keywords}
        elif isinstance(node, ast.Dict):  # of options, into which the caller's are put
            given = {
                getattr(key, "value", None): value for key, value in zip(node.keys, node.values, strict=True)
            }
        sent = next((value for name, value in given.items() if name in SENT_AS), None)
        if sent is not None and (args.kwarg or "tools" in given):
            return any(is_turns(part) or isinstance(part, ast.Name) for part in parts_of(sent))
    return False


def _set_to(tools: ast.expr | None, function: Function) -> ast.expr | None:
    """Return what a name was last set to in a function, or the expression itself."""
    if not isinstance(tools, ast.Name):
        return tools
    values = [
        n.value for n in walk(function) if isinstance(n, ast.Assign) and last_name(n.targets[0]) == tools.id
    ]
    return values[-1] if values else tools


def _is_part(tools: ast.expr) -> bool:
    """Tell whether an expression is no tools, one of them, or a choice of them."""
    if isinstance(tools, ast.ListComp):
        return any(g.ifs and _TOOLS.search(last_name(g.iter) or "") for g in tools.generators)
    if isinstance(tools, ast.List):
        return len(tools.elts) <= 1 and not any(isinstance(one, ast.Starred) for one in tools.elts)
    return False


def _conversation(call: ast.Call) -> str:
    """Return how a call names the turns that it hands on, "" where it hands on none."""
    turns = next((k.value for k in call.keywords if k.arg in SENT_AS), None)
    if turns is None and call.args and is_turns(call.args[0]):
        turns = call.args[0]
    return ast.unparse(turns) if turns is not None else ""


def _place(node: ast.expr | ast.stmt) -> tuple[int, int]:
    return node.lineno, node.col_offset


def _end(node: ast.expr | ast.stmt) -> tuple[int, int]:
    return node.end_lineno or 0, node.end_col_offset or 0


def _captured(nodes: list[ast.AST]) -> Iterator[tuple[str, str]]:
    """Yield the names that functions inside give to those around them: ``def call(turns=messages)``."""
    for node in nodes[1:]:
        if isinstance(node, Function) and node.args.defaults:
            for arg, default in zip(
                node.args.args[-len(node.args.defaults) :], node.args.defaults, strict=True
            ):
                if isinstance(default, ast.Name):
                    yield arg.arg, default.id


def _sent(call: ast.Call, captured: dict[str, str]) -> _Sent | None:
    given = {keyword.arg: keyword.value for keyword in call.keywords}
    if None in given:  # ``**options`` may have the tools
        return None
    turns = next((value for name, value in given.items() if name in SENT_AS), None)
    if turns is None and call.args and is_turns(call.args[0]) and isinstance(call.func, ast.Attribute):
        turns = call.args[0]
    parts = list(parts_of(turns)) if turns is not None else []
    if not parts or last_name(parts[0]) is None:
        return None
    name = ast.unparse(parts[0])
    tools = given.get("tools")
    return _Sent(
        call,
        _FORM.sub("", ast.unparse(call.func)),
        captured.get(name, name),
        len(parts) > 1,
        tools is not None and not _is_nothing(tools),
    )


def _grows_between(first: _Sent, later: _Sent, nodes: list[ast.AST]) -> bool:
    """Tell whether a conversation gets turns between two calls that send it."""
    for node in nodes:
        if isinstance(node, ast.AugAssign):
            grown: ast.expr | None = node.target
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            grown = node.func.value if node.func.attr in ("append", "extend") else None
        else:
            continue
        if (
            grown is not None
            and _end(first.call) < _end(node) <= _place(later.call)
            and ast.unparse(grown) == later.turns
        ):
            return True
    return False


def _one_or_other(first: ast.Call, later: ast.Call, nodes: list[ast.AST]) -> bool:
    """Tell whether of two calls only one is made: in the branches of a condition, or where the first one fails."""
    for node in nodes:
        if isinstance(node, ast.If):
            there: list[ast.AST] = [*node.orelse]
            leaves = isinstance(node.body[-1], ast.Return | ast.Raise | ast.Continue)
        elif isinstance(node, ast.Try):
            there, leaves = [*node.handlers], False
        else:
            continue
        here = walk(*node.body)
        if first in here and later not in here and (leaves or later in walk(*there)):
            return True
    return False


def _is_nothing(value: ast.expr) -> bool:
    """Tell whether an expression is no tools: ``[]``, ``None``."""
    empty = isinstance(value, ast.List | ast.Tuple) and not value.elts
    return empty or (isinstance(value, ast.Constant) and value.value is None)


def _sets_tools(node: ast.AST, *, empty: bool) -> bool:
    if not (isinstance(node, ast.Assign) and _TOOLS.search(last_name(node.targets[0]) or "")):
        return False
    return _is_nothing(node.value) is empty
