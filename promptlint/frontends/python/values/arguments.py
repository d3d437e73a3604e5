"""The arguments of a call, evaluated."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field

from promptlint.frontends.python.values.pieces import worst
from promptlint.frontends.python.values.values import Value
from promptlint.layout import Cause

_LOOKED_UP = re.compile(r"(^|_)(collection|index|table|namespace|bucket|key)(_name|_id)?$")


@dataclass(slots=True)
class Arguments:
    """Evaluated arguments of a call."""

    args: list[Value] = field(default_factory=list)
    keywords: dict[str, Value] = field(default_factory=dict)
    rest: Value | None = None  # ``**`` of something unknown
    nodes: dict[str | int, ast.expr] = field(default_factory=dict)

    def get(self, *names: str | int) -> Value | None:
        """Return the first argument given under one of these keywords or positions."""
        for name in names:
            if isinstance(name, int):
                if name < len(self.args):
                    return self.args[name]
            elif name in self.keywords:
                return self.keywords[name]
        return None

    def every(self) -> list[tuple[int | str, Value]]:
        """Return each argument with its position or keyword."""
        return [*enumerate(self.args), *self.keywords.items()]

    @property
    def cause(self) -> Cause | None:
        """Return the worst cause among the arguments; what something is looked up by is not in what is found."""
        return worst(
            *(a.cause for a in self.args),
            *(value.cause for key, value in self.keywords.items() if not _LOOKED_UP.search(key)),
            self.rest.cause if self.rest else None,
        )
