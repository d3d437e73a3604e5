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
from collections import defaultdict
from collections.abc import Container, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import takewhile

from promptlint.frontends.python.syntax import nodes

_TELLING = re.compile(
    r"prompt|message|system|instruction|history|template|persona|\bllm|chat|complet|generat|descri[pb]|\brole\b|content|conversation"
    r"|invoke|agent|query_engine|converse|render|tool|^responses$",
    re.IGNORECASE,
)
_STRICT = re.compile(
    r"prompt|message|instruction|template|history|persona|complet|generate|converse|invoke|descri[pb]|system|chat|conversation|^role$|^responses$|(^|_)(llm|gpt|claude|gemini)",
    re.IGNORECASE,
)
_SENDS = re.compile(
    r"^chat|complet|generate|invoke|llm|predict|respons|converse|(^|_)ask(_|$)", re.IGNORECASE
)
_SENT = frozenset(("messages", "system", "system_prompt", "instructions", "contents", "prompt"))
_ANSWERS = re.compile(
    r"^a?(run|reply|answer|query|talk|say|send|step|execute|handle|process)(_|$)", re.IGNORECASE
)
STARTS = frozenset(
    ("create_task", "ensure_future", "gather", "wait")
)  # coroutines, which may change something
_CHANGES = nodes.GROWING | nodes.SHRINKING | STARTS | {"sort"}
_WRITING = frozenset(("write", "writelines"))
_KEY = (
    16  # characters of a text that may be a key, or the name of something; a longer one is said to somebody
)
MAX_MAKING = 8  # assignments that are run again for one value
_WORD = 20  # characters below which a text is looked at as a name
_QUIET = frozenset(
    ("debug", "info", "warning", "warn", "error", "exception", "critical", "log", "print", "sleep")
)

Function = ast.FunctionDef | ast.AsyncFunctionDef


@nodes.remembered
def tells_of_prompts(node: Function) -> bool:
    """Tell whether a function, or one within it, names prompts, messages or calls to a model."""
    names = [node.name, *(ast.unparse(d) for d in node.decorator_list)]
    return any(map(_strict, names)) or any(
        tells_of_prompts(s) if isinstance(s, Function) else digest(s).strict
        for s in nodes.statements(node.body)
    )


@dataclass(frozen=True, slots=True)
class Digest:
    """What stands in one statement, those inside it left out: found in one walk, used several times."""

    strict: bool  # names prompts, messages or a call to a model, and does not only log
    telling: bool  # the same by a wider choice of words
    gives: bool  # changes an object, or hands something out otherwise than by its result
    used: frozenset[str]
    defined: frozenset[str]
    texts: bool  # writes an f-string, or a text that is longer than a key
    alters: bool  # assigns to an attribute or element, or fills a collection
    yields: bool
    yields_value: bool


@nodes.remembered
def digest(statement: ast.stmt) -> Digest:
    """Return what stands in a statement."""
    used: set[str] = set()
    defined: set[str] = set()
    words: set[str] = set()
    gives = texts = alters = yields = yields_value = False
    for node in nodes.own(statement):
        kind = node.__class__
        if kind is ast.Name:
            (defined if node.ctx.__class__ is ast.Store else used).add(node.id)  # type: ignore[attr-defined]
        elif kind is ast.Attribute:
            words.add(node.attr)  # type: ignore[attr-defined]
            if node.ctx.__class__ is not ast.Load:  # type: ignore[attr-defined]
                gives = True
                alters = alters or node.ctx.__class__ is ast.Store  # type: ignore[attr-defined]
        elif kind is ast.Constant:
            text = node.value  # type: ignore[attr-defined]
            if isinstance(text, str):
                texts = texts or len(text) > _KEY
                if len(text) < _WORD:
                    words.add(text)
        elif kind is ast.keyword:
            words.add(node.arg or "")  # type: ignore[attr-defined]
        elif kind is ast.Subscript:
            if node.ctx.__class__ is not ast.Load:  # type: ignore[attr-defined]
                gives = True
                alters = alters or node.ctx.__class__ is ast.Store  # type: ignore[attr-defined]
        elif kind is ast.Call:
            func = node.func  # type: ignore[attr-defined]
            if func.__class__ is ast.Attribute and func.attr in _CHANGES:
                gives = True
                alters = alters or func.attr in nodes.GROWING
        elif kind is ast.JoinedStr:
            texts = True
        elif kind in _GIVING:
            gives = True
            if kind in _YIELDING:
                yields = True
                yields_value = yields_value or node.value is not None  # type: ignore[attr-defined]
    if isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name):
        used.add(statement.target.id)
    if "super" in used:  # what the base class does to the object is seen in no name here
        gives = True
        used.add("self")
    loud = not _is_quiet(statement)
    words |= used
    words |= defined
    if loud:
        defined.update(_given_away(statement))
    return Digest(
        loud and any(map(_strict, words)),
        loud and (any(map(_telling, words)) or _shows_answer(statement)),
        gives,
        frozenset(used),
        frozenset(defined),
        texts,
        alters,
        yields,
        yields_value,
    )


