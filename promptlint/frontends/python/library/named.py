"""A template that was loaded in a way that cannot be followed, found by its name and its fields.

Programs read their prompts through settings and loaders. What is left in the file that fills them is the
name of a data file, and the fields that are filled::

    self.path = config.get("prompt_file", "planner_prompt.yaml")
    self.template = read_yaml(self.path)["instructions"]
    self.template.format(context=context, workers=workers)

A text of that file with just these fields is the template.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from promptlint.frontends.mapped import MappedText
from promptlint.frontends.python.evaluate import text
from promptlint.frontends.python.library import files
from promptlint.frontends.python.syntax.nodes import remembered, walk
from promptlint.frontends.python.values.pieces import Lit, Seg, TextSource, flat
from promptlint.frontends.python.values.values import DictV, Str

if TYPE_CHECKING:
    from promptlint.frontends.documents import tree
    from promptlint.frontends.python.evaluate.machine import Frame, Machine
    from promptlint.frontends.python.values.arguments import Arguments

_FILE = re.compile(r"[\w./-]*\w\.(ya?ml|json|toml|txt|md|prompt|tmpl|tpl)")
MAX_FILES = 8  # named in one module
MAX_TEXTS = 500  # of one file


def template(m: Machine, given: Arguments, frame: Frame) -> Str | None:
    """Return the text that ``given`` fills: of a file named in the module, with the same fields, if one is.

    A text may leave out half of what it is given; among several the one that uses most of it is taken,
    and none if two use as much.
    """
    wanted = set(given.keywords)
    for value in given.args:
        if isinstance(value, DictV):
            wanted |= text.keys_of(value).keys()
    if not wanted:
        return None
    best: list[Str] = []
    most = (len(wanted) + 1) // 2
    for path in _files(m, frame):
        for found in _texts(m, path):
            used = _fields(found)
            if not used <= wanted or len(used) < most:
                continue
            if len(used) > most:
                best, most = [], len(used)
            best.append(found)
    return best[0] if len(best) == 1 else None


def _files(m: Machine, frame: Frame) -> list[str]:
    """Return the project files that the module names."""
    module = frame.module
    found = [files.find(m, name, frame) for name in (_names(module.tree) if module.tree is not None else ())]
    return list(dict.fromkeys(path for path in found if path is not None and not path.endswith(".py")))


@remembered
def _names(tree: ast.Module) -> tuple[str, ...]:
    """Return the names of data files in a module."""
    texts = (n.value for n in walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str))
    found = dict.fromkeys(t for t in texts if len(t) < 100 and _FILE.fullmatch(t))
    return tuple(found)[:MAX_FILES]


def _texts(m: Machine, path: str) -> Iterator[Str]:
    """Yield the texts that a file holds: its values, or all of it."""
    from promptlint.frontends.documents import tree

    source = m.project.context.load(path)
    if source is None:
        return
    m.project.reads.add((path, None))
    if tree.format_of(path) is None:
        mapped = MappedText.of(source)
        yield Str((Lit(source.text, TextSource(path, lambda: mapped)),))
        return
    root = files.parsed(m, source)
    if root is None:
        return
    todo: list[tree.Node] = [root]
    count = 0
    while todo and count < MAX_TEXTS:
        node = todo.pop()
        if isinstance(node, MappedText):
            count += 1
            if "{" in node.text:
                yield Str((Lit(node.text, TextSource(node.path, lambda node=node: node)),))  # type: ignore[misc]
        elif isinstance(node, tree.ListNode):
            todo.extend(node.items)
        elif isinstance(node, tree.DictNode):
            todo.extend(entry.value for entry in node.distinct())


def _fields(value: Str) -> set[str]:
    """Return the names of a text's fields."""
    parts = flat(text.with_fields(value.parts, "format"))
    names = (p.segment.origin.name for p in parts if isinstance(p, Seg) and p.segment.text is None)
    return {re.split(r"[.\[(]", name, maxsplit=1)[0] for name in names}
