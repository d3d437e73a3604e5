"""Expressions to values."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace

from promptlint.frontends.mapped import MappedText
from promptlint.frontends.python.evaluate import (
    access,
    calls,
    comprehensions,
    counting,
    deciding,
    mappings,
    members,
    methods,
    protocols,
    text,
)
from promptlint.frontends.python.evaluate.conditions import guard_of, name_in, truth
from promptlint.frontends.python.evaluate.machine import Frame, Machine, fixed
from promptlint.frontends.python.library import files
from promptlint.frontends.python.syntax.strings import Field, scan
from promptlint.frontends.python.values import known
from promptlint.frontends.python.values.arguments import Arguments
from promptlint.frontends.python.values.pieces import MAX_PARTS, Lit, Part, TextSource, worst
from promptlint.frontends.python.values.values import (
    NONE,
    Const,
    DictV,
    FuncV,
    Item,
    ListV,
    Str,
    Template,
    Unknown,
    Value,
    choice,
)
from promptlint.layout import Guard, Kind
from promptlint.source import Place

_LONGEST = 1_000_000  # characters of a text that is written many times over


def evaluate(m: Machine, node: ast.expr, frame: Frame) -> Value:
    """Return the value of an expression; never raises for what the program does."""
    if m.spend():
        return Unknown(frame.module.place(node))
    handler = _HANDLERS.get(type(node))
    if handler is None:
        return Unknown(frame.module.place(node))
    return handler(m, node, frame)


def _constant(m: Machine, node: ast.Constant, frame: Frame) -> Value:
    # A constant is the same value each time; it is made once and kept on its node.
    known: Value | None = getattr(node, "_value", None)
    if known is None:
        if not isinstance(node.value, str):
            known = NONE if node.value is None else Const(node.value)
        else:
            known = Str((_lit(frame, node, node.value),)) if node.value else Str(())
        node._value = known  # type: ignore[attr-defined]
    return known


def _lit(frame: Frame, node: ast.AST, value: str) -> Lit:
    module = frame.module

    def make() -> MappedText:
        place = module.place(node)
        pieces = scan(module.path, module.source.text, place.span.start, place.span.end)
        if len(pieces) == 1 and isinstance(pieces[0], MappedText) and pieces[0].text == value:
            return pieces[0]
        return MappedText(module.path, value, ((0, place.span.start),), place.span.end)

    return Lit(value, TextSource(module.path, make))


def _joined(m: Machine, node: ast.JoinedStr, frame: Frame) -> Value:
    module = frame.module
    pieces = module.pieces.get(id(node))
    if pieces is None:
        span = module.place(node).span
        pieces = scan(module.path, module.source.text, span.start, span.end, MAX_PARTS)
        module.pieces[id(node)] = pieces
    parts: list[Part] = []
    for piece in pieces:
        parts.extend(_piece(m, piece, frame))
        if len(parts) > MAX_PARTS:
            break  # one more than a text may have: it is cut, and says so
    return Str(tuple(parts))


def _piece(m: Machine, piece: MappedText | Field, frame: Frame) -> tuple[Part, ...]:
    if isinstance(piece, MappedText):
        lit = frame.module.literals.get(id(piece))
        if lit is None:
            lit = frame.module.literals[id(piece)] = Lit(piece.text, TextSource(piece.path, lambda: piece))
        return (lit,)
    place = frame.module.source.place(*piece.outer)
    written = " ".join(frame.module.source.text[piece.start : piece.end].split())
    inner = frame.module.expression(piece)
    if inner is None:
        return text.parts_of(Unknown(place, name=written), place, written)
    value = m.evaluate(inner, frame)
    if piece.debug:
        start = piece.outer[0] + 1
        label = frame.module.source.text[start : piece.label_end]
        lead = Lit(
            label,
            TextSource(place.path, lambda: MappedText(place.path, label, ((0, start),), piece.label_end)),
        )
        return (lead, *_field(m, piece, value, place, written, frame))
    return _field(m, piece, value, place, written, frame)


def _field(
    m: Machine, piece: Field, value: Value, place: Place, written: str, frame: Frame
) -> tuple[Part, ...]:
    """Return a field's value as its conversion and format show it."""
    conversion = piece.conversion or ("r" if piece.debug and not piece.spec else "")
    spec = "".join(p.text for p in piece.spec if isinstance(p, MappedText))
    if any(isinstance(p, Field) for p in piece.spec):
        return text.parts_of(
            Unknown(place, name=getattr(value, "name", ""), cause=value.cause), place, written[:80]
        )
    if (conversion or spec) and known.constant(value) is not None:
        shown = known.converted(value, conversion) if conversion else None
        result = shown if not spec else known.formatted(value if shown is None else Const(shown), spec)
        if result is not None:
            return (Lit(result, fixed(place, result), whole=True),) if result else ()
    if spec:
        value = access.formatted(m, value, spec)
    value = protocols.shown(m, value, frame.module.expression(piece), frame) or value
    if conversion == "r" and isinstance(value, Str):
        quote = Lit(
            "'",
            TextSource(
                place.path, lambda: MappedText(place.path, "'", ((0, place.span.start),), place.span.end)
            ),
            whole=True,
        )
        return (quote, *text.parts_of(value, place, written), quote)
    return text.parts_of(value, place, written[:80])


