"""``promptlint explain``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from promptlint.cli.common import wants_color
from promptlint.cli.params import color_option
from promptlint.cli.rules import table
from promptlint.errors import UsageError

if TYPE_CHECKING:
    from promptlint.catalog.model import Rule


@click.command()
@click.argument("rule", metavar="CODE")
@color_option
def command(rule: str, color: str) -> None:
    """Explain a rule: why it matters, bad and good examples.

    CODE is a rule's code or name; the beginning of a code, as PL1, lists the rules of a family.
    """
    rules = _found(rule)
    if len(rules) > 1:
        click.echo("\n".join(table(rules)))
        return
    [found] = rules
    colored = wants_color(color, sys.stdout)
    default = "" if found.default else " (off by default; --extend-select turns it on)"
    click.secho(f"{found.code} {found.name}{default}", bold=True, color=colored)
    click.echo(f"{found.summary}\n")
    click.echo("\n".join(_lines(found.body)), color=colored)


def _found(word: str) -> list[Rule]:
    """Return the rule of a code or name, or all whose code begins with the word.

    Raises:
        UsageError: there is none; the next step names one that is spelt alike.
    """
    from difflib import get_close_matches

    from promptlint.catalog.catalog import Catalog

    rules = list(Catalog().rules.values())
    family = [rule for rule in rules if rule.code.startswith(word.upper())] if word else []
    if found := [rule for rule in rules if rule.name == word.lower()] or family:
        return found
    words = [*(rule.code for rule in rules), *(rule.name for rule in rules)]
    close = [rule.name for rule in rules if word and word.lower() in rule.name]
    close = close or get_close_matches(word.upper(), words, 1) or get_close_matches(word.lower(), words, 1)
    hint = f"did you mean {', '.join(close[:4])}?" if close else "`promptlint rules` lists them"
    raise UsageError(f"{word}: no such rule", hint)


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
