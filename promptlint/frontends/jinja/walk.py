"""Statements of a template to pieces of output, following sets, branches, loops, macros and includes."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from jinja2 import nodes

from promptlint.frontends.base import MAX_PIECES, Context
from promptlint.frontends.jinja import expressions, linking, loops
from promptlint.frontends.jinja.access import call
from promptlint.frontends.jinja.bindings import Variables, merge_branches
from promptlint.frontends.jinja.filters import filtered
from promptlint.frontends.jinja.linking import MAX_DEPTH
from promptlint.frontends.jinja.loops import part, target_name, unpacked
from promptlint.frontends.jinja.parse import Parsed
from promptlint.frontends.jinja.scope import keywords, pieces, written
from promptlint.frontends.jinja.values import (
    MISSING,
    Fields,
    Items,
    Known,
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
from promptlint.layout import Confidence, Guard, Observation, Step

_LAST = re.compile(r"\[-[^:\]]+:\]")
_HISTORY = re.compile(
    r"(?:^|[._])(?:\w*messages|\w*history|turns|conversation|dialog(?:ue)?|transcript)$", re.IGNORECASE
)
MAX_STEPS = 200_000


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
    observations: list[Observation] = field(default_factory=list)
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
                value = self.evaluate(macro.defaults[index - missing])
            else:
                value = MISSING
            self.variables.set(name, value)
        if macro.args or args or options:
            self.variables.set("varargs", Items(tuple(args[len(macro.args) :])))
            rest = {key: value for key, value in options.items() if key not in macro.args}
            self.variables.set("kwargs", Fields(rest))

    def evaluate(self, node: nodes.Node) -> Value:
        """Return the value of an expression."""
        return expressions.evaluate(node, self)

    def of_module(self, parsed: Parsed, source: Source, variables: Variables) -> Walker:
        """Return a walker for a template that is imported here; its output goes nowhere."""
        files = (*self.files, source.path)
        return replace(
            self,
            parsed=parsed,
            source=source,
            variables=variables,
            blocks={},
            files=files,
            guards=(),
            out=[],
            parent=None,
        )

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
            if self.limits.segments >= MAX_PIECES:
                raise TooLargeError(f"more than {MAX_PIECES:,} pieces")
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

    def note_cut(self, value: Value, node: nodes.Node) -> None:
        """Note where only the last turns of a conversation are printed: ``messages[-10:]``."""
        for symbol in symbols(value):
            if any(map(_LAST.fullmatch, symbol.filters)) and _HISTORY.search(symbol.path):
                place = self.source.place(*self.parsed.tag_span(node.lineno))
                detail = f"only the last turns of {symbol.path} are printed"
                self.observations.append(
                    Observation("history-cut", place, detail, confidence=Confidence.MEDIUM)
                )

    def output(self, node: nodes.Output) -> None:
        """Print text and expressions."""
        for child in node.nodes:
            if isinstance(child, nodes.TemplateData):
                if self.limits.segments >= MAX_PIECES:
                    raise TooLargeError(f"more than {MAX_PIECES:,} pieces")
                self.limits.segments += 1
                place = self.source.place(child.lineno, child.lineno + len(child.data))
                self.out.append(Piece(place, child.data, guards=self.guards))
            else:
                value = self.evaluate(child)
                self.note_cut(value, child)
                self.emit(value, child, whole_tag=not isinstance(value, Text))

    def assign(self, node: nodes.Assign) -> None:
        """``{% set target = expression %}``."""
        if isinstance(node.node, nodes.Call) and isinstance(node.target, nodes.Name):
            callee = node.node.node
            if isinstance(callee, nodes.Name) and callee.name == "namespace":
                initial = keywords(node.node.kwargs, self)
                self.variables.open_namespace(node.target.name, initial)
                return
        value = self._stepped(self.evaluate(node.node), node)
        self.bind_target(node.target, value)

    def _stepped(self, value: Value, node: nodes.Assign) -> Value:
        """Note on a value that is one symbol that it came through this assignment."""
        if not isinstance(value, Symbol) or len(value.chain) >= 8:
            return value
        step = Step(self.source.place(*self.parsed.tag_span(node.lineno)), f"set {target_name(node.target)}")
        return replace(value, chain=(*value.chain, step))

    def bind_target(self, target: nodes.Node, value: Value) -> None:
        """Assign a value to a name, a namespace attribute or a tuple of names."""
        if isinstance(target, nodes.Name):
            self.variables.set(target.name, value)
        elif isinstance(target, nodes.NSRef):
            self.variables.set_cell(target.name, target.attr, value)
        elif isinstance(target, nodes.Tuple):
            known = unpacked(value, len(target.items))
            for index, item in enumerate(target.items):
                self.bind_target(item, known[index] if known else part(value, item))

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
            value = self.evaluate(arm.test)
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

    def scoped(self, node: nodes.With | nodes.Scope | nodes.ScopedEvalContextModifier) -> None:
        """``with``, ``autoescape`` and unknown block tags: a body with variables of its own."""
        outer = self.variables
        inner = outer.child()
        if isinstance(node, nodes.With):
            for target, expression in zip(node.targets, node.values, strict=False):
                if isinstance(target, nodes.Name):
                    inner.set(target.name, self.evaluate(expression))
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
        args = [self.evaluate(arg) for arg in node.call.args]
        options = keywords(node.call.kwargs, self)
        value = call(node.call, args, options, self, caller)
        self.emit(value, node.call)

    def filter_block(self, node: nodes.FilterBlock) -> None:
        """``{% filter name %}…{% endfilter %}``."""
        self.emit(_through(self.capture(node.body), node.filter, self), node.filter)

    # -- other templates ------------------------------------------------------------------------


def _through(value: Value, node: nodes.Filter, walker: Walker) -> Value:
    if isinstance(node.node, nodes.Filter):
        value = _through(value, node.node, walker)
    return filtered(value, node, walker)


_STATEMENTS: Mapping[type[nodes.Node], Callable[..., None]] = {
    nodes.Output: Walker.output,
    nodes.Assign: Walker.assign,
    nodes.AssignBlock: Walker.assign_block,
    nodes.If: Walker.condition,
    nodes.For: loops.loop,
    nodes.With: Walker.scoped,
    nodes.Scope: Walker.scoped,
    nodes.ScopedEvalContextModifier: Walker.scoped,
    nodes.Macro: Walker.macro,
    nodes.CallBlock: Walker.call_block,
    nodes.FilterBlock: Walker.filter_block,
    nodes.Block: linking.block,
    nodes.Extends: linking.extends,
    nodes.Include: linking.include,
    nodes.Import: linking.import_module,
    nodes.FromImport: linking.import_names,
}
