"""Builtins and the standard library, as far as they carry text."""

from __future__ import annotations

import ast

from promptlint.frontends.python.evaluate import access, describing, mappings, protocols, shaping, text
from promptlint.frontends.python.evaluate.machine import Frame, Machine, fixed, root_of, unknown_like
from promptlint.frontends.python.library import collecting
from promptlint.frontends.python.values import known
from promptlint.frontends.python.values.arguments import Arguments
from promptlint.frontends.python.values.pieces import Lit, worst
from promptlint.frontends.python.values.values import (
    NONE,
    Bound,
    Const,
    DictV,
    Item,
    ListV,
    Obj,
    Str,
    Unknown,
    Value,
)
from promptlint.layout import Cause, Kind


def _str(m: Machine, given: Arguments, node: ast.Call, frame: Frame) -> Value | None:
    if not given.args:
        return Str(())
    value = given.args[0]
    if (made := protocols.shown(m, value, node, frame)) is not None:
        return made
    return Str(text.parts_of(value, frame.module.place(node.args[0]), frame.module.text(node.args[0])))


def _number(m: Machine, given: Arguments, node: ast.Call, frame: Frame) -> Value | None:
    if len(given.args) == 1 and isinstance(given.args[0], Const):
        return given.args[0]
    first = given.args[0] if given.args else NONE
    value = next((one for one in given.args if one.cause is not None), first)  # max(2048, needed)
    if isinstance(value, Unknown):
        return unknown_like(value, cause=value.cause, multiline=False)
    return Unknown(frame.module.place(node), cause=value.cause, multiline=False)


def _same(m: Machine, given: Arguments, node: ast.Call, frame: Frame) -> Value | None:
    return given.args[0] if given.args else None


def _second(m: Machine, given: Arguments, node: ast.Call, frame: Frame) -> Value | None:
    return given.args[1] if len(given.args) > 1 else None


def _format(m: Machine, given: Arguments, node: ast.Call, frame: Frame) -> Value | None:
    if not given.args:
        return None
    spec = access.plain(given.args[1]) if len(given.args) > 1 else ""
    value = access.formatted(m, given.args[0], spec if isinstance(spec, str) else "")
    return Str(text.parts_of(value, frame.module.place(node), frame.module.text(node)))


def _getattr(m: Machine, given: Arguments, node: ast.Call, frame: Frame) -> Value | None:
    name = access.plain(given.args[1]) if len(given.args) > 1 else None
    if isinstance(name, str) and name.isidentifier():
        return access.attribute(m, given.args[0], name, node, frame)
    return None


def _partial(m: Machine, given: Arguments, node: ast.Call, frame: Frame) -> Value | None:
    if not given.args:
        return None
    func = given.args[0]
    if isinstance(func, Bound):
        return Bound(
            func.func, func.receiver, (*func.args, *given.args[1:]), {**func.keywords, **given.keywords}
        )
    return Bound(func, None, tuple(given.args[1:]), dict(given.keywords))


def _dumps(m: Machine, given: Arguments, node: ast.Call, frame: Frame) -> Value | None:
    """Serialise: what is known of the value shows as pieces; its order is the value's own."""
    value = given.args[0] if given.args else None
    if value is None:
        return None
    if (whole := known.as_json(value, given.keywords)) is not None:
        return Str((Lit(whole, fixed(frame.module.place(node), whole), whole=True),))
    cause = worst(value.cause, value.holds) if isinstance(value, Unknown) else value.cause
    sort = given.get("sort_keys")
    if (
        cause is not None
        and cause.kind is Kind.UNORDERED
        and isinstance(value, DictV)
        and isinstance(sort, Const)
        and sort.value
    ):
        cause = None
    one = value.items[0].value if isinstance(value, ListV) and len(value.items) == 1 else value
    name = value.name if isinstance(value, ListV) else ""
    name = name or (one.name if isinstance(one, Unknown) else "")
    if (
        isinstance(value, (DictV, ListV))
        and value.cause is not None
        and value.cause.kind is not Kind.UNORDERED
    ):
        from promptlint.frontends.python.evaluate.serialising import serialised

        return Str(serialised(value, frame.module.place(node)))
    path = ".".join(filter(None, (root_of(value), "dumps()")))
    return Unknown(frame.module.place(node), name=name, path=path, cause=cause, text=frame.module.text(node))


def _dumped(m: Machine, given: Arguments, node: ast.Call, frame: Frame) -> Value | None:
    """Return an unknown mapping as YAML, which sorts its keys."""
    return (
        collecting.put_in_order(m, given, node, frame)
        if given.args and isinstance(given.args[0], Unknown)
        else None
    )


