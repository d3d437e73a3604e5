"""Templates that a call names whose inside cannot be followed.

Loaders of prompts lie in packages, behind settings and in classes that are made elsewhere. The call says enough::

    prompts.load_prompt("select-option", goal=task.goal, new_ids=list(found - known))

There is one file ``select-option.j2``, and it has fields of these names.
"""

from __future__ import annotations

import ast
import re
from functools import cache
from typing import TYPE_CHECKING

from promptlint.frontends.mapped import MappedText
from promptlint.frontends.python.evaluate import access, text
from promptlint.frontends.python.values.pieces import Part, Seg
from promptlint.frontends.python.values.values import DictV, Str, Template, Value

if TYPE_CHECKING:
    from promptlint.frontends.python.evaluate.machine import Frame, Machine
    from promptlint.frontends.python.values.arguments import Arguments

_LOADS = re.compile(r"prompt|template|render|instruction", re.IGNORECASE)
_NAME = re.compile(r"[\w./-]*\w")
_KEYS = ("template", "template_name", "prompt", "prompt_name", "name", "filename", "file_name", "path")
_ENDINGS = (".j2", ".jinja", ".jinja2", ".md", ".txt", ".prompt")


def filled(m: Machine, path: str, given: Arguments, node: ast.Call, frame: Frame) -> Str | None:
    """Return the template that a call outside of the project names, with the values that it is given.

    None unless there is exactly one such file, and one of the values has the name of a field.
    """
    if not (given.args or given.keywords) or not _loads(path):
        return None
    name, values = _read(given)
    if not name or not values:
        return None
    file = _file(m, name, frame)
    if file is None:
        return None
    parts = _parts(m, file)
    fields = {re.split(r"[.\[(|]", p.segment.origin.name, maxsplit=1)[0] for p in parts if isinstance(p, Seg)}
    if fields.isdisjoint(values):
        return None
    m.project.reads.add((file, None))
    m.recorder.template(m, Template(parts, values, kind="jinja"), node, frame, final=True)
    return Str(text.fill(parts, values, given.rest, False))


@cache
def _loads(path: str) -> bool:
    """Tell whether what is called, or whose method it is, is named after templates."""
    return _LOADS.search(".".join(path.rsplit(".", 2)[-2:])) is not None


def _read(given: Arguments) -> tuple[str, dict[str, Value]]:
    """Return the name of a template, and the values by the names of its fields."""
    values = dict(given.keywords)
    name = access.plain(given.args[0]) if given.args else None
    if name is None:
        key = next((key for key in _KEYS if isinstance(access.plain(values.get(key, _NONE)), str)), "")
        name = access.plain(values.pop(key)) if key else None
    for value in [*given.args, *given.keywords.values()]:
        if isinstance(value, DictV):
            values |= text.keys_of(value)
    return (name if isinstance(name, str) and len(name) < 100 and _NAME.fullmatch(name) else ""), values


_NONE = Value()


def _file(m: Machine, name: str, frame: Frame) -> str | None:
    if name.endswith(_ENDINGS):
        return m.project.file(name, frame.module.path)
    found = {path for end in _ENDINGS if (path := m.project.file(name + end, frame.module.path)) is not None}
    return found.pop() if len(found) == 1 else None


def _parts(m: Machine, file: str) -> tuple[Part, ...]:
    """Return a template's pieces, cut at its fields."""
    source = m.project.context.load(file)
    if source is None:
        return ()
    from promptlint.frontends.documents.content import read_content

    content = read_content(MappedText.of(source), m.project.context)
    return tuple(map(Seg, content.segments))
