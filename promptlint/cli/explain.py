"""``promptlint explain``."""

from __future__ import annotations

import sys

import click

from promptlint.cli.common import find_rule, wants_color
from promptlint.cli.params import color_option


@click.command()
@click.argument("rule", metavar="CODE")
@color_option
def command(rule: str, color: str) -> None:
    """Explain a rule: why it matters, bad and good examples.

    CODE is a rule's code or name.
    """
    found = find_rule(rule)
    colored = wants_color(color, sys.stdout)
    default = "" if found.default else " (off by default; --extend-select turns it on)"
    click.secho(f"{found.code} {found.name}{default}", bold=True, color=colored)
    click.echo(f"{found.summary}\n")
    click.echo("\n".join(_lines(found.body)), color=colored)


def _title(fence: str) -> str:
    """Return the language of a code block, and the file it stands for; the rest is for the tests."""
    language, *words = fence.strip().strip("`").split() or ["text"]
    file = next((word.removeprefix("file=") for word in words if word.startswith("file=")), "")
    return f"{language}, {file}:" if file else f"{language}:"


def _lines(body: str) -> list[str]:
    """Return Markdown for a terminal: headings bold, code blocks set in and without fences."""
    lines, code = [], False
    for line in body.strip().split("\n"):
        if line.lstrip().startswith("```"):
            code = not code
            if code:
                lines.append(click.style(f"    {_title(line)}", fg="cyan"))
        elif code:
            lines.append(f"    {line}")
        elif line.startswith("#"):
            lines.append(click.style(line.lstrip("# "), bold=True))
        else:
            lines.append(line)
    return lines