_YIELDING = frozenset((ast.Yield, ast.YieldFrom))
_GIVING = _YIELDING | {ast.NamedExpr, ast.Lambda}


@cache
def _strict(word: str) -> bool:
    return _STRICT.search(word) is not None


@cache
def _telling(word: str) -> bool:
    return _TELLING.search(word) is not None


def _given_away(statement: ast.stmt) -> Iterator[str]:
    """Yield the names that a call on its own, ``fill(parts, docs)`` or ``builder.start()``, may change."""
    call = _alone(statement)
    if not isinstance(call, ast.Call):
        return
    owner = call.func.value if isinstance(call.func, ast.Attribute) else None
    for node in (owner, *call.args, *(k.value for k in call.keywords)):
        while isinstance(node, (ast.Attribute, ast.Subscript, ast.Starred)):
            node = node.value
        if isinstance(node, ast.Name):
            yield node.id


def _alone(statement: ast.stmt) -> ast.expr | None:
    """Return the expression that a statement is, the awaited one of an ``await``."""
    if not isinstance(statement, ast.Expr):
        return None
    return statement.value.value if isinstance(statement.value, ast.Await) else statement.value


def _is_quiet(statement: ast.stmt) -> bool:
    """Tell whether a statement only logs, prints or asserts."""
    if isinstance(statement, ast.Assert):
        return True
    call = _alone(statement)
    if isinstance(call, ast.Constant):
        return True
    if not isinstance(call, ast.Call):
        return False
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    into = any(
        k.arg == "file" and isinstance(k.value, ast.Name) for k in call.keywords
    )  # print(…, file=text)
    return name in _QUIET and not into and not _shows_answer(statement)


def _shows_answer(statement: ast.stmt) -> bool:
    """Tell whether a statement prints what a model answers: ``print(client.chat.completions.create(…).choices)``."""
    call = _alone(statement)
    shown = isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "print"
    return shown and any(_sends(n) or _answers(n) for n in nodes.walk(statement))


def _sends(node: ast.AST) -> bool:
    """Tell whether a call is one to a model by the names in it."""
    if not isinstance(node, ast.Call) or not (node.args or node.keywords):
        return False
    func, words = node.func, []
    while isinstance(func, ast.Attribute):
        words.append(func.attr)
        func = func.value
    return any(map(_sent, words)) if words else isinstance(func, ast.Name) and _sent(func.id)


@cache
def _sent(word: str) -> bool:
    return _SENDS.search(word) is not None


def _answers(node: ast.AST) -> bool:
    """Tell whether a call asks something for an answer, by its name: ``agent.run(task)``."""
    called = node.func.attr if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else ""
    return _ANSWERS.search(called) is not None


@nodes.remembered
def asks_a_model(node: Function) -> bool:
    """Tell whether a function calls a model itself, by the names of what it calls and gives."""
    calls = [n for n in nodes.walk(node) if isinstance(n, ast.Call)]
    return any(_sends(call) or any(k.arg in _SENT for k in call.keywords) for call in calls)


def parameters(node: Function) -> frozenset[str]:
    """Return the names of what a function is given."""
    return frozenset(arg.arg for arg in (*node.args.args, *node.args.kwonlyargs))


def prints_into(statement: ast.stmt, names: Container[str]) -> bool:
    """Tell whether a statement writes to one of some things: ``out.write(line)``, ``print(line, file=out)``."""
    call = _alone(statement)
    if not isinstance(call, ast.Call):
        return False
    written = [k.value for k in call.keywords if k.arg == "file"]
    if isinstance(call.func, ast.Attribute) and call.func.attr in _WRITING:
        written.append(call.func.value)
    return any(isinstance(node, ast.Name) and node.id in names for node in written)


FORWARDING = 8  # statements of the longest method that is there to hand on what it is given


