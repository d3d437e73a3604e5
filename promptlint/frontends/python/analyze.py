"""The whole program: which files are entered, in which order, and what each gives."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from promptlint.catalog import Catalog
from promptlint.frontends.base import Context
from promptlint.frontends.python.evaluate import linking, objects, registering
from promptlint.frontends.python.evaluate.expressions import evaluate
from promptlint.frontends.python.evaluate.functions import enter
from promptlint.frontends.python.evaluate.machine import Machine
from promptlint.frontends.python.evaluate.statements import execute
from promptlint.frontends.python.prompts.constants import filled_elsewhere
from promptlint.frontends.python.prompts.history import settle
from promptlint.frontends.python.prompts.inheriting import inherited
from promptlint.frontends.python.prompts.record import Recorder
from promptlint.frontends.python.prompts.sending import sends
from promptlint.frontends.python.prompts.tooling import defines_tools
from promptlint.frontends.python.readings.accounting import accounting
from promptlint.frontends.python.readings.bursts import with_bursts
from promptlint.frontends.python.readings.intervals import with_intervals
from promptlint.frontends.python.readings.outline import Outline, Table
from promptlint.frontends.python.readings.trimming import trimming
from promptlint.frontends.python.syntax.slicing import tells_of_prompts
from promptlint.frontends.python.values.modules import Module, Project, Read, triggers
from promptlint.frontends.python.values.naming import gives_tools, holds_prompts
from promptlint.frontends.python.values.values import ClassV, FuncV
from promptlint.layout import Layout, LayoutKind, Observation
from promptlint.source import Place, Span

MAX_BELOW = 60  # classes below a base for each of which its methods are run


@dataclass(frozen=True, slots=True)
class Unit:
    """What one file gives, and what it depends on.

    ``dependencies`` are all files that were read for it; of those in ``names`` only the names given
    there matter. ``outlines`` are tables of the files that no earlier unit came to (see `outline`).
    """

    path: str
    layouts: tuple[Layout, ...]
    dependencies: tuple[str, ...]
    names: Mapping[str, tuple[str, ...]] = field(default_factory=dict, compare=False)
    outlines: Mapping[str, Table] = field(default_factory=dict, compare=False)


def analyze(
    files: Sequence[str],
    context: Context,
    catalog: Catalog,
    *,
    root: Path | None = None,
    paths: Iterable[str] | None = None,
    only: str = "",
) -> Iterator[Unit]:
    """Yield the layouts of each file that has to do with prompts, in the order of ``paths``.

    ``files`` names every Python file of the project; without ``paths`` all of them are meant, and those that are
    not in it are read only when another leads there. ``only`` limits the entries to one function (``layout
    module:function``).
    """
    sys.setrecursionlimit(max(sys.getrecursionlimit(), 6000))
    project = Project(files, context)
    recorder = Recorder()
    machine = Machine(project, catalog, recorder)
    machine.evaluate = partial(evaluate, machine)
    machine.execute = partial(execute, machine)
    machine.complete = partial(registering.complete, machine)
    for path in files if paths is None else paths:
        source = context.load(path)
        if source is None or not (only or "prompt" in path.lower() or triggers(source.text)):
            continue
        module = project.load(path)
        if module is None:
            continue
        layouts: list[Layout] = []
        reads: set[Read] = {(path, None)}
        if module.tree is None:
            layouts.append(_unreadable(module))
        else:
            with recorder.into(layouts), project.reading(reads):
                _enter_all(machine, module, only)
            layouts[:0] = module.layouts
            layouts = filled_elsewhere(layouts, recorder.constants)
            layouts = with_bursts(module, with_intervals(module, layouts))
            layouts += [*accounting(module), *trimming(module)]
        yield _unit(project, path, tuple(map(settle, layouts)), reads)


def _unit(project: Project, path: str, layouts: tuple[Layout, ...], reads: set[Read]) -> Unit:
    whole: set[str] = set()
    names: dict[str, set[str]] = {}
    for file, name in project.closure(reads):
        if name is None:
            whole.add(file)
        else:
            names.setdefault(file, set()).add(name)
    outlines = {module.path: Outline(module).table for module in project.parsed() if module.tree is not None}
    some = {file: tuple(sorted(found)) for file, found in names.items() if file not in whole}
    return Unit(path, layouts, tuple(sorted(whole | some.keys())), some, outlines)


def _unreadable(module: Module) -> Layout:
    line, why = module.error or (1, "")
    starts = module.source.line_starts
    start = starts[min(line, len(starts)) - 1]
    place = Place(module.path, Span(start, start + len(module.source.line_text(min(line, len(starts))))))
    seen = Observation("parse-error", place, why)
    return Layout(
        module.path, place, (), LayoutKind.PROMPT, complete=False, gaps=(why,), observations=(seen,)
    )


def _enter_all(m: Machine, module: Module, only: str) -> None:
    """Run a module's body, then each of its functions that may build a prompt, as entries."""
    linking.run_module(m, module)
    for value in list(module.names.values()):
        if isinstance(value, FuncV) and value.module is module:
            _enter_function(m, module, value, None, only)
        elif isinstance(value, ClassV) and value.module is module:
            _enter_class(m, module, value, only)


def _enter_function(m: Machine, module: Module, func: FuncV, cls: ClassV | None, only: str) -> None:
    if isinstance(func.node, ast.Lambda) or (only and func.name != only):
        return
    named = tells_of_prompts(func.node) or holds_prompts(module, cls) or gives_tools(func.name)
    if not (named or defines_tools(func.node) or sends(m, module, func, cls)):
        return
    receiver = None
    if cls is not None and "staticmethod" not in func.decorators:
        receiver = cls if "classmethod" in func.decorators else objects.symbolic(m, cls)
    enter(m, func, receiver)


def _enter_class(m: Machine, module: Module, cls: ClassV, only: str) -> None:
    for value in list(cls.namespace.values()):
        if isinstance(value, FuncV) and value.cls is cls:
            _enter_function(m, module, value, cls, only)
        elif isinstance(value, ClassV) and value.node in cls.node.body:  # and none that was only put there
            _enter_class(m, module, value, only)
    for method in inherited(cls):
        # A base with so many classes below it, each in its own words, is a library's: its own entry has to do.
        below = m.project.subclasses.get(method.cls.name, ()) if method.cls is not None else ()
        if len(below) <= MAX_BELOW:
            _enter_function(m, module, method, cls, only)
