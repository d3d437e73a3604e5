"""Line numbers of keys in TOML text, which ``tomllib`` does not keep."""

from __future__ import annotations

import re
from collections.abc import Sequence

_HEADER = re.compile(r"^\s*\[\[?\s*(?P<path>[^\]]+?)\s*\]\]?\s*(?:#.*)?$")
_KEY = re.compile(r"""^\s*(?P<path>(?:"[^"]*"|'[^']*'|[\w.\-\s])+?)\s*=""")
_PART = re.compile(r"""\s*(?:"(?P<basic>[^"]*)"|'(?P<literal>[^']*)'|(?P<bare>[\w\-]+))\s*\.?""")
_LONG = re.compile("'''|\"\"\"")


def _parts(dotted: str) -> tuple[str, ...]:
    return tuple(m["basic"] or m["literal"] or m["bare"] or "" for m in _PART.finditer(dotted))


def line_of(text: str, path: Sequence[str]) -> int:
    """Return the 1-based line of a key, or of the nearest table around it; 1 where there is none.

    Long strings are stepped over; a key inside an inline table counts as the line of that table.
    """
    wanted = tuple(path)
    table: tuple[str, ...] = ()
    best, best_length = 1, 0
    inside = ""
    for number, line in enumerate(text.splitlines(), 1):
        if inside:
            if line.count(inside) % 2:
                inside = ""
            continue
        here: tuple[str, ...] | None = None
        if match := _HEADER.match(line):
            here = table = _parts(match["path"])
        elif match := _KEY.match(line):
            here = table + _parts(match["path"])
        if here and len(here) > best_length and wanted[: len(here)] == here:
            best, best_length = number, len(here)
        if (long := _LONG.search(line)) and line.count(long.group()) % 2:
            inside = long.group()
    return best
