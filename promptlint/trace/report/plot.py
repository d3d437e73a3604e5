"""A curve drawn with characters."""

from __future__ import annotations

from collections.abc import Sequence
from math import log10

_DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))  # braille: four rows of two dots


def plot(
    points: Sequence[tuple[float, float]], width: int = 60, height: int = 10, *, ascii_: bool = False
) -> list[str]:
    """Return lines that show y (0 to 1) over x on a logarithmic axis, with labels.

    Points must be sorted by x, all above 0.
    """
    if len(points) < 2:
        return []
    low, high = log10(points[0][0]), log10(points[-1][0])
    span = (high - low) or 1.0
    top = _top(max(y for _, y in points))
    columns, rows = (width, height) if ascii_ else (width * 2, height * 4)
    grid = [[False] * columns for _ in range(rows)]
    before: int | None = None
    for column in range(columns):
        y = _at(points, low + span * column / (columns - 1))
        row = rows - 1 - round(min(1.0, y / top) * (rows - 1))
        for filled in range(min(row, before if before is not None else row), row + 1):
            grid[filled][column] = True
        if before is not None:
            for filled in range(row, before):
                grid[filled][column] = True
        before = row
    lines = []
    for line in range(height):
        label = (
            f"{top * (1 - line / (height - 1)) * 100:5.0f} % "
            if line % 3 == 0 or line == height - 1
            else " " * 8
        )
        lines.append(label + "│" + (_plain(grid[line]) if ascii_ else _braille(grid, line, width)))
    left, right = _amount(points[0][0]), _amount(points[-1][0])
    middle = _amount(round(10 ** (low + span / 2)))
    gap = max(1, (width - len(left) - len(middle) - len(right)) // 2)
    lines.append(" " * 8 + "└" + "─" * width)
    lines.append(" " * 9 + left + " " * gap + middle + " " * gap + right)
    return lines


def _top(value: float) -> float:
    return next((step for step in (0.05, 0.1, 0.25, 0.5, 0.75) if value <= step), 1.0)


def _at(points: Sequence[tuple[float, float]], x: float) -> float:
    y = points[0][1]
    for at, value in points:
        if log10(at) > x + 1e-9:
            break
        y = value
    return y


def _plain(row: list[bool]) -> str:
    return "".join("*" if dot else " " for dot in row).rstrip()


def _braille(grid: list[list[bool]], line: int, width: int) -> str:
    cells = []
    for cell in range(width):
        code = 0x2800
        for row, dots in enumerate(_DOTS):
            for column, dot in enumerate(dots):
                if grid[line * 4 + row][cell * 2 + column]:
                    code |= dot
        cells.append(" " if code == 0x2800 else chr(code))
    return "".join(cells).rstrip()


def _amount(value: float) -> str:
    for limit, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= limit:
            return f"{value / limit:.3g} {unit}"
    return f"{value:.3g}"
