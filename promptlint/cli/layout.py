"""``promptlint layout``."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click

from promptlint.cli.common import config_options, read_config, start_of, wants_color
from promptlint.errors import InputError


@click.command()
@click.argument("target")
@config_options
@click.option(
    "--context", type=click.Path(path_type=Path), metavar="FILE", help="Sample values of holes (JSON, YAML)."
)
@click.option("--format", "format_", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto", show_default=True)
def command(
    target: str,
    config: Path | None,
    isolated: bool,
    profile: str | None,
    model: str | None,
    tokenizer: str | None,
    context: Path | None,
    format_: str,
    color: str,
) -> None:
    """Show one prompt: its segments, what changes them, what a cache can reuse.

    TARGET is a file, or FILE.py:FUNCTION, or MODULE:FUNCTION.
    """
    from promptlint.engine.inspect import inspect
    from promptlint.reporters.layout import View, layout_json, render_layout

    settings = read_config(
        config,
        isolated,
        start_of((target.rpartition(":")[0] or target,)),
        profile=profile,
        model=model,
        tokenizer=tokenizer,
    )
    values = _values(context) if context else {}
    found = inspect(target, settings, Path.cwd(), values)
    views = [View(one.layout, one.measure, one.reordered) for one in found]
    if format_ == "json":
        click.echo(json.dumps([layout_json(view) for view in views], indent=2, ensure_ascii=False))
        return
    colored = wants_color(color, sys.stdout)
    for number, view in enumerate(views):
        click.echo(("\n" if number else "") + render_layout(view, color=colored), nl=False, color=colored)


def _values(path: Path) -> dict[str, Any]:
    """Read sample values.

    Raises:
        InputError: the file cannot be read or is no mapping.
    """
    try:
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".json":
            data = json.loads(text)
        else:
            import yaml

            try:
                data = yaml.safe_load(text)
            except yaml.YAMLError as error:
                raise ValueError(str(error).replace("\n", " ")) from None
    except OSError as error:
        raise InputError(
            f"{path}: {error.strerror or error}", "check the path given with --context"
        ) from None
    except ValueError as error:
        raise InputError(f"{path}: cannot be read: {error}", "write JSON or YAML: one value a name") from None
    if not isinstance(data, dict):
        raise InputError(f"{path}: not a mapping of names to values", "write JSON or YAML: one value a name")
    return data
