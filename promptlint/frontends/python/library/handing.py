"""Functions that are handed to somebody who calls them: a pool, a thread, an event loop.

::

    pool.submit(agent.run, task, RULES)          asyncio.to_thread(build, question)
    loop.run_in_executor(None, build, question)  Thread(target=serve, args=(queue,), kwargs={"rules": RULES})
    pool.map(answer, questions)                  scheduler.add_job(report, args=[user])
"""

from __future__ import annotations

import ast

from promptlint.frontends.python.evaluate import members, text
from promptlint.frontends.python.evaluate.machine import Frame, Machine
from promptlint.frontends.python.library import collecting
from promptlint.frontends.python.values.arguments import Arguments
from promptlint.frontends.python.values.values import Bound, DictV, FuncV, Obj, Value

# Which argument is the function; what stands behind it is for the function.
_CALLING = {
    **dict.fromkeys(("submit", "to_thread", "run_sync", "run_in_threadpool", "call_soon_threadsafe"), 0),
    **dict.fromkeys(("call_soon", "start_soon", "add_task", "spawn"), 0),
    **dict.fromkeys(("run_in_executor", "call_later"), 1),
}
# Those that wait for what the function gives.
_WAITING = frozenset(("to_thread", "run_sync", "run_in_threadpool", "run_in_executor"))
# Those that are given the arguments in a collection.
_PACKED = frozenset(("Thread", "Process", "Timer", "apply", "apply_async", "add_job", "start_new_thread"))
_MAPPING = frozenset(("map", "imap", "imap_unordered"))


def handed(m: Machine, path: str, given: Arguments, node: ast.Call, frame: Frame) -> Value | None:
    """Run a function of the project that is handed on; return what it gives where the call waits for that."""
    short = path.rpartition(".")[2]
    if short in _MAPPING:
        made = collecting.mapped(m, given, node, frame) if _is_own(given.get(0)) else None
        return made if short != "imap_unordered" else None
    if short in _PACKED:
        _run_packed(m, given, node, frame)
        return None
    at = _CALLING.get(short)
    func = given.get(at) if at is not None else None
    if at is None or func is None or not _is_own(func):
        return None
    result = _run(m, func, Arguments(given.args[at + 1 :], given.keywords, given.rest), node, frame)
    if short == "submit":
        future = Obj(kind="future", name="future", place=frame.module.place(node))
        future.attrs["result"] = result
        return future
    return result if short in _WAITING else None


def _is_own(value: Value | None) -> bool:
    """Tell whether a value is a function or method of the project, perhaps with some arguments given."""
    while isinstance(value, Bound):
        value = value.func
    return isinstance(value, FuncV)


def _run_packed(m: Machine, given: Arguments, node: ast.Call, frame: Frame) -> None:
    """Run the function of a thread or job, which is given its arguments as a collection and a mapping."""
    found = [*given.args[:2], *(given.keywords.get(name) for name in ("target", "func", "function"))]
    func = next((value for value in found if _is_own(value)), None)
    if func is None:
        return
    behind = given.args[given.args.index(func) + 1 :] if func in given.args else []
    args = given.get("args") or next(iter(behind), None)
    named = given.get("kwargs", "kwds") or next(iter(behind[1:]), None)
    known = members.elements(args) if args is not None else []
    if known is not None:
        keywords = text.keys_of(named) if isinstance(named, DictV) else {}
        _run(m, func, Arguments(list(known), dict(keywords)), node, frame)


def _run(m: Machine, func: Value, given: Arguments, node: ast.Call, frame: Frame) -> Value:
    from promptlint.frontends.python.evaluate import calls

    return calls.apply(m, func, given, node, frame)
