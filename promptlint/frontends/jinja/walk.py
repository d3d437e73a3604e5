"""Statements of a template to pieces of output, following sets, branches, loops, macros and includes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from jinja2 import nodes

from promptlint.frontends.base import Context
from promptlint.frontends.jinja import expressions
from promptlint.frontends.jinja.expressions import evaluate, filtered, keywords, pieces, written
from promptlint.frontends.jinja.lexer import JinjaError
from promptlint.frontends.jinja.parse import Parsed, parse
from promptlint.frontends.jinja.resolve import resolve
from promptlint.frontends.jinja.scopes import Variables, merge_branches, settle_loop
from promptlint.frontends.jinja.values import (
    MISSING,
    Fields,
    Items,
    Known,
    Loop,
    Macro,
    Piece,
    Source,
    Symbol,
    Text,
    Value,
    composite,
    names_of,
    symbols,
)
from promptlint.frontends.mapped import MappedText
from promptlint.layout import Guard, OriginKind, Step

MAX_SEGMENTS = 20_000
MAX_STEPS = 200_000
MAX_DEPTH = 24
MAX_UNROLL = 32


class TooLargeError(Exception):
    """The template expands to more than is worth reading; what was read so far is kept."""


@dataclass
class Limits:
    """Work counted over one template with everything it includes."""

    steps: int = 0
    segments: int = 0
    depth: int = 0
    unrolled: int = 0
    active: set[int] = field(default_factory=set)  # macro bodies being walked, by identity


@dataclass
class Walker:
    """The state of one walk: variables, guards and output of the template being read."""

    parsed: Parsed
    source: Source
    context: Context
    dialect: str
    variables: Variables = field(default_factory=Variables)
    limits: Limits = field(default_factory=Limits)
    gaps: dict[str, None] = field(default_factory=dict)
    blocks: dict[str, list[Macro]] = field(default_factory=dict)
    files: tuple[str, ...] = ()  # the chain of includes, to stop a cycle
    guards: tuple[Guard, ...] = ()
    out: list[Piece] = field(default_factory=list)
    parent: tuple[Parsed, Source] | None = None

    @property
    def chat(self) -> bool:
        """Tell whether filters mean what `transformers` makes of them."""
        return self.dialect == "chat"

    # -- what expressions need ------------------------------------------------------------------

    def lookup(self, name: str) -> Value:
        """Return a variable's value; an unknown one is a symbol of its own name."""
        return self.variables.get(name)

    def cell(self, namespace: str, attribute: str) -> Value:
        """Return the current value of ``namespace.attribute``."""
        return self.variables.cell(namespace, attribute)

    def spend(self, cost: int = 1) -> None:
        """Count work.

        Raises:
            TooLargeError: beyond `MAX_STEPS`.
        """
        self.limits.steps += cost
        if self.limits.steps > MAX_STEPS:
            raise TooLargeError(f"more than {MAX_STEPS:,} steps")

    def invoke(
        self, macro: Macro, args: list[Value], options: Mapping[str, Value], caller: Macro | None
    ) -> Value:
        """Return the text of a macro, block or ``caller()``."""
        body = id(macro.body)
        if self.limits.depth >= MAX_DEPTH or body in self.limits.active:
            return composite((*args, *options.values()), f"{macro.name}(…)", "calls itself")
        self.limits.active.add(body)
        saved = self.parsed, self.source, self.variables, self.guards, self.out
        self.limits.depth += 1
        try:
            self.parsed, self.source = macro.parsed, macro.source
            outer = self.variables
            self.variables = outer.child() if macro.scope is None else macro.scope.called_from(outer)
            self.guards, self.out = (), []
            self._bind(macro, args, options)
            if caller is not None:
                self.variables.set("caller", caller)
            self.body(macro.body)
            outer.absorb(self.variables)
            return Text(tuple(self.out))
        finally:
            self.limits.depth -= 1
            self.limits.active.discard(body)
            self.parsed, self.source, self.variables, self.guards, self.out = saved

    def _bind(self, macro: Macro, args: list[Value], options: Mapping[str, Value]) -> None:
        missing = len(macro.args) - len(macro.defaults)
        for index, name in enumerate(macro.args):
            if index < len(args):
                value = args[index]
            elif name in options:
                value = options[name]
            elif index >= missing:
                value = evaluate(macro.defaults[index - missing], self)
            else:
                value = MISSING
            self.variables.set(name, value)
        if macro.args or args or options:
            self.variables.set("varargs", Items(tuple(args[len(macro.args) :])))
            rest = {key: value for key, value in options.items() if key not in macro.args}
            self.variables.set("kwargs", Fields(rest))

    # -- statements -----------------------------------------------------------------------------

    def body(self, statements: list[nodes.Node]) -> None:
        """Walk statements in order; one that is nested too deeply becomes a gap."""
        for statement in statements:
            self.spend()
            handler = _STATEMENTS.get(type(statement))
            if handler is None:
                continue
            try:
                handler(self, statement)
            except RecursionError:
                self.gaps["an expression is nested too deeply"] = None

    def emit(self, value: Value, node: nodes.Node, whole_tag: bool = False) -> None:
        """Print a value where an expression stands."""
        for piece in pieces(value, node, self):
            if whole_tag and not isinstance(value, Text):
                piece = replace(piece, place=self.source.place(*self.parsed.tag_span(node.lineno)))
            if self.limits.segments >= MAX_SEGMENTS:
                raise TooLargeError(f"more than {MAX_SEGMENTS:,} segments")
            self.limits.segments += 1
            self.out.append(replace(piece, guards=self.guards + piece.guards))

    def capture(self, statements: list[nodes.Node]) -> Text:
        """Walk statements and return what they print instead of printing it."""
        saved = self.guards, self.out
        self.guards, self.out = (), []
        try:
            self.body(statements)
            return Text(tuple(self.out))
        finally:
            self.guards, self.out = saved

    def guard(self, kind: str, node: nodes.Node, test: nodes.Node, value: Value, branch: int) -> Guard:
        """Return the guard of one branch of an ``if`` or ``for`` tag."""
        names = names_of(value)
        place = self.source.place(*self.parsed.tag_span(node.lineno))
        several = names if len(names) > 1 else ()
        return Guard(kind, written(test, self), place, branch, name=names[0] if names else "", names=several)

    def output(self, node: nodes.Output) -> None:
        """Print text and expressions."""
        for child in node.nodes:
            if isinstance(child, nodes.TemplateData):
                if self.limits.segments >= MAX_SEGMENTS:
                    raise TooLargeError(f"more than {MAX_SEGMENTS:,} segments")
                self.limits.segments += 1
                place = self.source.place(child.lineno, child.lineno + len(child.data))
                self.out.append(Piece(place, child.data, guards=self.guards))
            else:
                value = evaluate(child, self)
                self.emit(value, child, whole_tag=not isinstance(value, Text))

    def assign(self, node: nodes.Assign) -> None:
        """``{% set target = expression %}``."""
        if isinstance(node.node, nodes.Call) and isinstance(node.target, nodes.Name):
            callee = node.node.node
            if isinstance(callee, nodes.Name) and callee.name == "namespace":
                initial = keywords(node.node.kwargs, self)
                self.variables.open_namespace(node.target.name, initial)
                return
        value = self._stepped(evaluate(node.node, self), node)
        self.bind_target(node.target, value)

    def _stepped(self, value: Value, node: nodes.Assign) -> Value:
        """Note on a value that is one symbol that it came through this assignment."""
        if not isinstance(value, Symbol) or len(value.chain) >= 8:
            return value
        step = Step(self.source.place(*self.parsed.tag_span(node.lineno)), f"set {_target_name(node.target)}")
        return replace(value, chain=(*value.chain, step))

    def bind_target(self, target: nodes.Node, value: Value) -> None:
        """Assign a value to a name, a namespace attribute or a tuple of names."""
        if isinstance(target, nodes.Name):
            self.variables.set(target.name, value)
        elif isinstance(target, nodes.NSRef):
            self.variables.set_cell(target.name, target.attr, value)
        elif isinstance(target, nodes.Tuple):
            known = _unpacked(value, len(target.items))
            for index, item in enumerate(target.items):
                self.bind_target(item, known[index] if known else _part(value, item))

    def assign_block(self, node: nodes.AssignBlock) -> None:
        """``{% set target %}…{% endset %}``."""
        value: Value = self.capture(node.body)
        if node.filter is not None:
            value = _through(value, node.filter, self)
        self.bind_target(node.target, value)

    def condition(self, node: nodes.If) -> None:
        """``if`` with all its branches, each from the same variables, merged behind it."""
        branches: list[tuple[tuple[Guard, ...], Variables]] = []
        before, guards = self.variables, self.guards
        number = 0
        first: Value = MISSING
        decided = False
        for arm in (node, *node.elif_):
            value = evaluate(arm.test, self)
            if isinstance(value, Known):
                if not value.value:
                    continue
                decided = True
                if not branches:
                    self.body(arm.body)
                    return
            first = value if not branches else first
            guard = self.guard("if", node, arm.test, value, number)
            branches.append(((guard,), self._branch(before, (*guards, guard), arm.body)))
            number += 1
            if decided:
                break
        if not decided:
            if not branches:
                self.body(node.else_)
                return
            test = self.guard("if", node, node.test, first, number)
            branches.append(((test,), self._branch(before, (*guards, test), node.else_)))
        self.guards = guards
        merge_branches(before, branches)

    def _branch(self, before: Variables, guards: tuple[Guard, ...], body: list[nodes.Node]) -> Variables:
        self.variables, self.guards = before.child(), guards
        try:
            self.body(body)
            return self.variables
        finally:
            self.variables = before

    def loop(self, node: nodes.For) -> None:
        """``for``: the body once, under a guard; over a short constant list once for each item."""
        value = evaluate(node.iter, self)
        known = _elements(value)
        if known is not None and node.test is None and len(known) <= MAX_UNROLL and self.limits.unrolled < 2:
            self._unroll(node, known)
            return
        outer, guards = self.variables, self.guards
        guard = self.guard("for", node, node.iter, value, 0)
        carried = self.parsed.cells_in(node)
        inner = outer.child()
        inner.carry(carried)
        self.variables, self.guards = inner, (*guards, guard)
        element = _element(value, _target_name(node.target))
        try:
            self.bind_target(node.target, element)
            self.variables.set("loop", Loop(guard.name or "loop"))
            if node.test is not None:
                test = evaluate(node.test, self)
                self.guards = (*self.guards, self.guard("if", node, node.test, test, 0))
            self.body(node.body)
        finally:
            self.variables, self.guards = outer, guards
        settle_loop(outer, inner, carried, guard)
        if node.else_:
            self.guards = (*guards, replace(guard, branch=1))
            self.body(node.else_)
            self.guards = guards

    def _unroll(self, node: nodes.For, items: tuple[Value, ...]) -> None:
        outer = self.variables
        self.limits.unrolled += 1
        try:
            for index, item in enumerate(items):
                self.variables = outer.child()
                self.bind_target(node.target, item)
                path = names_of(item)[:1]
                self.variables.set("loop", Loop(path[0] if path else "loop", (index, len(items))))
                self.body(node.body)
                outer.absorb(self.variables)
        finally:
            self.limits.unrolled -= 1
            self.variables = outer
        if not items:
            self.body(node.else_)

    def scoped(self, node: nodes.With | nodes.Scope | nodes.ScopedEvalContextModifier) -> None:
        """``with``, ``autoescape`` and unknown block tags: a body with variables of its own."""
        outer = self.variables
        inner = outer.child()
        if isinstance(node, nodes.With):
            for target, expression in zip(node.targets, node.values, strict=False):
                if isinstance(target, nodes.Name):
                    inner.set(target.name, evaluate(expression, self))
        self.variables = inner
        try:
            self.body(node.body)
            outer.absorb(inner)
        finally:
            self.variables = outer

    def macro(self, node: nodes.Macro) -> None:
        """Remember a macro."""
        self.variables.set(node.name, self._macro(node.name, node))

    def _macro(self, name: str, node: nodes.Macro | nodes.CallBlock) -> Macro:
        args = tuple(arg.name for arg in node.args)
        defaults = tuple(node.defaults)
        return Macro(name, self.parsed, self.source, node.body, args, defaults, self.variables)

    def call_block(self, node: nodes.CallBlock) -> None:
        """``{% call macro() %}…{% endcall %}``."""
        caller = self._macro("caller", node)
        args = [evaluate(arg, self) for arg in node.call.args]
        options = keywords(node.call.kwargs, self)
        value = expressions.call(node.call, args, options, self, caller)
        self.emit(value, node.call)

    def filter_block(self, node: nodes.FilterBlock) -> None:
        """``{% filter name %}…{% endfilter %}``."""
        self.emit(_through(self.capture(node.body), node.filter, self), node.filter)

    # -- other templates ------------------------------------------------------------------------

    def block(self, node: nodes.Block) -> None:
        """A block of the outermost template: the most derived body of that name."""
        outer = self.variables
        inner = outer.child()
        chain = self.blocks.get(node.name) or [Macro(node.name, self.parsed, self.source, node.body)]
        self.variables = inner
        inner.set("super", _super(chain, inner))
        try:
            self.emit(self.invoke(chain[0], [], {}, None), nodes.Const("", lineno=node.lineno))
        finally:
            outer.absorb(inner)
            self.variables = outer

    def extends(self, node: nodes.Extends) -> None:
        """Note the parent; it is printed when the child's own statements are done."""
        value = evaluate(node.template, self)
        loaded = self._load(value, node)
        if isinstance(loaded, tuple):
            self.parent = loaded
        else:
            self.gaps[f"extends {written(node.template, self)}: {loaded}"] = None

    def include(self, node: nodes.Include) -> None:
        """Print another template in place, with the variables of this one."""
        value = evaluate(node.template, self)
        reason = ""
        for name in _elements(value) or (value,):
            loaded = self._load(name, node)
            if isinstance(loaded, tuple):
                self._enter(loaded)
                return
            reason = reason or loaded
        if node.ignore_missing and reason == "no such template":
            return
        expression = written(node.template, self)
        self.gaps[f"include {expression}: {reason}"] = None
        names = names_of(value)
        path = names[0] if names else str(value.value) if isinstance(value, Known) else expression
        symbol = Symbol(OriginKind.INCLUDE, path, expression, names, exact=False, why=reason)
        self.emit(symbol, node.template, whole_tag=True)

    def _enter(self, loaded: tuple[Parsed, Source]) -> None:
        saved = self.parsed, self.source, self.files, self.blocks, self.parent, self.variables
        self.limits.depth += 1
        try:
            self.parsed, self.source = loaded
            self.files = (*self.files, self.source.path)
            self.blocks, self.parent = {}, None
            self.variables = self.variables.child()
            self.template()
            saved[-1].absorb(self.variables)
        finally:
            self.limits.depth -= 1
            self.parsed, self.source, self.files, self.blocks, self.parent, self.variables = saved

    def import_module(self, node: nodes.Import) -> None:
        """``{% import "file" as name %}``."""
        module = self._module(node)
        unknown = Symbol(OriginKind.VARIABLE, node.target, names=(node.target,))
        self.variables.set(node.target, unknown if module is None else Fields(module))

    def import_names(self, node: nodes.FromImport) -> None:
        """``{% from "file" import name as other %}``."""
        module = self._module(node)
        for entry in node.names:
            name, alias = entry if isinstance(entry, tuple) else (entry, entry)
            unknown = Symbol(OriginKind.VARIABLE, name, names=(name,))
            self.variables.set(alias, unknown if module is None else module.get(name, MISSING))

    def _module(self, node: nodes.Import | nodes.FromImport) -> dict[str, Value] | None:
        loaded = self._load(evaluate(node.template, self), node)
        if not isinstance(loaded, tuple):
            self.gaps[f"import {written(node.template, self)}: {loaded}"] = None
            return None
        parsed, source = loaded
        variables = self.variables.child() if node.with_context else Variables()
        inner = Walker(
            parsed,
            source,
            self.context,
            self.dialect,
            variables=variables,
            limits=self.limits,
            gaps=self.gaps,
            files=(*self.files, source.path),
        )
        self.limits.depth += 1
        inner.body(parsed.tree.body)
        self.limits.depth -= 1
        return dict(inner.variables.own)

    def _load(self, name: Value, node: nodes.Node) -> tuple[Parsed, Source] | str:
        """Return another template, or the reason why it cannot be read."""
        if not isinstance(name, Known) or not isinstance(name.value, str):
            return "its name is known at run time only"
        if self.limits.depth >= MAX_DEPTH:
            return "includes are nested too deeply"
        file = resolve(name.value, self.source.path, self.context)
        if file is None:
            return "no such template"
        if file.path in self.files:
            return "includes itself"
        text = MappedText.of(file)
        try:
            parsed = parse(text.text, self.dialect, self.context.delimiters)
        except JinjaError as error:
            line, _ = file.position(error.offset)
            return f"{file.path}:{line}: {error}"
        return parsed, Source(file.path, text.place)

    def template(self) -> None:
        """Walk a whole template: its own statements, then the parent it extends."""
        tree = self.parsed.tree
        for block in self.parsed.blocks:
            macro = Macro(block.name, self.parsed, self.source, block.body)
            self.blocks.setdefault(block.name, []).append(macro)
        self.variables.set("self", Fields({name: chain[0] for name, chain in self.blocks.items()}))
        if not self.parsed.extends:
            self.body(tree.body)
            return
        printed, self.out = self.out, []
        self.body([statement for statement in tree.body if not isinstance(statement, nodes.Block)])
        own_output, self.out = self.out, printed
        parent, self.parent = self.parent, None
        if parent is None:  # its parent is unknown: the child's own blocks are all there is to read
            self.out.extend(own_output)
            self.body([statement for statement in tree.body if isinstance(statement, nodes.Block)])
            return
        self.parsed, self.source = parent
        self.files = (*self.files, self.source.path)
        self.limits.depth += 1
        try:
            self.template()
        finally:
            self.limits.depth -= 1


