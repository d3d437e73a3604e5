"""``promptlint layout``."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

from promptlint.cli.common import config_options, read_config, terminal_width, wants_color
from promptlint.cli.params import color_option, format_option
from promptlint.errors import InputError


@click.command()
@click.argument("target")
@config_options
@click.option(
    "--context", type=click.Path(path_type=Path), metavar="FILE", help="Sample values of holes (JSON, YAML)."
)
@click.option("--all", "show_all", is_flag=True, help="Show each variant of a prompt, not the longest alone.")
@format_option("text", "json")
@color_option
def command(
    target: str,
    config: Path | None,
    isolated: bool,
    profile: str | None,
    model: str | None,
    tokenizer: str | None,
    context: Path | None,
    show_all: bool,
    format_: str,
    color: str,
) -> None:
    """Show one prompt: its segments, what changes them, what a cache can reuse.

    TARGET is a file, or FILE.py:FUNCTION, or MODULE:FUNCTION;
    FUNCTION may also be a class or CLASS.METHOD.
    """
    from promptlint.engine.inspect import inspect, variants
    from promptlint.estimate.thousand import lines, per_thousand
    from promptlint.reporters.layout import View, layout_json, render_layout

    settings = read_config(
        config,
        isolated,
        (target.rpartition(":")[0] or target,),
        profile=profile,
        model=model,
        tokenizer=tokenizer,
    )
    values = _values(context) if context else {}
    found = inspect(
        target, settings, Path.cwd(), values, lambda text: click.echo(f"{context}: {text}", err=True)
    )
    alike = [[one] for one in found] if show_all or format_ == "json" else variants(found)
    views = [
        View(one.layout, one.measure, one.reordered, one.lines, 1 + len(rest), one.model)
        for one, *rest in alike
    ]
    costs = [
        (
            per_thousand(view.measure, model=view.model),
            per_thousand(view.reordered, model=view.model, best=True),
        )
        for view in views
    ]
    if format_ == "json":
        shown = [
            layout_json(view)
            | {"per_thousand": before and after and {"before": before.json(), "after": after.json()}}
            for view, (before, after) in zip(views, costs, strict=True)
        ]
        click.echo(json.dumps(shown, indent=2, ensure_ascii=False))
        return
    colored = wants_color(color, sys.stdout)
    for number, view in enumerate(views):
        click.echo(
            ("\n" if number else "") + render_layout(view, color=colored, width=terminal_width(sys.stdout)),
            nl=False,
            color=colored,
        )
        before, after = costs[number]
        if before and after:
            click.echo("\n" + "\n".join(lines(before, after)))


def _values(path: Path) -> dict[str, Any]:
    """Read sample values.

    Raises:
        InputError: the file cannot be read or is no mapping.
    """
    from promptlint.source import read

    step = "write JSON or YAML: one value a name"
    text = read(path).text
    try:
        if path.suffix == ".json":
            data = json.loads(text)
        else:
            import yaml

            try:
                _refuse_aliases(yaml.parse(text, Loader=yaml.SafeLoader))
                data = yaml.safe_load(text)
            except yaml.YAMLError as error:
                raise ValueError(str(error).replace("\n", " ")) from None
    except RecursionError:
        raise InputError(f"{path}: nested too deeply", step) from None
    except ValueError as error:
        raise InputError(f"{path}: cannot be read: {error}", step) from None
    if not isinstance(data, dict):
        raise InputError(f"{path}: not a mapping of names to values", step)
    return data


def _refuse_aliases(events: Iterable[object]) -> None:
    """Refuse aliases: a few lines with them stand for more text than there is memory.

    Raises:
        ValueError: there is one.
    """
    from yaml.events import AliasEvent

    for event in events:
        if isinstance(event, AliasEvent):
            line = event.start_mark.line + 1 if event.start_mark else 1
            raise ValueError(f"line {line}: an alias; write the value out")  # noqa: TRY004  their content
