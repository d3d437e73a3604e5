"""Templates that an object of a library holds, and the calls that run it with values for their fields.

::

    pipeline.add_component("prompt", ChatPromptBuilder(template=TEMPLATE))
    pipeline.run({"prompt": {"question": question, "as_of": now}})

    chain = LLMChain(llm=llm, prompt=TEMPLATE)
    chain.predict(question=question, as_of=now)

    kernel.invoke(answer, KernelArguments(question=question, as_of=now))

How class and method are called does not matter: a call fills a template where it gives values that are named
like its fields.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from promptlint.frontends.python.evaluate import access, methods, text
from promptlint.frontends.python.values.arguments import Arguments
from promptlint.frontends.python.values.pieces import Part, Seg, flat
from promptlint.frontends.python.values.values import (
    DictV,
    Held,
    ListV,
    Obj,
    Str,
    Template,
    Unknown,
    Value,
)

if TYPE_CHECKING:
    from promptlint.frontends.python.evaluate.machine import Frame, Machine

_ROOT = re.compile(r"\w*")
_MAX = 8  # templates of one object


def taken(given: Arguments) -> list[Held]:
    """Return the templates that a call is given, by themselves or held by something, with the name they are put under."""
    found: list[Held] = []
    for key, value in given.every():
        for one in (item.value for item in value.items[:_MAX]) if isinstance(value, ListV) else (value,):
            if isinstance(one, Template):
                found.append(Held(key if isinstance(key, str) else "", one))
            elif isinstance(one, Unknown) and one.templates:
                found += one.templates
    if len(found) == 1:  # ``add("prompt", template)``
        label = next((name for _, v in given.every() if isinstance(name := access.plain(v), str)), None)
        found = [replace(found[0], name=label or found[0].name)]
    return found[:_MAX]


def run(m: Machine, held: list[Held], given: Arguments, node: ast.Call, frame: Frame) -> Value | None:
    """Fill each template that a call gives values for, and return what comes back: an answer; None where it gives none."""
    values, named = _values(given)
    addressed = any(one.name in named for one in held)  # else the names are those of other parts
    ran = False
    for one in held:
        own = {**values, **(named.get(one.name, {}) if addressed else _all(named))}
        wanted = _fields(one.template)
        own = {key: value for key, value in own.items() if key in wanted}
        if own:
            nodes: dict[str | int, ast.expr] = {k: given.nodes[k] for k in own if k in given.nodes}
            methods.template(m, one.template, "invoke", Arguments(keywords=own, nodes=nodes), node, frame)
            ran = True
    return Unknown(frame.module.place(node), name="response", path="response") if ran else None


def _all(named: dict[str, dict[str, Value]]) -> dict[str, Value]:
    return {key: value for values in named.values() for key, value in values.items()}


def _values(given: Arguments) -> tuple[dict[str, Value], dict[str, dict[str, Value]]]:
    """Return the values that a call gives by name, and those that it gives in mappings under a name."""
    values: dict[str, Value] = {}
    named: dict[str, dict[str, Value]] = {}
    for key, value in given.every():
        if isinstance(value, DictV):
            values |= text.keys_of(value)
        elif isinstance(value, Unknown) and value.given:
            values |= value.given
        if isinstance(key, str):
            values[key] = value
    for key, value in list(values.items()):
        if isinstance(value, DictV):
            inner = text.keys_of(value)
            named[key] = {
                **inner,
                **_all({k: text.keys_of(v) for k, v in inner.items() if isinstance(v, DictV)}),
            }
    return values, named


def _fields(template: Template) -> set[str]:
    """Return the names of the fields of a template that are not filled yet."""
    return {
        name
        for part in flat(_parts(template))
        if isinstance(part, Seg)
        and part.segment.text is None
        and (match := _ROOT.match(part.segment.origin.name)) is not None
        and (name := match.group()) not in template.fields
    }


def _parts(template: Template) -> Iterator[Part]:
    yield from template.parts
    for message in template.messages:
        if isinstance(message, Template):
            yield from _parts(message)
        elif isinstance(message, Obj):
            content = message.attrs.get("content")
            if isinstance(content, Str | Template):
                yield from content.parts