def _super(chain: list[Macro], scope: Variables) -> Value:
    """Return what ``super()`` calls in the first block of a chain, each with the next one's ``super``."""
    above: Value = MISSING
    for macro in reversed(chain[1:]):
        layer = scope.child()
        layer.set("super", above)
        above = replace(macro, scope=layer)
    return above


def _through(value: Value, node: nodes.Filter, walker: Walker) -> Value:
    if isinstance(node.node, nodes.Filter):
        value = _through(value, node.node, walker)
    return filtered(value, node, walker)


def _target_name(target: nodes.Node) -> str:
    if isinstance(target, nodes.NSRef):
        return f"{target.name}.{target.attr}"
    if isinstance(target, nodes.Tuple):
        return ", ".join(_target_name(item) for item in target.items)
    return target.name if isinstance(target, nodes.Name) else ""


def _elements(value: Value) -> tuple[Value, ...] | None:
    """Return the items of a list that the template itself writes."""
    if isinstance(value, Items):
        return value.values
    if isinstance(value, Known) and isinstance(value.value, list | tuple):
        return tuple(Known(item) for item in value.value)
    return None


def _element(value: Value, target: str) -> Value:
    """Return the value of one item of an unknown collection."""
    first = next(symbols(value), None)
    if first is None:
        return composite((value,), target)
    if first.path == "range" and first.kind is OriginKind.CALL:
        return Symbol(
            OriginKind.VARIABLE, "loop.index", target, ("loop.index", *first.names[1:]), exact=False
        )
    path = first.path + "[]" if first.kind is OriginKind.VARIABLE else first.path
    names = (path, *(name for name in first.names if name != first.path))
    exact = first.kind is OriginKind.VARIABLE and not first.filters
    return replace(first, path=path, names=names, expression=target, exact=exact, default=None, filters=())


