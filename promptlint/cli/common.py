"""Options and steps that several commands share."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any, TypeVar

import click

from promptlint.cli.params import config_option, isolated_option
from promptlint.config import Config, find, load
from promptlint.errors import InputError
from promptlint.files import write_text
from promptlint.report import Report
from promptlint.words import counted

if TYPE_CHECKING:
    from promptlint.baseline import Baseline
    from promptlint.reporters.options import Options

WIDTH = 110
"""Columns of text that goes to no terminal, and the most that one gets."""
_NARROWEST = 48
F = TypeVar("F", bound=Callable[..., Any])


def config_options(function: F) -> F:
    """Add the options that choose and overlay the configuration."""
    for option in reversed(
        (
            config_option,
            isolated_option,
            click.option(
                "--profile", metavar="NAME", help="Cache rules to apply; see `promptlint profiles`."
            ),
            click.option("--model", metavar="NAME", help="Model whose tokens and cache rules count."),
            click.option(
                "--tokenizer", metavar="NAME|FILE", help="Encoding or tokenizer.json that counts tokens."
            ),
        )
    ):
        function = option(function)
    return function


def read_config(config: Path | None, isolated: bool, paths: tuple[str, ...] = (), **overrides: Any) -> Config:
    """Return the configuration for a run; an override of None leaves a setting as it is.

    The nearest one at or above the folder that holds all ``paths`` counts; that some of them have another one,
    which stays unread, is said.
    """
    start = _common_folder(paths)
    if isolated:
        base = Config(root=_project_root(start))
    elif config is not None:
        base = load(config)
    else:
        found = find(start)
        base = load(found) if found else Config(root=_project_root(start))
        for other in _passed_over(paths, found):
            click.echo(f"note: {other} is not read: one configuration counts for all paths", err=True)
    return replace(base, **{key: value for key, value in overrides.items() if value is not None})


def read_baseline(config: Config) -> Baseline | None:
    """Return the findings that the configuration accepts."""
    from promptlint.baseline import Baseline

    return Baseline.read(config.baseline) if config.baseline else None


def _project_root(start: Path) -> Path:
    return next((p for p in (start, *start.parents) if (p / ".git").exists()), start)


def _common_folder(paths: tuple[str, ...]) -> Path:
    folders = {_folder(path) for path in paths if path != "-"}
    return Path(os.path.commonpath(folders)) if folders else Path.cwd()


def _folder(path: str) -> Path:
    first = Path(os.path.normpath(Path.cwd() / path))
    return next((p for p in (first, *first.parents) if os.path.isdir(p)), Path.cwd())  # noqa: PTH112  any name


def _passed_over(paths: tuple[str, ...], used: Path | None) -> list[str]:
    """Return the configurations that are nearer to one of several paths than the one that counts."""
    folders = {_folder(path) for path in paths if path != "-"}
    nearest = {find(folder) for folder in folders} if len(folders) > 1 else set()
    return sorted(os.path.relpath(path) for path in nearest if path is not None and path != used)


def terminal_width(stream: Any) -> int:
    """Return how wide text may be: as wide as the terminal, within bounds, where there is one."""
    if stream is None or not stream.isatty():
        return WIDTH
    return min(WIDTH, max(_NARROWEST, get_terminal_size((WIDTH, 24)).columns))


def wants_color(choice: str, stream: Any) -> bool:
    """Tell whether to colour: as asked, else by NO_COLOR or FORCE_COLOR, else on a terminal."""
    if choice != "auto":
        return choice == "always"
    if os.environ.get("FORCE_COLOR", "0") != "0" and "NO_COLOR" not in os.environ:
        return True
    return "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb" and stream.isatty()


def write_whole(path: Path, text: str) -> None:
    """Write a file whole or not at all.

    Raises:
        InputError: it cannot be written.
    """
    try:
        write_text(path, text)
    except OSError as error:
        raise InputError(
            f"{path}: cannot be written: {error.strerror or error}", "check folder and rights"
        ) from None


def show_errors(report: Report) -> None:
    """Print the files that were not checked, and notes, on standard error."""
    from promptlint.reporters.spots import plain

    for error in report.errors:
        click.secho(f"{plain(error.path)}: not checked: {plain(error.message)}", fg="red", err=True)
        if error.next_step:
            click.echo(f"  next: {error.next_step}", err=True)
    for note in report.notes:
        click.echo(f"note: {note}", err=True)


def show_report(
    report: Report, format_: str, options: Options, output: Path | None = None, *, quiet: bool = False
) -> None:
    """Print a report, or write it to a file; where it is ``quiet``, text without findings is left out."""
    from promptlint.reporters import render

    show_errors(report)
    text = render(report, format_, options)
    if output is not None:
        write_whole(output, text)
    elif not quiet or report.active or format_ not in ("text", "concise"):
        click.echo(text, nl=False, color=options.color)


@contextmanager
def progress(*, enabled: bool) -> Iterator[Callable[[int, int], None]]:
    """Give a function that shows ``done / total`` on a terminal, once a run takes longer than a second."""
    stream = sys.stderr
    begun, shown = time.monotonic(), 0.0

    def advance(done: int, total: int) -> None:
        nonlocal shown
        now = time.monotonic()
        if now - begun > 1.0 and now - shown > 0.1:
            shown = now
            stream.write(f"\r{done:,} of {counted(total, 'file')}")
            stream.flush()

    yield advance if enabled and stream.isatty() else lambda done, total: None
    if shown:
        stream.write("\r\x1b[K")
        stream.flush()
