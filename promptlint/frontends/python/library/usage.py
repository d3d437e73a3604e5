"""What a model reports of the tokens that a request took: another number with each answer.

::

    reply = client.chat.completions.create(…)
    self.used = reply.usage.total_tokens          Anthropic: reply.usage.input_tokens
    self.used = reply["usage"]["total_tokens"]    Gemini: reply.usage_metadata.total_token_count
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from promptlint.frontends.python.syntax.nodes import walk
from promptlint.layout import Cause, Confidence, Kind, Scope
from promptlint.source import Place

if TYPE_CHECKING:
    from promptlint.frontends.python.values.modules import Module

_REPORTED = re.compile(r"(?:^|\.)(?:\w*_)?usage(?:_metadata)?(?:\.\w+)?\.\w*tokens?(?:_count|_details)?$")


def reported(named: str, place: Place | None) -> Cause | None:
    """Return why a value changes whose dotted name says that it is a count of a model's answer."""
    if "usage" not in named or _REPORTED.search(named) is None:
        return None
    return Cause(Kind.COUNTER, Scope.REQUEST, named.removeprefix("response."), Confidence.HIGH, place)


def kept_from(statement: ast.stmt, module: Module) -> Cause | None:
    """Return why a statement that sets a name sets it to another number each time."""
    value = statement.value if isinstance(statement, ast.Assign) else None
    if value is None:
        return None
    read = (n for n in walk(value) if isinstance(n, ast.Attribute))
    return next(filter(None, (reported(module.text(n), module.place(n)) for n in read)), None)
