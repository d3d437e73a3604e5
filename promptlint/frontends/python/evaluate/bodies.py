"""What running a function may give, told by its statements before it is run."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from promptlint.frontends.python.syntax.nodes import Definition, children, remembered, statements
from promptlint.frontends.python.syntax.slicing import (
    FORWARDING,
    asks_a_model,
    digest,
    forwards,
    parameters,
    prints_into,
)
from promptlint.frontends.python.values.naming import CONSTRUCTORS
from promptlint.frontends.python.values.values import FuncV

SMALL = 30  # a function with fewer statements is always worth a look


@dataclass(frozen=True, slots=True)
class Shape:
    """What a function's body contains, found once."""

    generates: bool
    worth: bool
    changes: bool  # assigns to attributes or items, or grows a collection


def _generates(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    stack: list[ast.AST] = list(node.body)
    while stack:
        child = stack.pop()
        if isinstance(child, (ast.Yield, ast.YieldFrom)):
            return True
        if not isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
            stack.extend(children(child))
    return False


def worth(func: FuncV) -> bool:
    """Tell whether running a function can give text, or change an object that becomes one."""
    return isinstance(func.node, ast.Lambda) or shape(func.node).worth


@remembered
def shape(node: ast.FunctionDef | ast.AsyncFunctionDef) -> Shape:
    """Return the shape of a function."""
    every = statements(node.body)
    given = parameters(node)
    texts = gives = alters = yields = False
    for statement in every:  # grows meanwhile
        if isinstance(statement, ast.Raise) or (
            isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        ):
            continue  # an error's text, a docstring
        if isinstance(statement, Definition):
            every += statements(statement.body)
        found = digest(statement)
        texts = texts or found.texts
        alters = alters or found.alters
        yields = yields or found.yields
        gives = gives or found.yields_value or (isinstance(statement, ast.Return) and bool(statement.value))
    changes = (
        alters
        or any(prints_into(s, given) for s in every)
        or node.name in CONSTRUCTORS
        or (len(every) <= FORWARDING and any(map(forwards, every)))
    )
    sends = asks_a_model(node)  # what it is given is sent, whether or not it returns the answer
    worth = (gives or changes or sends) and (texts or sends or len(every) <= SMALL)
    return Shape(yields and _generates(node), worth, changes)


def shape_changes(func: FuncV) -> bool:
    """Tell whether a call can change what it is given."""
    return not isinstance(func.node, ast.Lambda) and shape(func.node).changes
