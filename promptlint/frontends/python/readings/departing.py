"""What is sent and not kept, told by the form: the next request has another turn at that place.

::

    messages.append({"role": "user", "content": f"{context}\\n{question}"})      with its context …
    reply = create(messages=messages)
    messages[-1]["content"] = question                                        … that is taken off afterwards

    [*messages[:-1], REMINDER, messages[-1]]      a reminder that moves behind each new turn

    outgoing = [dict(m) for m in messages]        a copy whose last turn alone says more
    outgoing[-1]["content"] = f"{now}: {text}"

    for m in messages:                            pictures, taken out of all turns before the next one is added
        m["content"] = [part for part in m["content"] if part["type"] != "image"]
    messages.append({"role": "user", "content": [{"type": "image", …}, …]})
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from promptlint.frontends.python.readings.shapes import last_name, parts_of
from promptlint.frontends.python.readings.turnlists import Body, Seen, is_list, is_turns
from promptlint.frontends.python.readings.wrapping import made_in, says, user_text
from promptlint.frontends.python.syntax.nodes import walk
from promptlint.frontends.python.values.naming import SENT_AS, called_name

_COPIES = frozenset({"list", "copy", "deepcopy"})


@dataclass(slots=True)
class _Kept:
    """A list of turns while a function is read: whether it was sent since its last turn, and what that says."""

    said: ast.expr | None = None  # the text of the user's turn at its end
    sent: bool = False
    taken: ast.expr | None = None  # the text of the user's turn that was taken off after it was sent


def departing(body: Body) -> Seen:
    """Yield the turns that a function sends and keeps otherwise."""
    cut = any(node.upper is not None for node in body.of(ast.Slice))
    calls = [node for node in body.of(ast.Call) if any(k.arg in SENT_AS for k in node.keywords)]
    if body.of(ast.UnaryOp):  # ``copy[-1]``
        yield from _copied(body)
    if body.loops and body.of(ast.ListComp):
        yield from _taken_out_before(body)
    if not (cut or calls):
        return
    made = made_in(body)
    if cut:
        yield from _last_says_more(body, made)
        for whole in (*body.of(ast.BinOp), *body.of(ast.List)):
            yield from _between(whole, body.lists)
            yield from _looked_up_in_front(whole, body, made)
    if calls:
        yield from _changed_after(body, made)


def _turns_of(node: ast.expr, lists: frozenset[str]) -> str | None:
    """Return the list of turns that an expression is, or is a part of, as text: ``self.messages`` of its slice."""
    if isinstance(node, ast.Subscript):
        node = node.value
    return ast.unparse(node) if is_list(node, lists) or is_turns(node) else None


def _from_end(node: ast.expr, bound: str) -> str | None:
    """Return how many turns from its end a list is cut at: ``1`` of ``m[:-1]`` (upper) and of ``m[-1:]`` (lower)."""
    if not isinstance(node, ast.Subscript):
        return None
    at: ast.expr | None = node.slice
    if isinstance(at, ast.Slice):
        other = at.lower if bound == "upper" else at.upper
        at = getattr(at, bound) if other is None or bound == "upper" else None
    elif bound == "upper":
        return None
    return ast.unparse(at.operand) if isinstance(at, ast.UnaryOp) and isinstance(at.op, ast.USub) else None


def _between(node: ast.expr, lists: frozenset[str]) -> Seen:
    """Yield what stands between the last turns of a list and those in front of them."""
    parts = list(parts_of(node))
    for at, part in enumerate(parts[:-2]):
        cut = _from_end(part, "upper")
        if cut is None or (turns := _turns_of(part, lists)) is None:
            continue
        rest = parts[at + 1 :]
        behind = next((i for i, p in enumerate(rest) if _turns_of(p, lists) == turns), 0)
        if behind and _from_end(rest[behind], "lower") == cut:
            yield "history-inserted", rest[0]


def _looked_up_in_front(whole: ast.expr, body: Body, made: dict[str, ast.expr]) -> Seen:
    """Yield what stands at a fixed place from the front of a list, and is looked up by what the function is given."""
    parts = list(parts_of(whole))
    given = {arg.arg for arg in (*body.function.args.args, *body.function.args.kwonlyargs)} - {"self", "cls"}
    for first, extra, rest in zip(parts, parts[1:], parts[2:], strict=False):
        turns = _turns_of(first, body.lists)
        if turns is None or _turns_of(rest, body.lists) != turns or not isinstance(first, ast.Subscript):
            continue
        front = first.slice.upper if isinstance(first.slice, ast.Slice) else None
        back = (
            rest.slice.lower
            if isinstance(rest, ast.Subscript) and isinstance(rest.slice, ast.Slice)
            else None
        )
        if body.number(front) is None or body.number(front) != body.number(back):
            continue
        said = made.get(extra.id, extra) if isinstance(extra, ast.Name) else extra
        if any(isinstance(n, ast.Call) and _given_to(n, given) for n in _with_made(said, made)):
            yield "history-inserted", extra


def _with_made(node: ast.expr, made: dict[str, ast.expr]) -> Iterator[ast.AST]:
    """Yield what stands in an expression, and in what the names in it were made of."""
    for part in walk(node):
        yield part
        if isinstance(part, ast.Name) and part.id in made:
            yield from walk(made[part.id])


def _given_to(call: ast.Call, names: set[str]) -> bool:
    return any(isinstance(n, ast.Name) and n.id in names for arg in call.args for n in walk(arg))


def _says_more(sent: ast.expr, kept: ast.expr, made: dict[str, ast.expr]) -> bool:
    """Tell whether a text has another in it, and something else besides."""
    name = ast.unparse(kept)
    if not isinstance(kept, ast.Name | ast.Attribute) or ast.unparse(sent) == name:
        return False
    text = made.get(sent.id, sent) if isinstance(sent, ast.Name) else sent
    written = isinstance(text, ast.JoinedStr | ast.BinOp | ast.Call)
    return written and name in says(text, made)


def _changed_after(body: Body, made: dict[str, ast.expr]) -> Seen:
    """Yield where the user's last turn is changed after it was sent, before another came."""
    lists: dict[str, _Kept] = {}
    for node in body.steps:  # in the order of the text
        if isinstance(node, ast.Call):
            for keyword in node.keywords:
                if keyword.arg in SENT_AS:
                    for part in parts_of(keyword.value):
                        if (known := lists.get(ast.unparse(part))) is not None:
                            known.sent = True
            if isinstance(node.func, ast.Attribute) and node.func.attr in ("append", "pop"):
                known = lists.setdefault(ast.unparse(node.func.value), _Kept())
                if node.func.attr == "append" and node.args:
                    text = user_text(node.args[0])
                    if known.taken is not None and text is not None and _says_more(known.taken, text, made):
                        yield "history-rewritten", node
                    known.said, known.sent, known.taken = text, False, None
                elif known.sent and (not node.args or ast.unparse(node.args[0]) == "-1"):
                    known.taken = known.said
        elif isinstance(node, ast.Assign) and (owner := _last_turn(node.targets[0])) is not None:
            known = lists.get(owner, _Kept())
            new = user_text(node.value) or node.value
            if known.sent and known.said is not None and _says_more(known.said, new, made):
                yield "history-rewritten", node.targets[0]


