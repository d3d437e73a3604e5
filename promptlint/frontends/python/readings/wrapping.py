"""Questions that are sent with more than is kept of them: the next request has another turn at that place.

::

    messages = [SYSTEM, *store.turns(chat), {"role": "user", "content": wrapped(question)}]      with its context …
    reply = create(messages=messages)
    store.add(chat, "user", question)                                                     … and kept without

The list may be put together step by step, or by another function of the file.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from promptlint.frontends.python.readings.shapes import given_by_name, parts_of
from promptlint.frontends.python.readings.turnlists import (
    Body,
    Seen,
    is_list,
    is_turns,
    is_turns_name,
)
from promptlint.frontends.python.syntax.nodes import walk
from promptlint.frontends.python.values.naming import SENDS, SENT_AS, called_name

_USER = frozenset({"user", "human"})
SAVES = re.compile(r"^a?(add|append|save|store|insert|record|remember|persist|push|write|put)(_|$)")
_DEEP = 4  # texts within texts
_SAME = frozenset({"str", "strip", "lstrip", "rstrip", "lower"})  # of a question: the question again


@dataclass(frozen=True, slots=True)
class _Sent:
    """What a list that is sent is made of, in the words of the function that makes it."""

    parts: list[ast.expr]
    maker: Body
    given: Mapping[str, ast.expr]  # what the maker's arguments are where it is called

    def past(self) -> Iterator[str]:
        """Yield what gives the turns so far, as the function that sends them writes it."""
        for part in self.parts[:-1]:
            whole = part.value if isinstance(part, ast.Subscript) else part
            whole = self.given.get(getattr(whole, "id", ""), whole)
            if isinstance(whole, ast.ListComp):
                whole = whole.generators[0].iter
            called = isinstance(whole, ast.Call) and any(map(is_turns_name, _words(whole.func)))
            if called or is_list(whole, self.maker.lists) or is_turns(whole):
                yield ast.unparse(whole)


def wrapping(body: Body, others: Mapping[str, Body]) -> Seen:
    """Yield the text of the user's turn in what a function sends, where a part of it alone is kept."""
    for call in body.of(ast.Call):
        sent = _sent(call, body, others)
        text = user_text(sent.parts[-1]) if sent is not None and len(sent.parts) > 1 else None
        lists = set(sent.past()) if sent is not None and text is not None else set()
        if sent is None or text is None or not lists:
            continue
        kept = list(_kept_texts(body, lists))
        if kept and not any(_is(sent, text, one) for one in kept):
            within = _says_besides(sent, text)
            if any(isinstance(one, ast.Name | ast.Attribute) and ast.unparse(one) in within for one in kept):
                yield "history-rewritten", text


def user_text(node: ast.AST) -> ast.expr | None:
    """Return what a message of the user says: ``{"role": "user", "content": x}``, ``HumanMessage(content=x)``."""
    given = given_by_name(node)
    if isinstance(node, ast.Call):
        name = called_name(node)
        if name in ("HumanMessage", "UserMessage"):
            given.setdefault("role", ast.Constant("user"))
            if node.args:
                given.setdefault("content", node.args[0])
        elif SAVES.search(name) and len(node.args) > 1:
            given = {"role": node.args[-2], "content": node.args[-1]}
        elif name in ("add_user_message", "add_user") and len(node.args) == 1:
            return node.args[0]
    role = given.get("role")
    return given.get("content") if isinstance(role, ast.Constant) and role.value in _USER else None


def made_in(body: Body) -> dict[str, ast.expr]:
    """Return what the names of a function are assigned."""
    return {
        node.targets[0].id: node.value
        for node in body.of(ast.Assign)
        if isinstance(node.targets[0], ast.Name)
    }


def says(node: ast.expr, made: Mapping[str, ast.expr]) -> set[str]:
    """Return the names that a text is made of, those that stand for a text of this function looked into once."""
    found: set[str] = set()
    looked: set[str] = set()
    level = [node]
    for _ in range(_DEEP):
        parts = [part for part in walk(*level) if isinstance(part, ast.Name | ast.Attribute)]
        found |= {part.id if isinstance(part, ast.Name) else ast.unparse(part) for part in parts}
        texts = {part.id for part in parts if isinstance(part, ast.Name)} & made.keys() - looked
        looked |= texts
        level = [made[name] for name in texts]
    return found


def _words(node: ast.expr) -> Iterator[str]:
    """Yield the names of what is called: ``store``, ``turns`` and ``all`` of ``store.turns.all``."""
    while isinstance(node, ast.Attribute):
        yield from (node.attr, node.attr.rpartition("_")[2])
        node = node.value
    if isinstance(node, ast.Name):
        yield from (node.id, node.id.rpartition("_")[2])


