"""Chat templates that print the time, by the models that are usually served with them."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from typing import Any

from promptlint.catalog.locate import rules_root


@dataclass(frozen=True, slots=True)
class EngineTemplate:
    """One family's template: ``kind`` is date, rewrite, hoist or none; ``match`` are words of model names."""

    model: str
    kind: str
    feature: str
    when: str
    source: str
    match: tuple[str, ...] = ()


@cache
def engine_templates() -> tuple[EngineTemplate, ...]:
    """Return all rows of the table."""
    with (rules_root() / "engine_templates.toml").open("rb") as file:
        rows: list[dict[str, Any]] = tomllib.load(file)["template"]
    return tuple(EngineTemplate(**{**row, "match": tuple(row.get("match", ()))}) for row in rows)


def dated_template(model: str) -> EngineTemplate | None:
    """Return the row of a template that always prints the date, by the name of a model."""
    plain = re.sub(r"[^a-z0-9.]+", "-", model.lower())
    for row in engine_templates():
        if row.kind == "date" and row.when == "always" and any(word in plain for word in row.match):
            return row
    return None
