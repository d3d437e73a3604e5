"""Other templates: blocks and their parents, includes and imports."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from jinja2 import nodes

from promptlint.frontends.jinja.bindings import Variables
from promptlint.frontends.jinja.lexer import JinjaError
from promptlint.frontends.jinja.loops import elements
from promptlint.frontends.jinja.parse import Parsed, parse
from promptlint.frontends.jinja.resolve import resolve
from promptlint.frontends.jinja.scope import written
from promptlint.frontends.jinja.values import (
    MISSING,
    Fields,
    Known,
    Macro,
    Source,
    Symbol,
    Value,
    names_of,
)
from promptlint.frontends.mapped import MappedText
from promptlint.layout import INCLUDED, OriginKind, Step

if TYPE_CHECKING:
    from promptlint.frontends.jinja.walk import Walker

MAX_DEPTH = 24
_MAX_STEPS = 8  # on the way of one value


def block(walker: Walker, node: nodes.Block) -> None:
    """A block of the outermost template: the most derived body of that name."""
    outer = walker.variables
    inner = outer.child()
    chain = walker.blocks.get(node.name) or [Macro(node.name, walker.parsed, walker.source, node.body)]
    walker.variables = inner
    inner.set("super", _super(chain, inner))
    try:
        walker.emit(walker.invoke(chain[0], [], {}, None), nodes.Const("", lineno=node.lineno))
    finally:
        outer.absorb(inner)
        walker.variables = outer


def extends(walker: Walker, node: nodes.Extends) -> None:
    """Note the parent; it is printed when the child's own statements are done."""
    value = walker.evaluate(node.template)
    loaded = _load(walker, value, node)
    if isinstance(loaded, tuple):
        walker.parent = loaded
    else:
        walker.gaps[f"extends {written(node.template, walker)}: {loaded}"] = None


def include(walker: Walker, node: nodes.Include) -> None:
    """Print another template in place, with the variables of this one."""
    value = walker.evaluate(node.template)
    reason = ""
    for name in elements(value) or (value,):
        loaded = _load(walker, name, node)
        if isinstance(loaded, tuple):
            _enter(walker, loaded, node)
            return
        reason = reason or loaded
    if node.ignore_missing and reason == "no such template":
        return
    expression = written(node.template, walker)
    walker.gaps[f"include {expression}: {reason}"] = None
    names = names_of(value)
    path = names[0] if names else str(value.value) if isinstance(value, Known) else expression
    symbol = Symbol(OriginKind.INCLUDE, path, expression, names, exact=False, why=reason)
    walker.emit(symbol, node.template, whole_tag=True)


def _enter(walker: Walker, loaded: tuple[Parsed, Source], node: nodes.Include) -> None:
    step = Step(walker.source.place(*walker.parsed.tag_span(node.lineno)), INCLUDED)
    before = len(walker.out)
    saved = walker.parsed, walker.source, walker.files, walker.blocks, walker.parent, walker.variables
    walker.limits.depth += 1
    try:
        walker.parsed, walker.source = loaded
        walker.files = (*walker.files, walker.source.path)
        walker.blocks, walker.parent = {}, None
        walker.variables = walker.variables.child()
        template(walker)
        saved[-1].absorb(walker.variables)
    finally:
        walker.limits.depth -= 1
        walker.parsed, walker.source, walker.files, walker.blocks, walker.parent, walker.variables = saved
        for index, piece in enumerate(walker.out[before:], before):
            if piece.symbol is not None and len(piece.symbol.chain) < _MAX_STEPS:
                symbol = replace(piece.symbol, chain=(*piece.symbol.chain, step))
                walker.out[index] = replace(piece, symbol=symbol)


def import_module(walker: Walker, node: nodes.Import) -> None:
    """``{% import "file" as name %}``."""
    module = _module(walker, node)
    unknown = Symbol(OriginKind.VARIABLE, node.target, names=(node.target,))
    walker.variables.set(node.target, unknown if module is None else Fields(module))


def import_names(walker: Walker, node: nodes.FromImport) -> None:
    """``{% from "file" import name as other %}``."""
    module = _module(walker, node)
    for entry in node.names:
        name, alias = entry if isinstance(entry, tuple) else (entry, entry)
        unknown = Symbol(OriginKind.VARIABLE, name, names=(name,))
        walker.variables.set(alias, unknown if module is None else module.get(name, MISSING))


def _module(walker: Walker, node: nodes.Import | nodes.FromImport) -> dict[str, Value] | None:
    loaded = _load(walker, walker.evaluate(node.template), node)
    if not isinstance(loaded, tuple):
        walker.gaps[f"import {written(node.template, walker)}: {loaded}"] = None
        return None
    parsed, source = loaded
    variables = walker.variables.child() if node.with_context else Variables()
    inner = walker.of_module(parsed, source, variables)
    walker.limits.depth += 1
    inner.body(parsed.tree.body)
    walker.limits.depth -= 1
    return dict(inner.variables.own)


def _load(walker: Walker, name: Value, node: nodes.Node) -> tuple[Parsed, Source] | str:
    """Return another template, or the reason why it cannot be read."""
    if not isinstance(name, Known) or not isinstance(name.value, str):
        return "its name is known at run time only"
    if walker.limits.depth >= MAX_DEPTH:
        return "includes are nested too deeply"
    file = resolve(name.value, walker.source.path, walker.context)
    if file is None:
        return "no such template"
    if file.path in walker.files:
        return "includes itself"
    text = MappedText.of(file)
    try:
        parsed = parse(text.text, walker.dialect, walker.context.delimiters)
    except JinjaError as error:
        line, _ = file.position(error.offset)
        return f"{file.path}:{line}: {error}"
    return parsed, Source(file.path, text.place)


def template(walker: Walker) -> None:
    """Walk a whole template: its own statements, then the parent it extends."""
    tree = walker.parsed.tree
    for block in walker.parsed.blocks:
        macro = Macro(block.name, walker.parsed, walker.source, block.body)
        walker.blocks.setdefault(block.name, []).append(macro)
    walker.variables.set("self", Fields({name: chain[0] for name, chain in walker.blocks.items()}))
    if not walker.parsed.extends:
        walker.body(tree.body)
        return
    printed, walker.out = walker.out, []
    walker.body([statement for statement in tree.body if not isinstance(statement, nodes.Block)])
    own_output, walker.out = walker.out, printed
    parent, walker.parent = walker.parent, None
    if parent is None:  # its parent is unknown: the child's own blocks are all there is to read
        walker.out.extend(own_output)
        walker.body([statement for statement in tree.body if isinstance(statement, nodes.Block)])
        return
    walker.parsed, walker.source = parent
    walker.files = (*walker.files, walker.source.path)
    walker.limits.depth += 1
    try:
        template(walker)
    finally:
        walker.limits.depth -= 1


def _super(chain: list[Macro], scope: Variables) -> Value:
    """Return what ``super()`` calls in the first block of a chain, each with the next one's ``super``."""
    above: Value = MISSING
    for macro in reversed(chain[1:]):
        layer = scope.child()
        layer.set("super", above)
        above = replace(macro, scope=layer)
    return above
