"""How a replay shows itself: progress, text, JSON, a picture."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING, Any

import click

from promptlint.cli.common import write_whole
from promptlint.errors import InputError

if TYPE_CHECKING:
    from promptlint_runtime.report import Advance, Run, Step


def check_outputs(options: dict[str, Any]) -> None:
    """Find out before the work is done that its report could not be written.

    Raises:
        InputError: a folder is missing, or not to be written to.
        UsageError: the picture cannot be drawn.
    """
    for path in filter(None, (options["output_file"], options["picture"])):
        folder = path.parent
        if not folder.is_dir() or not os.access(folder, os.W_OK):
            raise InputError(
                f"{path}: cannot be written: no such folder, or no right to", "check folder and rights"
            )
    if options["picture"]:
        from promptlint_runtime.picture import check_drawing

        check_drawing(options["picture"])


def show(runs: Sequence[Run], steps: Sequence[Step], options: dict[str, Any]) -> None:
    """Print or write the report, and draw it if that is wanted."""
    from promptlint_runtime.text import render, render_steps

    if options["format_"] == "json":
        text = json.dumps(_json(runs, steps), indent=2, ensure_ascii=False) + "\n"
    else:
        text = render_steps(steps) + render(runs, every=options["every"])
    if options["output_file"]:
        write_whole(options["output_file"], text)
    else:
        click.echo(text, nl=False)
    if options["picture"]:
        from promptlint_runtime.picture import draw

        draw(runs, options["picture"])


def _json(runs: Sequence[Run], steps: Sequence[Step]) -> dict[str, Any]:
    """Return the first run's keys at the top, and all runs where there are several."""
    from dataclasses import asdict

    found = runs[0].to_json()
    if len(runs) > 1:
        found["runs"] = [run.to_json() for run in runs]
    if steps:
        found["self_test"] = [asdict(step) for step in steps]
    return found


_BAR_EVERY = 0.1  # seconds between two states of the bar on a terminal
_LINE_EVERY = 5.0  # and between two lines elsewhere


@contextmanager
def progress(*, enabled: bool) -> Iterator[Advance]:
    """Give a function that shows ``what done / total``: a bar on a terminal, elsewhere a line now and then."""
    stream, shown, begun = sys.stderr, 0.0, monotonic()
    terminal = stream.isatty()

    def advance(what: str, done: int, total: int) -> None:
        nonlocal shown
        now = monotonic()
        if now - max(shown, 0.0 if terminal else begun) < (_BAR_EVERY if terminal else _LINE_EVERY):
            return
        shown = now
        if terminal:
            bar = "#" * (20 * done // max(1, total))
            stream.write(f"\r\x1b[K{what} [{bar:<20}] {done:,} of {total:,}")
        else:
            stream.write(f"{what}: {done:,} of {total:,}, {now - begun:.0f} s\n")
        stream.flush()

    yield advance if enabled else lambda what, done, total: None
    if enabled and terminal and shown:
        stream.write("\r\x1b[K")
        stream.flush()
