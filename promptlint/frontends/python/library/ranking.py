"""Fixed texts in an order that depends on what is asked for: by their scores for a question.

::

    scores = index.get_scores(question.split())
    best = sorted(range(len(NAMES)), key=lambda i: -scores[i])[:3]
    best = sorted(TABLES, key=lambda table: overlap(question, table))[:3]

Each text is known; which of them are sent, and in which order, the next question decides.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from promptlint.frontends.python.syntax.nodes import walk
from promptlint.frontends.python.values.values import Unknown, Value
from promptlint.layout import DATA, Cause, Confidence, Scope

if TYPE_CHECKING:
    from promptlint.frontends.python.evaluate.machine import Frame, Machine


def ranked(m: Machine, node: ast.Call, frame: Frame) -> Cause | None:
    """Return what a list is sorted by, where that is data of the request."""
    key = next((keyword.value for keyword in node.keywords if keyword.arg == "key"), None)
    if key is None:
        return None
    for value in _read(key, frame):
        cause = value.cause
        if cause is not None and cause.kind in DATA and cause.scope is Scope.REQUEST:
            return cause
        told = m.catalog.name(value.name) if isinstance(value, Unknown) and value.name else None
        if told is not None and told.kind in DATA:
            place, what = frame.module.place(node), frame.module.text(node)
            return Cause(told.kind, Scope.REQUEST, what, Confidence.MEDIUM, place)
    return None


def _read(key: ast.expr, frame: Frame) -> Iterator[Value]:
    """Yield the values of a function that a key reads beside the element: ``score(question, text)``, ``-scores[i]``."""
    body, own = (
        (key.body, {a.arg for a in key.args.args}) if isinstance(key, ast.Lambda) else (key, set[str]())
    )
    read = dict.fromkeys(node.id for node in walk(body) if isinstance(node, ast.Name))
    if own <= read.keys():
        yield from (frame.names[name] for name in read if name not in own and name in frame.names)
