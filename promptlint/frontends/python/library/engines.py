"""Template engines and prompt objects: text with fields, and the calls that fill them."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from promptlint.frontends.base import Context, Delimiters
from promptlint.frontends.mapped import MappedText
from promptlint.frontends.python.evaluate import access, functions, protocols, text
from promptlint.frontends.python.evaluate.machine import Frame, Machine
from promptlint.frontends.python.values.arguments import Arguments
from promptlint.frontends.python.values.pieces import Alt, Hole, Lit, Loop, Part, Seg
from promptlint.frontends.python.values.values import (
    NONE,
    Bound,
    Choice,
    Const,
    DictV,
    Ext,
    FuncV,
    ListV,
    Obj,
    Str,
    Template,
    Unknown,
    Value,
)
from promptlint.layout import Cause, Confidence, Kind, Scope

if TYPE_CHECKING:
    from promptlint.catalog.model import Sink

_STYLES = {
    "f-string": "format",
    "format": "format",
    "mustache": "mustache",
    "$": "dollar",
    "dollar": "dollar",
}
_ROLES = {"human": "user", "ai": "assistant", "model": "assistant", "developer": "system", "bot": "assistant"}
_MARKS = ("variable_start_string", "variable_end_string", "block_start_string", "block_end_string")
_JINJA_FILE = re.compile(r"\.(j2|jinja2?|md|txt|html|xml|prompt|tpl|tmpl)$")


def role_of(name: str) -> str:
    """Return the common name of a role."""
    lowered = name.lower()
    return _ROLES.get(lowered, lowered)


def speaker(value: Value) -> str:
    """Return the role that a value names, as a text or as a member of a library's enumeration; "" if it is not known."""
    plain = value.path.rpartition(".")[2] if isinstance(value, Ext) else access.plain(value)
    return role_of(plain) if isinstance(plain, str) else ""


def dialect_parts(
    m: Machine, parts: tuple[Part, ...], dialect: str, env: Value | None = None
) -> tuple[Part, ...]:
    """Split known text at the placeholders of a template dialect, as an environment of Jinja has them."""
    if dialect != "jinja":
        return text.with_fields(parts, _STYLES.get(dialect, "format"))
    from promptlint.frontends import jinja  # a tenth of a small check, and most programs hold no template

    out: list[Part] = []
    for part in parts:
        if isinstance(part, Lit):
            fragment = jinja.segments(text.mapped(part), _context(m, env))
            out.extend(Seg(s) for s in fragment.segments)
        elif isinstance(part, Alt):
            branches = tuple(dialect_parts(m, branch, dialect, env) for branch in part.branches)
            out.append(Alt(part.guard, branches))
        elif isinstance(part, Loop):
            out.append(Loop(part.guard, dialect_parts(m, part.parts, dialect, env)))
        else:
            out.append(part)
    return tuple(out)


def template_file(m: Machine, name: str, env: Value | None, node: ast.AST, frame: Frame) -> Template | None:
    """Return a Jinja template named in code; None where the tree has no such file."""
    path = m.project.file(name, frame.module.path)
    if path is None and not _JINJA_FILE.search(name):
        for ending in (".j2", ".jinja", ".jinja2", ".md"):
            path = path or m.project.file(name + ending, frame.module.path)
    source = m.project.context.load(path) if path else None
    if source is None or path is None:
        return None
    from promptlint.frontends import jinja

    m.project.reads.add((path, None))
    fragment = jinja.segments(MappedText.of(source), _context(m, env))
    return Template(tuple(Seg(s) for s in fragment.segments), globals_of(m, env, node, frame), kind="jinja")


def _tail(name: Value) -> str | None:
    """Return the end of a file's name whose folder is chosen at run time: ``f"{model}/plan.j2"``."""
    end = ""
    for part in reversed(name.parts) if isinstance(name, Str) else ():
        if not isinstance(part, Lit):
            break
        end = part.text + end
    _, slash, tail = end.partition("/")
    return tail if slash and _JINJA_FILE.search(tail) else None


def globals_of(m: Machine, env: Value | None, node: ast.AST, frame: Frame) -> dict[str, Value]:
    """Return what an environment gives to all its templates; functions as what they return."""
    if not isinstance(env, Obj) or not isinstance(table := env.attrs.get("globals"), DictV):
        return {}
    return {k: called(m, v, node, frame) for k, v in text.keys_of(table).items()}


def called(m: Machine, value: Value, node: ast.AST, frame: Frame) -> Value:
    """Return what a function given to a template returns when the template calls it."""
    from promptlint.frontends.python.library import library

    if isinstance(value, Ext):
        given = Arguments()
        cause = library.volatile(m, value.path, given, node, frame)  # type: ignore[arg-type]
        if cause is not None:
            cause = replace(cause, what=f"{'.'.join(value.path.split('.')[-2:])}()")
        return Unknown(frame.module.place(node), name=value.path, cause=cause)
    if not isinstance(node, ast.expr):
        return value
    if isinstance(value, Obj):
        return protocols.special(m, value, ("__call__",), [], node, frame) or value
    if isinstance(value, Bound) and isinstance(value.func, FuncV):
        me = [value.receiver] if value.receiver is not None else []
        return functions.invoke(m, value.func, [*me, *value.args], value.keywords, node, frame)
    return functions.invoke(m, value, [], {}, node, frame) if isinstance(value, FuncV) else value