def forwards(statement: ast.stmt) -> bool:
    """Tell whether a statement hands something to its object, or to a part of it: ``self.add("user", text)``."""
    call = _alone(statement)
    if not (
        isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and (call.args or call.keywords)
    ):
        return False
    owner: ast.expr = call.func.value
    while isinstance(owner, ast.Attribute):
        owner = owner.value
    return isinstance(owner, ast.Name) and owner.id == "self" and call.func.attr not in _QUIET


def _hands_on(statement: ast.stmt) -> bool:
    """Tell whether a statement calls a function with something that is made here: ``send(drawn(pool), question)``."""
    call = _alone(statement)
    return (
        isinstance(call, ast.Call)
        and isinstance(call.func, ast.Name)
        and not all(
            isinstance(given, ast.Constant) for given in (*call.args, *(k.value for k in call.keywords))
        )
    )


def making(node: Function, statement: ast.AST) -> list[ast.stmt]:
    """Return the assignments in front of a statement that make the local names it uses, in their order.

    None where something else makes or changes one of the names as well (a loop, ``names.sort()``), or they are many.
    """
    known: list[ast.stmt] | None = getattr(statement, "_making", None)
    if known is None:
        known = statement._making = _making(node, statement)  # type: ignore[attr-defined]
    return known


def _making(node: Function, statement: ast.AST) -> list[ast.stmt]:
    before = list(takewhile(lambda one: one is not statement, nodes.statements(node.body)))
    if len(before) == len(nodes.statements(node.body)) or not isinstance(statement, ast.stmt):
        return []
    wanted = set(digest(statement).used)
    found: list[ast.stmt] = []
    for one in reversed(before):
        if isinstance(one, ast.Assign | ast.AnnAssign | ast.AugAssign):
            if wanted & digest(one).defined:
                found.append(one)
                wanted |= digest(one).used
        elif wanted & digest(one).defined or not wanted.isdisjoint(_changed(one)):
            return []  # ``name`` is what a loop, an import or a method made of it
    return found[::-1] if len(found) <= MAX_MAKING and not any(map(_does_more, found)) else []


def _changed(statement: ast.stmt) -> Iterator[str]:
    """Yield the names that a statement imports, or of what it calls a method of: ``names.sort()``."""
    if isinstance(statement, ast.Import | ast.ImportFrom):
        yield from (alias.asname or alias.name for alias in statement.names)
    call = _alone(statement)
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
        yield from (n.id for n in nodes.walk(call.func) if isinstance(n, ast.Name))


def _does_more(statement: ast.stmt) -> bool:
    """Tell whether an assignment changes something beside its target: ``n = self.turns.insert(0, turn)``."""
    return any(
        isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute) and n.func.attr in _CHANGES
        for n in nodes.walk(statement)
    )


@nodes.remembered
def skipped(node: Function) -> frozenset[int]:
    """Return the ids of the statements of a function that need not run."""
    statements = nodes.statements(node.body)
    live: set[int] = set()
    needed: set[str] = set()
    short = len(statements) <= FORWARDING
    given = parameters(node)
    for statement in statements:
        found = digest(statement)
        if isinstance(statement, _ALWAYS):
            live.add(id(statement))
            needed |= found.used
            needed.update(n.id for n in nodes.walk(statement) if isinstance(n, ast.Name))
        elif isinstance(statement, _LEAVING) or (
            (
                found.gives
                or found.telling
                or (short and forwards(statement))
                or _hands_on(statement)
                or (isinstance(statement, ast.Expr) and prints_into(statement, given))
            )
            and not _is_quiet(statement)
        ):
            live.add(id(statement))
            needed |= found.used
    makers: defaultdict[str, list[ast.stmt]] = defaultdict(list)
    for statement in statements:
        for name in digest(statement).defined:
            makers[name].append(statement)
    waiting = list(needed)
    while waiting:
        for statement in makers.pop(waiting.pop(), ()):
            live.add(id(statement))
            waiting.extend(digest(statement).used)
    idle: set[int] = set()
    _runs(node.body, live, idle)
    return frozenset(idle)


_ALWAYS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom, ast.Global)
_LEAVING = (ast.Return, ast.Raise, ast.Continue, ast.Break)


def _runs(body: list[ast.stmt], live: set[int], idle: set[int]) -> bool:
    """Tell whether anything in a block must run: a compound statement does when anything in it does.

    What need not is added to ``idle``.
    """
    some = False
    for statement in body:
        runs = id(statement) in live
        if isinstance(statement, nodes.COMPOUND):
            runs = _runs(nodes.inside(statement), live, idle) or runs
        if not runs:
            idle.add(id(statement))
        some = some or runs
    return some