def _sent(call: ast.Call, body: Body, others: Mapping[str, Body]) -> _Sent | None:
    """Return what a call sends as a conversation; None where it sends none."""
    value = next((k.value for k in call.keywords if k.arg in SENT_AS), None)
    if value is None and call.args and SENDS.search(called_name(call)):
        value = call.args[0]
    if value is None:
        return None
    if isinstance(value, ast.Name):
        value = _whole(value, call, body)
    maker = others.get(called_name(value)) if isinstance(value, ast.Call) else None
    if maker is None or maker is body or not isinstance(value, ast.Call):
        return _Sent(list(parts_of(value)), body, {})
    arguments = [a.arg for a in maker.function.args.args if a.arg not in ("self", "cls")]
    given = dict(zip(arguments, value.args, strict=False)) | {k.arg: k.value for k in value.keywords if k.arg}
    back = [node for node in maker.of(ast.Return) if node.value is not None]
    if len(back) != 1 or back[0].value is None:
        return None
    return _Sent(list(parts_of(_whole(back[0].value, back[0], maker))), maker, given)


def _whole(value: ast.expr, at: ast.AST, body: Body) -> ast.expr:
    """Return a list with all that was added to it in front of a statement, where it was made for that alone.

    What a loop goes on with is a conversation itself, and keeps what it was sent with.
    """
    if not isinstance(value, ast.Name):
        return value
    begun: ast.Assign | None = None
    parts: list[ast.expr] = []
    steps: list[ast.Assign | ast.AugAssign | ast.Call] = [
        *body.of(ast.Assign),
        *body.of(ast.AugAssign),
        *body.of(ast.Call),
    ]
    for node in sorted(steps, key=lambda one: (one.lineno, one.col_offset)):
        if node.lineno >= at.lineno:  # type: ignore[attr-defined]
            break
        if isinstance(node, ast.Call):
            adds = isinstance(node.func, ast.Attribute) and node.func.attr in ("append", "extend")
            if adds and node.args and ast.unparse(node.func.value) == value.id:  # type: ignore[attr-defined]
                of_loop = next((loop for loop, inside in body.loops if node in inside), None)
                over = of_loop.iter if isinstance(of_loop, ast.For | ast.AsyncFor) else None
                added = node.args[0] if node.func.attr == "extend" else ast.List([node.args[0]])  # type: ignore[attr-defined]
                parts.append(over or added)
        elif isinstance(node, ast.AugAssign):
            if ast.unparse(node.target) == value.id:
                parts.append(node.value)
        elif isinstance(node.targets[0], ast.Name) and node.targets[0].id == value.id:
            begun, parts = node, [node.value]
    if begun is None or any(at in inside and begun not in inside for _, inside in body.loops):
        return value
    return ast.List([one for part in parts for one in parts_of(part)])


def _is(sent: _Sent, text: ast.expr, kept: ast.expr) -> bool:
    own = sent.given.get(getattr(text, "id", ""), text)
    return ast.unparse(own) == ast.unparse(kept)


def _says_besides(sent: _Sent, text: ast.expr) -> set[str]:
    """Return the names that a text is made of, where it says something else besides."""
    made = made_in(sent.maker)
    whole = made.get(text.id, text) if isinstance(text, ast.Name) else text
    if not isinstance(whole, ast.JoinedStr | ast.BinOp | ast.Call | ast.List):
        return set()
    if isinstance(whole, ast.Call) and called_name(whole) in _SAME:
        return set()
    names = says(whole, made)
    names |= {ast.unparse(sent.given[name]) for name in names & sent.given.keys()}
    other = not isinstance(whole, ast.List) or any(
        isinstance(n, ast.Call | ast.JoinedStr) for n in walk(whole)
    )
    return names if other else set()


def _kept_texts(body: Body, lists: set[str]) -> Iterator[ast.expr]:
    """Yield what turns of the user say that are added to lists, or handed to whoever keeps them."""
    for node in body.of(ast.Call):
        if not isinstance(node.func, ast.Attribute):
            if SAVES.search(called_name(node)) and (text := user_text(node)) is not None:
                yield text
            continue
        if node.func.attr in ("append", "extend", "insert") and len(node.args) == 1:
            if ast.unparse(node.func.value) in lists:
                yield from _texts(*node.args)
        elif (text := user_text(node)) is not None and not called_name(node)[:1].isupper():
            yield text
        elif SAVES.search(node.func.attr) and _keeps(node.func.value, lists):
            yield from (one for one in node.args if isinstance(one, ast.Name))
    for changed in body.of(ast.AugAssign):
        if ast.unparse(changed.target) in lists:
            yield from _texts(changed.value)


def _keeps(owner: ast.expr, lists: set[str]) -> bool:
    """Tell whether the turns so far come from an object: ``store`` of ``store.turns(chat)``."""
    return any(one.startswith(f"{ast.unparse(owner)}.") for one in lists)


def _texts(*nodes: ast.expr) -> Iterator[ast.expr]:
    for part in nodes:
        for one in parts_of(part):
            if (text := user_text(one)) is not None:
                yield text