def made(m: Machine, path: str, given: Arguments, node: ast.Call, frame: Frame) -> Value | None:
    """Return a message or template object, as the catalogue's sinks describe the call."""
    short = path.rsplit(".", 1)[-1]
    if short in ("get_template", "select_template") and given.args:
        name = access.plain(given.args[0]) or _tail(given.args[0])
        return template_file(m, name, None, node, frame) if isinstance(name, str) else None
    if short == "from_string" and given.args and (written := text.known_text(given.args[0])) is not None:
        return Template(dialect_parts(m, written, "jinja"), kind="jinja")
    sink = m.sink(path)
    if sink is None:
        return None
    if sink.returns == "message":
        return message(m, sink, given, node, frame)
    if sink.returns == "template":
        return template(m, sink, given, node, frame)
    if sink.surface == "config":
        options = Obj(kind="options", name=short, place=frame.module.place(node))
        options.attrs.update(given.keywords)
        return options
    if sink.surface == "engine" and sink.dialect:
        source = carried(sink, given, "template")
        values = carried(sink, given, "values")
        if isinstance(source, Str):
            fields = text.keys_of(values) if isinstance(values, DictV) else {}
            return Str(
                text.fill(
                    dialect_parts(m, source.parts, sink.dialect), {**fields, **given.keywords}, None, False
                )
            )
    return None


def carried(sink: Sink, given: Arguments, *what: str) -> Value | None:
    """Return the first argument that carries one of these things."""
    for where, carries in sink.arguments.items():
        if carries in what:
            value = given.get(int(where)) if where.isdigit() else given.get(where)
            if value is not None:
                return value
    return None


def message(m: Machine, sink: Sink, given: Arguments, node: ast.Call, frame: Frame) -> Value:
    """Return a message object: its role and content, or a place for earlier turns."""
    place = frame.module.place(node)
    history = carried(sink, given, "history")
    if history is not None:
        name = access.plain(history)
        return Obj(kind="placeholder", name=name if isinstance(name, str) else "history", place=place)
    obj = Obj(kind="message", name=sink.role, place=place)
    role = carried(sink, given, "role")
    obj.attrs["role"] = role if role is not None else Const(sink.role)
    obj.name = sink.role or speaker(obj.attrs["role"])
    content = carried(sink, given, "content", "template", "system", "user")
    obj.attrs["content"] = content if content is not None else Unknown(place, name="content")
    m.recorder.message(m, obj, node, frame)
    return obj


def template(m: Machine, sink: Sink, given: Arguments, node: ast.Call, frame: Frame) -> Value | None:
    """Return a prompt template object."""
    place = frame.module.place(node)
    fields: dict[str, Value] = {}
    parts: list[Part] = []
    messages: list[Value] = []
    format_name = access.plain(given.get("template_format") or Const(None))
    dialect = "jinja" if format_name == "jinja2" else str(format_name or sink.dialect or "f-string")
    for where, carries in sink.arguments.items():
        value = given.get(int(where)) if where.isdigit() else given.get(where)
        if value is None:
            continue
        if carries == "values" and isinstance(value, DictV):
            fields |= {k: called(m, v, node, frame) for k, v in text.keys_of(value).items()}
        elif carries == "template" and isinstance(value, Template):
            parts.extend(value.parts)
        elif carries == "template" and isinstance(value, Str):
            parts.extend(dialect_parts(m, value.parts, dialect))
        elif carries == "template" and isinstance(value, Choice):
            parts.extend(text.parts_of(value, place, where))
        elif carries == "examples":
            parts.append(Hole(place, where, "examples", value.cause))
        elif carries == "selector":
            at = frame.module.place(given.nodes.get(where, node))
            chosen = Cause(Kind.RETRIEVED, Scope.REQUEST, where, Confidence.HIGH, at)
            parts.append(Hole(at, where, "examples", chosen))
        elif carries in ("messages", "templates"):
            messages = _messages(m, value, dialect, node, frame)
            if carries == "templates":
                messages = [_with_fields(m, one, dialect) for one in messages]
    if not parts and not messages:
        return None
    if messages:
        out = Template((), fields, sink.role, "messages", tuple(messages))
    else:
        out = Template(tuple(parts), fields, sink.role, "engine" if sink.surface == "engine" else "")
    m.recorder.template(m, out, node, frame)
    return out


def _with_fields(m: Machine, value: Value, dialect: str) -> Value:
    """Return a message object with its text as a template; anything else as it is."""
    content = value.attrs.get("content") if isinstance(value, Obj) and value.kind == "message" else None
    if not isinstance(value, Obj) or not isinstance(content, Str):
        return value
    out = Obj(kind="message", name=value.name, place=value.place)
    out.attrs = {**value.attrs, "content": Str(dialect_parts(m, content.parts, dialect))}
    return out


