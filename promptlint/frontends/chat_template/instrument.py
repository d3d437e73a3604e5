"""Rewrite a template's tree so that its code reports to the `Sandbox` at every step.

::

    {{ value }}            →  printed(offset, value)      where it goes straight to the output
    {% if test %}          →  decided(offset, test)
    {% for x in items %}   →  steps(items)
    a ~ b, [a, b], a == b  →  joined(a, b), weighed([a, b]), weighed(a == b)
    strftime_now(format)   →  asked(offset, format)
"""

from __future__ import annotations

from jinja2 import nodes
from jinja2.visitor import NodeTransformer

CLOCK = "strftime_now"  # the only clock that `transformers` gives to templates


def instrumented(tree: nodes.Template) -> nodes.Template:
    """Return the tree with reports in it. The tree itself is changed."""
    _Instrument().visit(tree)
    return tree


def _report(name: str, node: nodes.Node, offset: int | None = None) -> nodes.Call:
    assert isinstance(node, nodes.Expr)
    args: list[nodes.Expr] = [node] if offset is None else [nodes.Const(offset), node]
    call = nodes.Call(nodes.EnvironmentAttribute(name), args, [], None, None)
    call.lineno = node.lineno
    return call


class _Instrument(NodeTransformer):
    """Visits children first, so that a report's own arguments are already rewritten."""

    def __init__(self) -> None:
        self.captures = 0  # depth of macros and captured blocks, whose text is not output yet

    def _captured(self, node: nodes.Node) -> nodes.Node:
        self.captures += 1
        try:
            return self.generic_visit(node)
        finally:
            self.captures -= 1

    visit_Macro = visit_CallBlock = visit_FilterBlock = visit_AssignBlock = _captured

    def visit_Output(self, node: nodes.Output) -> nodes.Node:
        """Report each part that is printed."""
        self.generic_visit(node)
        reports: list[nodes.Expr] = []
        for child in node.nodes:
            value = nodes.Const(child.data) if isinstance(child, nodes.TemplateData) else child
            offset = child.lineno
            value.lineno = offset
            reports.append(_report("measured", value) if self.captures else _report("printed", value, offset))
        node.nodes = reports
        return node

    def visit_For(self, node: nodes.For) -> nodes.Node:
        """Report what a loop runs over."""
        self.generic_visit(node)
        node.iter = _report("steps", node.iter)
        return node

    def _decision(self, node: nodes.If | nodes.CondExpr) -> nodes.Node:
        offset = node.lineno
        self.generic_visit(node)
        node.test = _report("decided", node.test, offset)
        return node

    visit_If = visit_CondExpr = _decision

    def visit_Call(self, node: nodes.Call) -> nodes.Node:
        """Report where the clock is asked."""
        self.generic_visit(node)
        if isinstance(node.node, nodes.Name) and node.node.name == CLOCK:
            node.node = nodes.EnvironmentAttribute("asked", lineno=node.lineno)
            node.args = [nodes.Const(node.lineno, lineno=node.lineno), *node.args]
        return node

    def visit_Concat(self, node: nodes.Concat) -> nodes.Node:
        """Replace ``~``."""
        self.generic_visit(node)
        call = nodes.Call(nodes.EnvironmentAttribute("joined"), node.nodes, [], None, None)
        call.lineno = node.lineno
        return call

    def _weighed(self, node: nodes.Expr) -> nodes.Node:
        self.generic_visit(node)
        if isinstance(node, nodes.Tuple) and node.ctx != "load":
            return node
        return _report("weighed", node)

    visit_List = visit_Tuple = visit_Dict = visit_Compare = visit_Test = _weighed
