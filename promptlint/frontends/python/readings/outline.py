"""The statements of a module by the names they bind: whether a change can matter to who uses some of them.

A program that takes ``stamp`` from a module does not care what else changes there::

    import time                 time    ─┐ used by
    RULES = "Be brief."         RULES    │
    def stamp(): …time.time()…  stamp  ──┘       changed RULES: stamp is what it was

A name stands for its own statements, and for those of every name that occurs in them. Statements that
bind nothing, such as ``register(handler)``, may change anything, and count for every name.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from hashlib import blake2b

from promptlint.frontends.python.syntax import nodes
from promptlint.frontends.python.values.modules import Module, parse
from promptlint.source import SourceFile

_IDENTIFIER = re.compile(r"[^\W\d]\w*")
Table = dict[str, str]
"""For each name, the digest of the statements that bind it; under "" those that bind none."""


class Outline:
    """The statements of one version of a module."""

    def __init__(self, module: Module) -> None:
        self._texts: dict[str, list[str]] = {}
        for statement in module.tree.body if module.tree is not None else ():
            text = module.lines(statement)
            for name in dict.fromkeys((*bound(statement), *_rebound(module, statement))):
                self._texts.setdefault(name, []).append(text)
        self.table: Table = {name: _digest(texts) for name, texts in self._texts.items()}

    def agrees(self, old: Mapping[str, str], names: Iterable[str]) -> bool:
        """Tell whether names mean what they meant in the version that ``old`` is the table of."""
        todo, seen = ["", *names], set[str]()
        while todo:
            name = todo.pop()
            if name in seen:
                continue
            seen.add(name)
            if self.table.get(name) != old.get(name):
                return False
            todo += (word for text in self._texts.get(name, ()) for word in _IDENTIFIER.findall(text))
        return True


def outline(source: SourceFile) -> Outline | None:
    """Return the outline of a file; None where it cannot be parsed."""
    module = parse(source)
    return Outline(module) if module.tree is not None else None


def _digest(texts: Iterable[str]) -> str:
    hashed = blake2b(digest_size=8)
    for text in texts:
        hashed.update(text.encode(errors="surrogatepass") + b"\0")
    return hashed.hexdigest()


def _rebound(module: Module, statement: ast.stmt) -> Iterator[str]:
    """Yield the module's names that a function in a statement declares ``global`` and may set."""
    if module.rebound and isinstance(statement, nodes.Definition):
        for node in nodes.blocks(statement):
            if isinstance(node, ast.Global):
                yield from node.names


def bound(statement: ast.stmt) -> Iterator[str]:
    """Yield the names that a statement of a module binds, "" where it may do something else."""
    match statement:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            yield statement.name
        case ast.Import() | ast.ImportFrom():
            for alias in statement.names:
                yield "" if alias.name == "*" else alias.asname or alias.name.partition(".")[0]
        case ast.Assign() | ast.AnnAssign() | ast.AugAssign() | ast.For() | ast.AsyncFor():
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            for target in targets:
                yield from _targets(target)
            yield from _inner(statement)
        case ast.Expr(value=ast.Constant()) | ast.Pass():
            pass
        case ast.With() | ast.AsyncWith():
            for item in statement.items:
                if item.optional_vars is not None:
                    yield from _targets(item.optional_vars)
            yield from _inner(statement)
        case ast.If() if _is_main(statement.test):
            yield from filter(None, _inner(statement))  # is not run by who imports the module
        case ast.If() | ast.Try() | ast.TryStar() | ast.While() | ast.Match():
            yield from _inner(statement)
        case _:
            yield ""


def _inner(statement: ast.stmt) -> Iterator[str]:
    for child in nodes.inside(statement):
        yield from bound(child)


def _targets(target: ast.expr) -> Iterator[str]:
    if isinstance(target, ast.Name):
        yield target.id
    elif isinstance(target, ast.Tuple | ast.List):
        for element in target.elts:
            yield from _targets(element)
    else:
        yield ""


def _is_main(test: ast.expr) -> bool:
    names = {node.id for node in nodes.walk(test) if isinstance(node, ast.Name)}
    return names == {"__name__"}
