"""Methods of values that are known: text, lists, mappings, templates."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from promptlint.frontends.python.evaluate import (
    access,
    entering,
    mappings,
    members,
    objects,
    protocols,
    scrambling,
    shaping,
    text,
)
from promptlint.frontends.python.evaluate.machine import Frame, Machine, passed
from promptlint.frontends.python.library import collecting, engines, files, patterns, unknown
from promptlint.frontends.python.values import known
from promptlint.frontends.python.values.pieces import (
    MAX_PARTS,
    Alt,
    Hole,
    Lit,
    Loop,
    Part,
    Seg,
    map_holes,
    worst,
)
from promptlint.frontends.python.values.values import (
    NONE,
    STORED,
    Choice,
    ClassV,
    DictV,
    FuncV,
    Item,
    ListV,
    Obj,
    Str,
    Template,
    Unknown,
    Value,
    choice,
)
from promptlint.layout import Step
from promptlint.words import shortened

if TYPE_CHECKING:
    from promptlint.frontends.python.values.arguments import Arguments

Handler = Callable[[Machine, "Value", "Arguments", ast.Call, Frame], Value]
_CASES = {"upper": str.upper, "lower": str.lower, "casefold": str.casefold, "swapcase": str.swapcase}
_KEEPING = {"title", "capitalize", "encode", "decode", "expandtabs"}
_TESTS = {
    "startswith",
    "endswith",
    "isdigit",
    "isalpha",
    "find",
    "index",
    "count",
    "rfind",
    "isspace",
    "islower",
    "isupper",
}


def method(m: Machine, receiver: Value, name: str, given: Arguments, node: ast.Call, frame: Frame) -> Value:
    """Return ``receiver.name(...)``."""
    if isinstance(receiver, Str):
        return _text(m, receiver, name, given, node, frame)
    if isinstance(receiver, ListV):
        return _list(m, receiver, name, given, node, frame)
    if isinstance(receiver, DictV):
        return _dict(m, receiver, name, given, node, frame)
    if isinstance(receiver, Template):
        return template(m, receiver, name, given, node, frame)
    if isinstance(receiver, Obj) and receiver.kind == "buffer":
        return _buffer(m, receiver, name, given, node, frame)
    if isinstance(receiver, Obj) and receiver.kind == "future" and name in receiver.attrs:
        return receiver.attrs[name]
    if isinstance(receiver, Obj) and receiver.kind == "dialog":
        from promptlint.frontends.python.library import dialogs

        return dialogs.method(m, receiver, name, given, node, frame)
    if isinstance(receiver, Obj) and name == "__init__":
        objects.begun(receiver, given.keywords, frame.module.place(node))
        return NONE
    if isinstance(receiver, Obj):
        if (of_data := mappings.method(m, receiver, name, given, node, frame)) is not None:
            return of_data
        of_kind = (
            files.method
            if receiver.kind == "path"
            else patterns.method
            if receiver.kind in patterns.KINDS
            else engines.environment_method
        )
        made = of_kind(m, receiver, name, given, node, frame)
        if made is not None:
            return made
        kind = "pathlib.Path()" if receiver.kind == "path" else receiver.name
        return unknown.call(m, Unknown(None, name=name, path=f"{kind}.{name}"), given, node, frame)
    if isinstance(receiver, FuncV) and name in ("invoke", "ainvoke", "run", "call", "func", "partial"):
        from promptlint.frontends.python.evaluate.functions import invoke

        return invoke(m, receiver, given.args, given.keywords, node, frame, given.rest)
    if isinstance(receiver, ClassV) and name == "__subclasses__":
        from promptlint.frontends.python.evaluate.registering import subclasses

        return subclasses(m, receiver)
    return Unknown(frame.module.place(node), name=name, cause=worst(receiver.cause, given.cause))


def _buffer(m: Machine, value: Obj, name: str, given: Arguments, node: ast.Call, frame: Frame) -> Value:
    """Return a method of a text buffer, ``io.StringIO``."""
    written = value.attrs["written"]
    if name in ("getvalue", "read") and isinstance(written, ListV):
        return text.joined((), written.items, written.order, frame.module.place(node))
    if name in ("write", "writelines") and given.args:
        for one in [given.args[0]] if name == "write" else members.elements(given.args[0]) or []:
            _list(m, written, "append", replace(given, args=[one]), node, frame)  # type: ignore[arg-type]
    return NONE


def _text(m: Machine, value: Str, name: str, given: Arguments, node: ast.Call, frame: Frame) -> Value:
    place = frame.module.place(node)
    if not given.keywords and (result := known.text_method(value, name, given.args)) is not None:
        return result
    if name in ("format", "format_map"):
        return formatted(m, value, name, given, node, frame)
    if name == "join":
        return join(m, value, given, node, frame)
    if name in ("strip", "lstrip", "rstrip"):
        chars = access.plain(given.args[0]) if given.args else None
        return shaping.stripped(value, name, chars if isinstance(chars, str) else None)
    if name == "replace" and len(given.args) >= 2:
        return replaced(value, given.args[0], given.args[1], node, frame)
    if name in _CASES:
        return shaping.recased(value, _CASES[name])
    if name in _KEEPING or name in ("removeprefix", "removesuffix", "ljust", "rjust", "center", "zfill"):
        return value
    if name in _TESTS:
        return Unknown(place, name=name, multiline=False)
    if name == "splitlines" and (lines := shaping.split_lines(value)) is not None:
        return lines
    if name in ("split", "splitlines", "rsplit", "partition"):
        return Unknown(place, name="", cause=value.cause)
    return Unknown(place, name=name, cause=value.cause)


def formatted(m: Machine, value: Str, name: str, given: Arguments, node: ast.Call, frame: Frame) -> Value:
    """Return ``text.format(...)``; the recorder hears of it."""
    values: dict[str, Value] = {str(i): a for i, a in enumerate(given.args)} | given.keywords
    rest = given.rest
    if name == "format_map":
        mapping = protocols.iterated(m, given.args[0], node, frame) if given.args else None
        values = text.keys_of(mapping) if isinstance(mapping, DictV) else {}
        rest = mapping if mapping is not None and not isinstance(mapping, DictV) else None
        if isinstance(mapping, DictV) and mapping.rest:
            rest = mapping.rest[0]
    parts = text.with_fields(value.parts, "format")
    parts = _numbered(parts)
    place = frame.module.place(node)
    nodes = {str(k): v for k, v in given.nodes.items()}
    steps = {k: Step(frame.module.place(nodes[k]) if k in nodes else place, f"given as {k}") for k in values}
    values = {k: protocols.shown(m, v, node, frame) or v for k, v in values.items()}
    values = {k: passed(v, steps[k].place, steps[k].note) for k, v in values.items()}
    result = entering.filled(Str(_given(text.fill(parts, values, rest, False), steps)), value, steps)
    m.recorder.filled(m, result, value, node, frame)
    return result


def _given(parts: tuple[Part, ...], steps: Mapping[str, Step]) -> tuple[Part, ...]:
    """Tell values of which nothing is known yet where they were given, by the fields that they fill."""

    def told(part: Hole) -> Hole:
        step = steps.get(part.field) if part.cause is None and part.given is None else None
        return replace(part, given=step) if step is not None else part

    return map_holes(parts, told)


def _numbered(parts: tuple[Part, ...]) -> tuple[Part, ...]:
    """Give automatic fields ``{}`` their numbers."""
    count = 0
    out: list[Part] = []
    for part in parts:
        if isinstance(part, Seg) and part.segment.text is None and part.segment.origin.name == "":
            segment = part.segment
            part = Seg(replace(segment, origin=replace(segment.origin, name=str(count))))
            count += 1
        out.append(part)
    return tuple(out)


def join(m: Machine, separator: Str, given: Arguments, node: ast.Call, frame: Frame) -> Value:
    """Return ``separator.join(items)``."""
    place = frame.module.place(node)
    items = protocols.iterated(m, given.args[0], node, frame) if given.args else None
    if isinstance(items, ListV):
        loops = scrambling.loops(frame) if items.order is not None else ()
        return text.joined(separator.parts, items.items, items.order, place, loops)
    if isinstance(items, Choice) and all(isinstance(v, ListV) and v.order is None for v in items.values):
        texts = [
            text.joined(separator.parts, v.items, None, place) for v in items.values if isinstance(v, ListV)
        ]
        return choice(items.guard, texts)
    if isinstance(items, DictV):
        return Unknown(place, name="", cause=items.cause)
    if isinstance(items, Str):
        return items
    if items is None:
        return Str(())
    name = items.name if isinstance(items, Unknown) else ""
    return Unknown(place, name=name, path=name, cause=items.cause)


def replaced(value: Str, old: Value, new: Value, node: ast.Call, frame: Frame) -> Str:
    """Return ``text.replace(old, new)``: a placeholder that stands in known text becomes a field."""
    wanted = access.plain(old)
    if not isinstance(wanted, str) or not wanted:
        return Str((*value.parts,))
    place = frame.module.place(node.args[1]) if len(node.args) > 1 else frame.module.place(node)
    written = frame.module.text(node.args[1]) if len(node.args) > 1 else ""
    at = Step(place, f"put in place of {shortened(wanted)}")
    return Str(_replaced(value.parts, wanted, passed(new, at.place, at.note), at, written))


def field_of(wanted: str) -> str:
    """Return the name that a placeholder bears: `TASK_DESCRIPTION`, `{{question}}`, `[[DATE]]`, `<city>`."""
    name = wanted.strip("{}[]()<>$%#@ ")
    return name.lower() if name.isidentifier() else ""


def _replaced(parts: tuple[Part, ...], wanted: str, new: Value, at: Step, written: str) -> tuple[Part, ...]:
    name = field_of(wanted)
    out: list[Part] = []
    for part in parts:
        if isinstance(part, Lit) and wanted in part.text:
            end = 0
            while len(out) <= MAX_PARTS and (found := part.text.find(wanted, end)) >= 0:
                if found > end:
                    out.append(part.cut(end, found))
                field = part.cut(found, found + len(wanted)).place() if not part.whole else at.place
                fresh = text.parts_of(new, field, written)
                given = None if part.whole else at
                out.extend(
                    replace(p, place=field, given=given, field=name) if isinstance(p, Hole) else p
                    for p in fresh
                )
                end = found + len(wanted)
            if end < len(part.text):
                out.append(part.cut(end, len(part.text)))
        elif isinstance(part, Alt):
            out.append(Alt(part.guard, tuple(_replaced(b, wanted, new, at, written) for b in part.branches)))
        elif isinstance(part, Loop):
            out.append(Loop(part.guard, _replaced(part.parts, wanted, new, at, written)))
        else:
            out.append(part)
    return tuple(out)


def _list(m: Machine, value: ListV, name: str, given: Arguments, node: ast.Call, frame: Frame) -> Value:
    guards = m.since(value.depth)
    first = given.args[0] if given.args else None
    if name in ("append", "add", "appendleft", "extend", "insert") and value.kind != "set":
        m.scramble(value)
    if name in ("append", "add", "appendleft") and first is not None:
        item = Item(
            first, guards, place=frame.module.place(node.args[0]) if isinstance(first, Unknown) else None
        )
        if name == "appendleft":
            value.items.insert(0, item)
        else:
            value.items.append(item)
        return NONE
    if name in ("extend", "update") and first is not None:
        room = max(0, members.MAX_ITEMS - len(value.items))
        for item in members.items(m, first, node.args[0], frame)[:room]:
            value.items.append(Item(item.value, guards + item.guards, item.spread, item.place))
        if isinstance(first, ListV) and first.order is not None:
            value.order = value.order or first.order
        return NONE
    if name == "insert" and len(given.args) == 2:
        index = access.plain(first) if first is not None else None
        m.recorder.inserted(m, value, index, given.args[1], node, frame)
        at = index if isinstance(index, int) else len(value.items)
        value.items.insert(at, Item(given.args[1], guards))
        return NONE
    if name in ("pop", "popleft", "remove", "clear"):
        m.recorder.dropped(m, value, name, given, node, frame)
        if name == "clear":
            value.items.clear()
        elif name == "pop" and not guards and not m.loops:
            found = known.remove(value, access.plain(first) if first is not None else -1)
            if found is not None:
                return found
        elif name == "remove" and first is not None and not guards and value.known():
            same = (i for i, item in enumerate(value.items) if known.compared(ast.Eq(), item.value, first))
            known.remove(value, next(same, None))
        return Unknown(frame.module.place(node), name=value.name)
    if name in ("sort", "reverse"):
        if name == "sort":
            if guards:
                value.order, value.items[:] = None, collecting.settled(value.items)
            else:
                collecting.arrange(m, value, given, node, frame)
        elif not guards and not m.loops:
            value.items.reverse()
        return NONE
    if name in ("copy", "union", "intersection", "difference", "symmetric_difference"):
        out = ListV(list(value.items), value.kind, value.order, len(m.guards))
        out.name, out.owner = value.name, value.owner
        if name != "copy" and value.kind == "set":
            return members.unordered(m, out.items, node, frame)
        return out
    return Unknown(frame.module.place(node), name=value.name, multiline=False)


def _dict(m: Machine, value: DictV, name: str, given: Arguments, node: ast.Call, frame: Frame) -> Value:
    from promptlint.frontends.python.evaluate.calls import entries

    place = frame.module.place(node)
    key = access.plain(given.args[0]) if given.args else None
    if name in ("get", "pop", "setdefault"):
        found = value.get(key)
        if name == "pop":
            value.entries.pop(key, None)
        if found is not None:
            return found
        if name == "setdefault" and len(given.args) > 1 and key is not None:
            value.entries[key] = Item(given.args[1], m.since(value.depth))
            return given.args[1]
        first = given.args[1] if len(given.args) > 1 else None
        if name == "setdefault" and isinstance(first, STORED):
            value.rest.append(first)
            return access.kept(first)
        if first is not None and not value.rest and key is not None:
            return first
        if key is None and len(value.rest) == 1 and isinstance(value.rest[0], STORED):
            return access.kept(value.rest[0])
        label = key if isinstance(key, str) else getattr(given.args[0], "name", "") if given.args else ""
        if not value.rest and value.entries and key is None and given.args:
            return access._any_of(m, [i.value for i in value.entries.values()], node, given.args[0], frame)
        return Unknown(place, name=label, cause=worst(*(r.cause for r in value.rest)))
    if name == "items":
        return entries(value, place)
    if name == "keys":
        keys = [
            pair.value.items[0] if isinstance(pair.value, ListV) else pair
            for pair in entries(value, place).items
        ]
        return ListV(keys, order=value.order)
    if name == "values":
        items = [Item(i.value, i.guards) for i in value.entries.values()]
        return ListV(items + [Item(r, spread=True) for r in value.rest], order=value.order)
    if name == "update":
        m.scramble(value)
        for other in given.args:
            mappings.update(value, other)
        for keyword, item in given.keywords.items():
            value.entries[keyword] = Item(item, m.since(value.depth))
        return NONE
    if name == "copy":
        return mappings.copy_dict(value, len(m.guards))
    return Unknown(place, cause=value.cause)


def template(m: Machine, value: Template, name: str, given: Arguments, node: ast.expr, frame: Frame) -> Value:
    """Return what a prompt template object gives: filled text, or the template with more fields set."""
    values = dict(given.keywords)
    mapping = given.get(0, "input", "inputs", "template_data", "arguments", "kwargs")
    if isinstance(mapping, DictV):
        values |= text.keys_of(mapping)
    values.pop("input", None) if isinstance(mapping, DictV) and "input" not in text.keys_of(mapping) else None
    place = frame.module.place(node)
    steps: dict[str, Step] = {}
    # A callable given for a field is called each time the template is filled.
    for key, item in list(values.items()):
        if isinstance(item, FuncV):
            from promptlint.frontends.python.evaluate.functions import invoke

            item = invoke(m, item, [], {}, node, frame)
        at = frame.module.place(given.nodes[key]) if key in given.nodes else place
        steps[key] = Step(at, f"given as {key}")
        values[key] = passed(item, at, steps[key].note)
    merged = {**value.fields, **values}
    if name in ("partial", "bind", "assign", "with_config"):
        out = replace(value, fields=merged)
        m.recorder.template(m, out, node, frame)
        return out
    if name in (
        "format",
        "invoke",
        "ainvoke",
        "format_messages",
        "format_prompt",
        "render",
        "substitute",
        "safe_substitute",
        "run",
        "arun",
        "aformat",
        "aformat_messages",
        "aformat_prompt",
        "render_async",
        "generate",
        "ainvoke",
        "stream",
        "astream",
        "batch",
        "to_messages",
        "to_string",
        "compile",
        "fill",
        "build",
    ):
        filled = replace(value, fields=merged)
        m.recorder.template(m, filled, node, frame, final=True)
        if value.kind == "messages":
            return ListV([Item(v) for v in filled_messages(filled)])
        return Str(_given(text.fill(value.parts, merged, given.rest, False), steps))
    if name in ("pipe", "with_structured_output", "__or__"):
        return value
    return Unknown(place, name=name, cause=given.cause)


def filled_messages(value: Template) -> list[Value]:
    """Return the messages of a chat template with its fields filled in."""
    out: list[Value] = []
    for message in value.messages:
        if isinstance(message, Obj) and message.kind == "message":
            copy = Obj(kind="message", name=message.name, place=message.place)
            copy.attrs = dict(message.attrs)
            content = message.attrs.get("content")
            if isinstance(content, Str):
                copy.attrs["content"] = Str(text.fill(content.parts, value.fields, None, False))
            elif isinstance(content, Template):
                copy.attrs["content"] = Str(
                    text.fill(content.parts, {**content.fields, **value.fields}, None, False)
                )
            out.append(copy)
        elif isinstance(message, Template) and message.kind == "messages":
            out.extend(filled_messages(replace(message, fields={**value.fields, **message.fields})))
        else:
            out.append(message)
    return out