def _name(m: Machine, node: ast.Name, frame: Frame) -> Value:
    return access.name(m, node.id, node, frame)


def _attribute(m: Machine, node: ast.Attribute, frame: Frame) -> Value:
    return counting.counted(
        node, access.attribute(m, m.evaluate(node.value, frame), node.attr, node, frame), frame
    )


def _subscript(m: Machine, node: ast.Subscript, frame: Frame) -> Value:
    return access.subscript(m, m.evaluate(node.value, frame), node, frame)


def _binary(m: Machine, node: ast.BinOp, frame: Frame) -> Value:
    left, right = m.evaluate(node.left, frame), m.evaluate(node.right, frame)
    place = frame.module.place(node)
    if (made := protocols.operated(m, node, left, right, frame)) is not None:
        return made
    if isinstance(node.op, ast.Add):
        if isinstance(left, Str) or isinstance(right, Str):
            if isinstance(left, (ListV, DictV)) or isinstance(right, (ListV, DictV)):
                return left if isinstance(left, ListV) else right
            return Str(
                text.parts_of(left, frame.module.place(node.left), frame.module.text(node.left))
                + text.parts_of(right, frame.module.place(node.right), frame.module.text(node.right))
            )
        if isinstance(node.left, ast.Subscript):
            m.recorder.spliced(m, left, node, frame)
        if isinstance(left, ListV) or isinstance(right, ListV):
            items = [*members.items(m, left, node.left, frame), *members.items(m, right, node.right, frame)]
            order = worst(
                left.order if isinstance(left, ListV) else None,
                right.order if isinstance(right, ListV) else None,
            )
            return ListV(items, order=order, depth=len(m.guards))
    if isinstance(node.op, ast.Div) and (path := files.joined(left, right)) is not None:
        return path
    if isinstance(node.op, ast.Mod) and isinstance(left, Str):
        return calls.percent(m, left, right, place)
    if isinstance(node.op, ast.BitOr):
        if isinstance(right, Template):
            return _piped(m, left, right, node, frame)
        if isinstance(left, Template):
            return left
        if isinstance(right, FuncV):  # a chain gives what its last function does
            return right
        if isinstance(left, DictV) or isinstance(right, DictV):
            merged = DictV(len(m.guards), place)
            mappings.update(merged, left)
            mappings.update(merged, right)
            return merged
    if isinstance(node.op, (ast.BitAnd, ast.Sub, ast.BitXor, ast.BitOr)) and _is_set(left, right):
        return _combined(m, node, left, right, frame)
    if isinstance(node.op, ast.Mult):
        for written, times in ((left, right), (right, left)):
            if isinstance(written, Str):
                return _repeated(written, times)
    if isinstance(left, Const) and isinstance(right, Const):
        return known.arithmetic(node.op, left, right)
    return Unknown(
        place,
        name=frame.module.text(node, 40),
        cause=worst(left.cause, right.cause),
        loop=_counted(left) or _counted(right),  # step + 1
        multiline=False,
    )


def _piped(m: Machine, values: Value, template: Template, node: ast.BinOp, frame: Frame) -> Value:
    """Return a template behind what fills it: ``{"now": lambda x: clock(), "question": …} | prompt | model``.

    So does a function that gives such a mapping.
    """
    if isinstance(values, FuncV):
        from promptlint.frontends.python.evaluate.functions import invoke

        values = invoke(m, values, [], {}, node, frame)
    if not isinstance(values, DictV):
        return template
    made = {
        key: item
        for key, item in text.keys_of(values).items()
        if isinstance(item, FuncV) or item.cause is not None
    }
    return methods.template(m, template, "partial", Arguments([], made), node, frame) if made else template


def _counted(value: Value) -> int:
    """Return the loop whose counter a value is; 0 for others, and for an entry under one."""
    return value.loop if isinstance(value, Unknown) and "[" not in value.path else 0


def _repeated(value: Str, times: Value) -> Str:
    """Return a text written several times: ``"-" * 40``; once where that is too long or not known."""
    count = times.value if isinstance(times, Const) else None
    if not value.parts or not isinstance(count, int) or isinstance(count, bool) or count < 1:
        return value
    if (plain := value.plain()) is None:
        return Str(value.parts * count) if count * len(value.parts) <= MAX_PARTS else value
    first = value.parts[0]
    if not isinstance(first, Lit) or count * len(plain) > _LONGEST:
        return value
    return Str((replace(first, text=plain * count, whole=True),))