def _last_turn(target: ast.expr) -> str | None:
    """Return the list whose last turn, or the text of it, is set: ``messages[-1]["content"]``, ``messages[-1]``."""
    if (isinstance(target, ast.Attribute) and target.attr in ("content", "text")) or (
        isinstance(target, ast.Subscript) and getattr(target.slice, "value", None) in ("content", "text")
    ):
        target = target.value
    if isinstance(target, ast.Subscript) and ast.unparse(target.slice) == "-1":
        return ast.unparse(target.value)
    return None


def _last_says_more(body: Body, made: dict[str, ast.expr]) -> Seen:
    """Yield what the last turn is sent with, where all turns in front of it are sent as they are.

    ``for m in turns[:-1]: out.append(m)``, and then a message of ``f"{documents}\\n{turns[-1].text}"``.
    """
    others = {
        ast.unparse(part.value)
        for part in body.of(ast.Subscript)
        if _from_end(part, "upper") == "1" and _turns_of(part, body.lists) is not None
    }
    named = {name for name, value in made.items() if _last_of(value) in others}
    for node in (*body.of(ast.Dict), *body.of(ast.Call)) if others else ():
        text = user_text(node)
        if text is not None and isinstance(
            written := made.get(last_name(text) or "", text), ast.JoinedStr | ast.BinOp
        ):
            holes = [n.value for n in walk(written) if isinstance(n, ast.FormattedValue)]
            own = [h for h in holes if any(_last_of(n) in others or last_name(n) in named for n in walk(h))]
            if own and len(own) < len(holes):
                yield "history-rewritten", text


