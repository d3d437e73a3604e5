"""``promptlint rules``."""

from __future__ import annotations

import json

import click

from promptlint.cli.params import format_option


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
    width = max((len(rule.name) for rule in rules), default=0)
    for rule in rules:
        off = "" if rule.default else " (off by default)"
        click.echo(f"{rule.code}  {rule.name:<{width}}  {rule.summary}{off}")