def _combined(m: Machine, node: ast.BinOp, left: Value, right: Value, frame: Frame) -> ListV:
    """Return what is made of two sets: of a union both, in the order of a set that was there before."""
    sides = [(left, node.left), (right, node.right)]
    if isinstance(node.op, ast.Sub) or (isinstance(node.op, ast.BitAnd) and isinstance(left, ListV)):
        del sides[1]
    items = [
        item
        for value, written in sides
        for item in (value.items if isinstance(value, ListV) else members.items(m, value, written, frame))
    ]
    if not isinstance(node.op, ast.BitOr):
        return members.unordered(m, members.some_of(items), node, frame)
    out = members.unordered(m, items, node, frame)
    before = next((v.order for v in (left, right) if isinstance(v, ListV) and v.order is not None), None)
    out.order = before or out.order
    return out


def _is_set(*values: Value) -> bool:
    return any(isinstance(v, ListV) and v.kind == "set" for v in values)


def _ifexp(m: Machine, node: ast.IfExp, frame: Frame) -> Value:
    test = m.evaluate(node.test, frame)
    certain = truth(test)
    if certain is not None:
        return m.evaluate(node.body if certain else node.orelse, frame)
    guard = guard_of(m, node.test, test, frame)
    with m.under(guard):
        body = m.evaluate(node.body, frame)
    orelse = m.evaluate(node.orelse, frame)
    return choose(guard, body, orelse, frame.module.place(node))


def choose(guard: Guard, first: Value, second: Value, place: object) -> Value:
    """Return one of two values, as text with branches where both are text."""
    if first is second:
        return first
    if isinstance(first, Str) and isinstance(second, Str):
        from promptlint.frontends.python.evaluate.machine import join_parts

        return Str(join_parts(guard, [first.parts, second.parts]))
    return choice(guard, (first, second))


def _is_empty(value: Value) -> bool:
    if isinstance(value, DictV):
        return not value.entries and not value.rest
    return isinstance(value, ListV) and not value.items and value.order is None


def _boolop(m: Machine, node: ast.BoolOp, frame: Frame) -> Value:
    values = [m.evaluate(v, frame) for v in node.values]
    if isinstance(node.op, ast.Or):
        kept: list[tuple[ast.expr, Value]] = []
        for expr, value in zip(node.values, values, strict=True):
            certain = truth(value)
            if certain is False:
                continue
            kept.append((expr, value))
            if certain:
                break
        if not kept:
            return values[-1]
        if len(kept) > 1 and isinstance(kept[-2][1], Unknown) and _is_empty(kept[-1][1]):
            kept.pop()  # `x or {}`: nothing is in it
        if len(kept) > 1 and _has_its_own(*kept[-2], kept[-1][1]):
            kept.pop()
        out = kept[-1][1]
        for expr, value in reversed(kept[:-1]):
            out = choose(guard_of(m, expr, value, frame), value, out, None)
        return out
    truths = [truth(v) for v in values]
    if False in truths:
        return values[truths.index(False)]
    return Unknown(frame.module.place(node), name=name_in(node), cause=worst(*(v.cause for v in values)))


def _has_its_own(expr: ast.expr, value: Value, other: Value) -> bool:
    """Tell whether an identifier is made only for what was given without one: ``call.id or uuid4().hex``."""
    made = other.cause is not None and other.cause.kind is Kind.IDENTIFIER
    if not (made and isinstance(value, Unknown) and isinstance(expr, ast.Attribute)):
        return False
    return (
        expr.attr.endswith("id") and isinstance(expr.value, ast.Name) and expr.value.id not in ("self", "cls")
    )


def _compare(m: Machine, node: ast.Compare, frame: Frame) -> Value:
    left = m.evaluate(node.left, frame)
    others = [m.evaluate(c, frame) for c in node.comparators]
    if (
        isinstance(left, Const)
        and left.value is None
        and isinstance(node.ops[0], ast.Is)
        and isinstance(others[0], Const)
    ):
        return Const(others[0].value is None)
    if len(others) == 1 and (certain := deciding.compared(m, node, left, others[0], frame)) is not None:
        return Const(certain)
    if isinstance(node.ops[0], (ast.In, ast.NotIn)):
        if (there := _holds(left, others[0])) is not None and deciding.is_local(node.comparators[0], frame):
            return Const(there is isinstance(node.ops[0], ast.In))
        # Membership does not read the order of a collection, nor the text of a value.
        return Unknown(frame.module.place(node), name=name_in(node.left), cause=left.cause, multiline=False)
    cause = worst(left.cause, *(o.cause for o in others))
    if cause is not None and cause.kind is Kind.UNORDERED:
        cause = None
    return Unknown(frame.module.place(node), name=name_in(node), cause=cause, multiline=False)


