"""The report as a picture: hits by request, and times to first token."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from promptlint.errors import InputError, UsageError
from promptlint_runtime.report import Run

_COLOURS = {"off": "#9e9e9e", "cold": "#b5651d", "warm": "#2a7f62"}


_ENDING = "end the file's name with .svg, .png or .pdf"


def check_drawing(path: Path) -> None:
    """Tell before the work is done that a picture cannot be drawn.

    Raises:
        UsageError: matplotlib is missing, or the format is unknown.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise UsageError("a picture needs matplotlib", "pip install 'promptlint-cache[plot]'") from None
    if path.suffix.lower().removeprefix(".") not in Figure().canvas.get_supported_filetypes():
        raise UsageError(f"{path}: no format of that name", _ENDING)


def draw(runs: Sequence[Run], path: Path) -> None:
    """Write a picture in the format of the file's ending (svg, png, pdf).

    Raises:
        UsageError: matplotlib is missing, or the format is unknown.
        InputError: the file cannot be written.
    """
    from matplotlib.figure import Figure

    timed = any(run.timings for run in runs)
    figure = Figure(figsize=(12 if timed else 7, 3.4 * len(runs)), layout="tight")
    axes = figure.subplots(len(runs), 2 if timed else 1, squeeze=False)
    for row, run in zip(axes, runs, strict=True):
        _hits(row[0], run)
        if timed:
            _times(row[1], run)
    try:
        figure.savefig(path)
    except ValueError as error:
        raise UsageError(f"{path}: {error}", _ENDING) from None
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}", "check folder and rights") from None


def _hits(axis: Any, run: Run) -> None:
    rows = [row for row in run.rows if row.measured_hit_tokens is not None]
    at = [row.id for row in rows]
    axis.bar(at, [row.prompt_tokens for row in rows], width=1.0, color="#d9d9d9", label="prompt")
    axis.bar(at, [row.measured_hit_tokens for row in rows], width=1.0, color="#2a7f62", label="measured hit")
    known = [row for row in rows if row.predicted_hit_tokens is not None]
    axis.plot([r.id for r in known], [r.predicted_hit_tokens for r in known], "k_", label="predicted hit")
    axis.set(title=run.title, xlabel="request", ylabel="tokens")
    axis.legend()


def _times(axis: Any, run: Run) -> None:
    for shift, (name, colour) in enumerate(_COLOURS.items()):
        found = [(index, getattr(timing, name)) for index, timing in enumerate(run.timings)]
        spreads = [spread for _, spread in found if spread is not None]
        at = [index + 0.27 * (shift - 1) for index, spread in found if spread is not None]
        low = [s.median - s.least for s in spreads]
        high = [s.most - s.median for s in spreads]
        axis.bar(at, [s.median for s in spreads], 0.25, yerr=[low, high], color=colour, label=name)
    names = [f"#{t.request}" + (f"\nP={t.cached} Q={t.new}" if t.new else "") for t in run.timings]
    axis.set_xticks(range(len(names)), names)
    axis.set(title="time to first token", ylabel="ms")
    if run.timings:
        axis.legend()
