"""Formatting of a constant pattern: ``'%s' % x``, ``'%s' | format(x)`` and ``'{}'.format(x)``."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from jinja2 import nodes

from promptlint.frontends.jinja.scope import Scope, pieces
from promptlint.frontends.jinja.values import Piece, Text, Value

_PERCENT = re.compile(r"%(?:\((?P<name>\w+)\))?(?P<how>.?)", re.DOTALL)
_BRACES = re.compile(r"\{\{|\}\}|\{(?P<name>\w*)\}|[{}]")


def formatted(
    pattern: str,
    style: str,
    where: nodes.Node,
    values: Sequence[tuple[Value, nodes.Node]],
    named: Mapping[str, tuple[Value, nodes.Node]],
    scope: Scope,
) -> Value | None:
    """Return the text of a pattern with its values in place, or None where it has more than plain fields.

    ``style`` is ``%`` or ``{``; ``where`` is the expression of the pattern; each value comes with its own.
    """
    place = scope.source.place(*scope.parsed.span(where))
    found: list[Piece] = []
    at = number = 0
    for match in (_PERCENT if style == "%" else _BRACES).finditer(pattern):
        if match.start() > at:
            found.append(Piece(place, pattern[at : match.start()]))
        at = match.end()
        name = match.group("name")
        if match.group() in ("%%", "{{", "}}"):
            found.append(Piece(place, match.group()[0]))
            continue
        if match.group() in ("{", "}") or (style == "%" and match.group("how") != "s"):
            return None
        if name and not name.isdigit():
            chosen = named.get(name)
        else:
            index = int(name) if name and len(name) < 4 else number
            chosen = values[index] if index < len(values) else None
            number += 1
        if chosen is None:
            return None
        found += pieces(chosen[0], chosen[1], scope)
        scope.spend(len(found))
    if at < len(pattern):
        found.append(Piece(place, pattern[at:]))
    return Text(tuple(found))