def _holds(key: Value, value: Value) -> bool | None:
    """Tell whether a mapping that is wholly known has a key; None where that is not known."""
    constant = access.plain(key)
    if not isinstance(value, DictV) or value.rest or not isinstance(constant, str):
        return None
    entry = value.entries.get(constant)
    return None if entry is not None and entry.guards else entry is not None


def _unary(m: Machine, node: ast.UnaryOp, frame: Frame) -> Value:
    value = m.evaluate(node.operand, frame)
    if isinstance(node.op, ast.Not):
        certain = truth(value)
        if certain is not None:
            return Const(not certain)
        return Unknown(
            frame.module.place(node), name=name_in(node.operand), cause=value.cause, multiline=False
        )
    if isinstance(value, Const) and isinstance(node.op, ast.USub) and isinstance(value.value, (int, float)):
        return Const(-value.value)
    return value


def _sequence(m: Machine, node: ast.List | ast.Tuple, frame: Frame) -> Value:
    items: list[Item] = []
    for element in node.elts:
        if isinstance(element, ast.Starred):
            items.extend(members.items(m, m.evaluate(element.value, frame), element.value, frame))
        else:
            value = m.evaluate(element, frame)
            # A block that a helper makes, and a value that stands for itself.
            told = isinstance(value, Unknown) or (isinstance(element, ast.Call) and isinstance(value, DictV))
            items.append(Item(value, place=frame.module.place(element) if told else None))
    return ListV(items, "tuple" if isinstance(node, ast.Tuple) else "list", depth=len(m.guards))


def _set(m: Machine, node: ast.Set, frame: Frame) -> Value:
    items = [Item(m.evaluate(e.value if isinstance(e, ast.Starred) else e, frame)) for e in node.elts]
    if len(items) == 1 and not isinstance(node.elts[0], ast.Starred):
        return ListV(items, "set", depth=len(m.guards))
    return members.unordered(m, items, node, frame)


def _dict(m: Machine, node: ast.Dict, frame: Frame) -> Value:
    out = DictV(len(m.guards), frame.module.place(node))
    for key, value in zip(node.keys, node.values, strict=True):
        item = m.evaluate(value, frame)
        if key is None:
            mappings.update(out, item)
            continue
        members.store(m, out, m.evaluate(key, frame), item, key, frame)
    m.recorder.mapping(m, out, node, frame)
    return out


def _lambda(m: Machine, node: ast.Lambda, frame: Frame) -> Value:
    return FuncV(node, frame.module, closure=access.visible(frame))


def _await(m: Machine, node: ast.Await, frame: Frame) -> Value:
    return m.evaluate(node.value, frame)


def _named(m: Machine, node: ast.NamedExpr, frame: Frame) -> Value:
    value = m.evaluate(node.value, frame)
    frame.names[node.target.id] = value
    return value


def _starred(m: Machine, node: ast.Starred, frame: Frame) -> Value:
    return m.evaluate(node.value, frame)


def _yield(m: Machine, node: ast.Yield, frame: Frame) -> Value:
    value = m.evaluate(node.value, frame) if node.value else NONE
    if frame.yields is not None:
        frame.yields.append(Item(value, m.since(frame.depth)))
    return Unknown(frame.module.place(node))


def _yield_from(m: Machine, node: ast.YieldFrom, frame: Frame) -> Value:
    value = m.evaluate(node.value, frame)
    if frame.yields is not None:
        frame.yields.extend(members.items(m, value, node.value, frame))
    return Unknown(frame.module.place(node))


def _slice(m: Machine, node: ast.Slice, frame: Frame) -> Value:
    return Unknown(frame.module.place(node))


_HANDLERS: dict[type[ast.expr], Callable[..., Value]] = {
    ast.Constant: _constant,
    ast.JoinedStr: _joined,
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.Subscript: _subscript,
    ast.Call: calls.call,
    ast.BinOp: _binary,
    ast.IfExp: _ifexp,
    ast.BoolOp: _boolop,
    ast.Compare: _compare,
    ast.UnaryOp: _unary,
    ast.List: _sequence,
    ast.Tuple: _sequence,
    ast.Set: _set,
    ast.Dict: _dict,
    ast.ListComp: comprehensions.collection,
    ast.GeneratorExp: comprehensions.collection,
    ast.SetComp: comprehensions.collection,
    ast.DictComp: comprehensions.mapping,
    ast.Lambda: _lambda,
    ast.Await: _await,
    ast.NamedExpr: _named,
    ast.Starred: _starred,
    ast.Yield: _yield,
    ast.YieldFrom: _yield_from,
    ast.Slice: _slice,
}