def _messages(m: Machine, value: Value, dialect: str, node: ast.Call, frame: Frame) -> list[Value]:
    """Return the messages of a chat template: tuples, texts, message objects, placeholders."""
    place = frame.module.place(node)
    if not isinstance(value, ListV):
        return [value]
    out: list[Value] = []
    for item in value.items:
        entry = item.value
        if (
            isinstance(entry, ListV)
            and len(entry.items) == 2
            and isinstance(role := access.plain(entry.items[0].value), str)
        ):
            content = entry.items[1].value
            if role == "placeholder":
                name = access.plain(content)
                out.append(Obj(kind="placeholder", name=str(name or "history").strip("{}"), place=place))
                continue
            obj = Obj(kind="message", name=role_of(role), place=place)
            if isinstance(content, Str):
                content = Str(dialect_parts(m, content.parts, dialect))
            obj.attrs = {"role": Const(role_of(role)), "content": content}
            out.append(obj)
        elif isinstance(entry, Template) and entry.kind != "messages":
            obj = Obj(kind="message", name=entry.role or "user", place=place)
            obj.attrs = {"role": Const(entry.role or "user"), "content": entry}
            out.append(obj)
        else:
            out.append(entry)
    return out


def _environment(m: Machine, given: Arguments, node: ast.Call, frame: Frame) -> Value | None:
    obj = Obj(kind="jinja-env", name="env", place=frame.module.place(node))
    obj.attrs["globals"] = DictV(0)
    obj.attrs["filters"] = DictV(0)
    obj.attrs.update((name, given.keywords[name]) for name in _MARKS if name in given.keywords)
    if (loader := given.get("loader")) is not None:
        obj.attrs["loader"] = loader
    return obj


def _loader(m: Machine, given: Arguments, node: ast.Call, frame: Frame) -> Value | None:
    """Return a loader that takes templates from a mapping, or from other loaders: ``DictLoader(TEMPLATES)``."""
    if not given.args or not isinstance(given.args[0], DictV | ListV):
        return None
    obj = Obj(kind="jinja-loader", name="loader", place=frame.module.place(node))
    obj.attrs["source"] = given.args[0]
    return obj


def _loaded(loader: Value | None, name: str) -> Value | None:
    """Return the text that a loader has under a name."""
    source = loader.attrs.get("source") if isinstance(loader, Obj) and loader.kind == "jinja-loader" else None
    if isinstance(source, DictV):
        return source.get(name)
    loaders = [item.value for item in source.items] if isinstance(source, ListV) else []
    return next((found for one in loaders if (found := _loaded(one, name)) is not None), None)


def _context(m: Machine, env: Value | None) -> Context:
    """Return the world of a template, with the marks of its environment: ``variable_start_string="${"``."""
    context = m.project.context
    told = [access.plain(env.attrs.get(name, NONE)) if isinstance(env, Obj) else None for name in _MARKS]
    if not any(told):
        return context
    usual = (*context.delimiters.variable, *context.delimiters.block)
    marks = [one if isinstance(one, str) and one else other for one, other in zip(told, usual, strict=True)]
    return replace(context, delimiters=Delimiters((marks[2], marks[3]), (marks[0], marks[1])))


def environment_method(
    m: Machine, env: Obj, name: str, given: Arguments, node: ast.Call, frame: Frame
) -> Value | None:
    """Return the result of a method of a Jinja environment."""
    first = given.args[0] if given.args else None
    if name in ("get_template", "select_template") and first is not None:
        plain = access.plain(first) or _tail(first)
        loaded = _loaded(env.attrs.get("loader"), plain) if isinstance(plain, str) else None
        if loaded is not None and (written := text.known_text(loaded)) is not None:
            return Template(dialect_parts(m, written, "jinja"), globals_of(m, env, node, frame), kind="jinja")
        found = template_file(m, plain, env, node, frame) if isinstance(plain, str) else None
        return found or Unknown(frame.module.place(node), name="template", path="template")
    if name == "from_string" and first is not None and (written := text.known_text(first)) is not None:
        return Template(
            dialect_parts(m, written, "jinja", env), globals_of(m, env, node, frame), kind="jinja"
        )
    return None


HANDLERS: dict[str, Callable[..., Value | None]] = {
    "jinja2.Environment": _environment,
    "jinja2.environment.Environment": _environment,
    "jinja2.sandbox.SandboxedEnvironment": _environment,
    "jinja2.sandbox.ImmutableSandboxedEnvironment": _environment,
    "jinja2.nativetypes.NativeEnvironment": _environment,
    "jinja2.DictLoader": _loader,
    "jinja2.ChoiceLoader": _loader,
    "jinja2.loaders.DictLoader": _loader,
    "jinja2.loaders.ChoiceLoader": _loader,
}