def _last_of(node: ast.AST) -> str | None:
    """Return the list whose last turn an expression is, or is a part of: ``turns[-1]["content"]``."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        if isinstance(node, ast.Subscript) and ast.unparse(node.slice) == "-1":
            return ast.unparse(node.value)
        node = node.value
    return None


def _copied(body: Body) -> Seen:
    """Yield where the last turn of a copy is given another text: the next request has it without."""
    copies: set[str] = set()
    last: dict[str, str] = {}  # the names of last turns, with the lists that they are of
    for node in body.steps:  # in the order of the text
        if not isinstance(node, ast.Assign):
            continue
        target = node.targets[0]
        if isinstance(target, ast.Name):
            if _is_copy(node.value, body.lists):
                copies.add(target.id)
            elif (owner := _last_turn(node.value)) is not None:
                last[target.id] = owner
        elif (
            isinstance(target, ast.Subscript | ast.Attribute)
            and (_last_turn(target) or last.get(last_name(target.value) or "")) in copies
            and (user_text(node.value) or "content" in ast.unparse(target))
            and not isinstance(node.value, ast.Constant)
            and not _only_marked(node.value, body)
        ):
            yield "history-rewritten", target


def _taken_out_before(body: Body) -> Seen:
    """Yield the parts that a loop leaves out of all turns, where a turn with such parts is added behind it and sent."""
    added = [
        (ast.unparse(node.func.value), node)
        for node in body.of(ast.Call)
        if isinstance(node.func, ast.Attribute)
        and node.func.attr == "append"
        and body.holds_turns(node.func.value)
    ]
    for loop, inside in body.loops if added else ():
        if isinstance(loop, ast.While) or not body.holds_turns(loop.iter):
            continue
        turns, end = ast.unparse(loop.iter), loop.end_lineno or 0
        later = {
            n.value
            for owner, call in added
            if owner == turns and call.lineno > end
            for n in walk(*call.args)
            if isinstance(n, ast.Constant)
        }
        for node in inside if later else ():
            if (
                isinstance(node, ast.Assign)
                and isinstance(node.value, ast.ListComp)
                and not isinstance(node.targets[0], ast.Name)
            ):
                tests = [test for one in node.value.generators for test in one.ifs]
                kinds = {n.value for n in walk(*tests) if isinstance(n, ast.Constant)} - {"type", "role"}
                if kinds & later:
                    yield "history-rewritten", node.value


def _only_marked(value: ast.expr, body: Body) -> bool:
    """Tell whether a turn gets a cache mark and says what it said."""
    return body.is_about_marks(value) and not any(
        isinstance(n, ast.JoinedStr | ast.BinOp) for n in walk(value)
    )


def _is_copy(node: ast.expr, lists: frozenset[str]) -> bool:
    """Tell whether an expression is a list of turns made anew, with the same turns: ``[dict(m) for m in messages]``."""
    if isinstance(node, ast.ListComp):
        one = node.generators[0]
        same = isinstance(node.elt, ast.Call) and last_name(one.target) in map(last_name, node.elt.args)
        return same and not one.ifs and _turns_of(one.iter, lists) is not None
    if isinstance(node, ast.Call) and called_name(node) in _COPIES:
        given = [*node.args, *([node.func.value] if isinstance(node.func, ast.Attribute) else [])]
        return any(_turns_of(one, lists) for one in given)
    parts = list(parts_of(node)) if isinstance(node, ast.List) else []
    return len(parts) == 1 and _turns_of(parts[0], lists) is not None