def _part(value: Value, target: nodes.Expr) -> Value:
    """Return the part of an item that a tuple target takes: ``tools[].name`` for ``name``."""
    if isinstance(value, Symbol) and isinstance(target, nodes.Name):
        path = f"{value.path}.{target.name}" if value.kind is OriginKind.VARIABLE else value.path
        return replace(value, path=path, names=(path, *value.names[1:]), expression=target.name)
    return composite((value,), "")


def _unpacked(value: Value, count: int) -> tuple[Value, ...] | None:
    items = _elements(value)
    return items if items is not None and len(items) == count else None


_STATEMENTS: Mapping[type[nodes.Node], Callable[..., None]] = {
    nodes.Output: Walker.output,
    nodes.Assign: Walker.assign,
    nodes.AssignBlock: Walker.assign_block,
    nodes.If: Walker.condition,
    nodes.For: Walker.loop,
    nodes.With: Walker.scoped,
    nodes.Scope: Walker.scoped,
    nodes.ScopedEvalContextModifier: Walker.scoped,
    nodes.Macro: Walker.macro,
    nodes.CallBlock: Walker.call_block,
    nodes.FilterBlock: Walker.filter_block,
    nodes.Block: Walker.block,
    nodes.Extends: Walker.extends,
    nodes.Include: Walker.include,
    nodes.Import: Walker.import_module,
    nodes.FromImport: Walker.import_names,
}
