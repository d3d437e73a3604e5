"""``promptlint rules``."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import TYPE_CHECKING

import click

from promptlint.cli.params import format_option

if TYPE_CHECKING:
    from promptlint.catalog.model import Rule


@click.command()
@format_option("text", "json")
def command(format_: str) -> None:
    """List the rules."""
    from promptlint.catalog.catalog import Catalog

    rules = Catalog().rules.values()
    if format_ == "json":
        rows = [
            {
                "code": rule.code,
                "name": rule.name,
                "kind": rule.kind.value,
                "summary": rule.summary,
                "default": rule.default,
            }
            for rule in rules
        ]
        click.echo(json.dumps(rows, indent=2, ensure_ascii=False))
        return
    click.echo("\n".join(table(rules)))


def table(rules: Collection[Rule]) -> list[str]:
    """Return one line a rule: code, name, summary."""
    width = max((len(rule.name) for rule in rules), default=0)
    return [
        f"{rule.code}  {rule.name:<{width}}  {rule.summary}{'' if rule.default else ' (off by default)'}"
        for rule in rules
    ]