def _copy(m: Machine, given: Arguments, node: ast.Call, frame: Frame) -> Value | None:
    value = given.args[0] if given.args else None
    if isinstance(value, ListV):
        return collecting.listed(m, given, node, frame)
    return mappings.copy_dict(value, value.depth) if isinstance(value, DictV) else value


def environ(m: Machine, given: Arguments, node: ast.expr, frame: Frame) -> Value:
    """Return an environment variable."""
    label = access.plain(given.args[0]) if given.args else None
    default = given.args[1] if len(given.args) > 1 else None
    if isinstance(default, Str) and default.literal_length() > 40:
        return default
    name = label if isinstance(label, str) else "environ"
    found = m.volatile(f"os.environ[{name}]")
    place = frame.module.place(node)
    cause = (
        Cause(found.kind, found.scope, f"environment variable {name}", found.confidence, place)
        if found
        else None
    )
    return Unknown(place, name="", path="os.environ", cause=cause, text=name)


def _context_var(m: Machine, given: Arguments, node: ast.Call, frame: Frame) -> Value | None:
    label = access.plain(given.args[0]) if given.args else None
    return Unknown(
        frame.module.place(node), name=label if isinstance(label, str) else "", path=str(label or "")
    )


def _buffer(m: Machine, given: Arguments, node: ast.Call, frame: Frame) -> Value | None:
    """Return a text buffer: what is written to it, in order."""
    out = Obj(kind="buffer", place=frame.module.place(node))
    start = [Item(given.args[0])] if given.args else []
    out.attrs["written"] = ListV(start, depth=len(m.guards))
    return out


def _print(m: Machine, given: Arguments, node: ast.Call, frame: Frame) -> Value | None:
    """``print(…, file=buffer)`` writes to the buffer; any other print gives nothing."""
    out = given.get("file")
    written = out.attrs.get("written") if isinstance(out, Obj) and out.kind == "buffer" else None
    if isinstance(written, ListV):
        place = frame.module.place(node)
        space, end = (Lit(text, fixed(place, text), whole=True) for text in (" ", "\n"))
        shown = zip(given.args, node.args, strict=False)
        told = [Str(text.parts_of(a, frame.module.place(n), frame.module.text(n))) for a, n in shown]
        line = text.joined((space,), [Item(a) for a in told], None, place)
        written.items.append(Item(Str((*line.parts, end)), m.since(written.depth)))
    return NONE


HANDLERS: dict[str, collecting.Handler] = {
    "io.StringIO": _buffer,
    "builtins.print": _print,
    "builtins.str": _str,
    "builtins.repr": _str,
    "builtins.ascii": _str,
    "builtins.int": _number,
    "builtins.float": _number,
    "builtins.round": _number,
    "builtins.abs": _number,
    "dataclasses.asdict": mappings.asdict,
    "attrs.asdict": mappings.asdict,
    "attr.asdict": mappings.asdict,
    "dataclasses.replace": mappings.changed,
    "attrs.evolve": mappings.changed,
    "builtins.min": _number,
    "builtins.max": _number,
    "builtins.filter": _second,
    "builtins.format": _format,
    "builtins.getattr": _getattr,
    "functools.partial": _partial,
    "textwrap.dedent": shaping.dedent,
    "inspect.cleandoc": shaping.dedent,
    "inspect.getdoc": describing.doc,
    "builtins.type": describing.kind,
    "textwrap.indent": _same,
    "textwrap.fill": _same,
    "html.escape": _same,
    "html.unescape": _same,
    "textwrap.shorten": _same,
    "unicodedata.normalize": _second,
    "langchain_core.runnables.RunnableLambda": _same,
    "langchain.schema.runnable.RunnableLambda": _same,
    "asyncio.run": _same,
    "asyncio.wait_for": _same,
    "asyncio.create_task": _same,
    "asyncio.shield": _same,
    "json.dumps": _dumps,
    "orjson.dumps": _dumps,
    "yaml.dump": _dumped,
    "yaml.safe_dump": _dumped,
    "copy.copy": _copy,
    "copy.deepcopy": _copy,
    "typing.cast": _second,
    "os.environ.get": environ,
    "os.getenv": environ,
    "contextvars.ContextVar": _context_var,
    "types.MappingProxyType": _same,
    "sqlalchemy.text": _same,
    "sqlalchemy.sql.text": _same,
    "psycopg.sql.SQL": _same,
    "psycopg2.sql.SQL": _same,
    "builtins.staticmethod": _same,
}
