"""Which statements of a function can matter for a prompt; the others are not run.

Most of a program does something else. A statement matters when it gives something away (a return, a
changed object, a call that names prompts or messages) or when it defines a name that such a statement
uses, directly or through other names::

    started = time.time()            no
    docs = store.search(question)    yes, `text` uses it
    log.info("%d found", len(docs))  no
    text = render(docs)              yes, the call below uses it
    client.complete(prompt=text)     yes
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

_TELLING = re.compile(
    r"prompt|message|system|instruction|history|template|persona|\bllm|chat|complet|generat|descript|\brole\b|content|conversation"
    r"|invoke|agent|query_engine|converse|render|tool",
    re.IGNORECASE,
)
_STRICT = re.compile(
    r"prompt|message|instruction|template|history|persona|complet|generate|converse|invoke|descript|system|chat|conversation|^role$|(^|_)(llm|gpt|claude|gemini)",
    re.IGNORECASE,
)
_CHANGES = frozenset(
    (
        "append",
        "extend",
        "insert",
        "update",
        "add",
        "pop",
        "remove",
        "clear",
        "setdefault",
        "appendleft",
        "popleft",
        "sort",
    )
)
_QUIET = frozenset(
    ("debug", "info", "warning", "warn", "error", "exception", "critical", "log", "print", "sleep")
)

Function = ast.FunctionDef | ast.AsyncFunctionDef


def skipped(node: Function) -> frozenset[int]:
    """Return the ids of the statements that need not run, remembered on the node."""
    known: frozenset[int] | None = getattr(node, "_skipped", None)
    if known is None:
        known = node._skipped = _skipped(node)  # type: ignore[union-attr]
    return known


def tells_of_prompts(node: Function) -> bool:
    """Tell whether a function's own statements name prompts, messages or calls to a model."""
    known: bool | None = getattr(node, "_tells", None)
    if known is None:
        names = [node.name, *(ast.unparse(d) for d in node.decorator_list)]
        known = any(map(_STRICT.search, names)) or any(_tells(s) for s in _statements(node.body))
        node._tells = known  # type: ignore[union-attr]
    return known


def _tells(statement: ast.stmt) -> bool:
    return not _is_quiet(statement) and any(_STRICT.search(w) for w in _words(statement))


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield statements in order, those inside compound ones too, nested functions left out."""
    for statement in body:
        yield statement
        for field in ("body", "orelse", "finalbody"):
            inner = getattr(statement, field, None)
            if isinstance(inner, list) and not isinstance(
                statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
            ):
                yield from _statements(inner)
        for handler in getattr(statement, "handlers", ()):
            yield from _statements(handler.body)
        for case in getattr(statement, "cases", ()):
            yield from _statements(case.body)


def _own(statement: ast.stmt) -> Iterator[ast.AST]:
    """Yield the nodes of a statement without the statements inside it."""
    todo: list[ast.AST] = [statement]
    while todo:
        node = todo.pop()
        yield node
        for child in ast.iter_child_nodes(node):
            if not isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case):
                todo.append(child)


def _words(statement: ast.stmt) -> Iterator[str]:
    """Yield the names in a statement, and its short texts."""
    for node in _own(statement):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.keyword):
            yield node.arg or ""
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) < 20:
            yield node.value


def _given_away(statement: ast.stmt) -> Iterator[str]:
    """Yield the names that a call on its own, ``fill(parts, docs)`` or ``builder.start()``, may change."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    call = call.value if isinstance(call, ast.Await) else call
    if not isinstance(call, ast.Call) or _is_quiet(statement):
        return
    owner = call.func.value if isinstance(call.func, ast.Attribute) else None
    for node in (owner, *call.args, *(k.value for k in call.keywords)):
        while isinstance(node, ast.Attribute | ast.Subscript | ast.Starred):
            node = node.value
        if isinstance(node, ast.Name):
            yield node.id


def _is_quiet(statement: ast.stmt) -> bool:
    """Tell whether a statement only logs, prints or asserts."""
    if isinstance(statement, ast.Assert):
        return True
    call = statement.value if isinstance(statement, ast.Expr) else None
    call = call.value if isinstance(call, ast.Await) else call
    if isinstance(call, ast.Constant):
        return True
    if not isinstance(call, ast.Call):
        return False
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    return name in _QUIET


def _skipped(node: Function) -> frozenset[int]:
    statements = list(_statements(node.body))
    used: dict[int, set[str]] = {}
    defined: dict[int, set[str]] = {}
    live: set[int] = set()
    for statement in statements:
        names: set[str] = set()
        targets: set[str] = set()
        gives = False
        for child in _own(statement):
            if isinstance(child, ast.Name):
                (targets if isinstance(child.ctx, ast.Store) else names).add(child.id)
            elif (
                (
                    isinstance(child, ast.Attribute | ast.Subscript)
                    and isinstance(child.ctx, ast.Store | ast.Del)
                )
                or (
                    isinstance(child, ast.Call)
                    and isinstance(child.func, ast.Attribute)
                    and child.func.attr in _CHANGES
                )
                or isinstance(child, ast.Yield | ast.YieldFrom | ast.NamedExpr | ast.Lambda)
            ):
                gives = True
        if isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name):
            names.add(statement.target.id)
        targets.update(_given_away(statement))
        used[id(statement)], defined[id(statement)] = names, targets
        if isinstance(
            statement,
            ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Import | ast.ImportFrom | ast.Global,
        ):
            live.add(id(statement))
            names.update(n.id for n in ast.walk(statement) if isinstance(n, ast.Name))
        elif isinstance(statement, ast.Return | ast.Raise | ast.Continue | ast.Break) or (
            not _is_quiet(statement) and (gives or any(_TELLING.search(w) for w in _words(statement)))
        ):
            live.add(id(statement))
    needed = {name for s in statements if id(s) in live for name in used[id(s)]}
    grown = True
    while grown:
        grown = False
        for statement in statements:
            key = id(statement)
            if key not in live and defined[key] & needed:
                live.add(key)
                needed |= used[key]
                grown = True
    # A compound statement runs when anything in it does.
    out: set[int] = set()
    for statement in reversed(statements):
        inner = list(_statements([statement]))[1:]
        if id(statement) not in live and not any(id(s) in live for s in inner):
            out.add(id(statement))
    return frozenset(out)
