"""Counts without the model's own vocabulary; every one of them is called an estimate."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import accumulate

from promptlint.tokens.base import Counter, Run
from promptlint.tokens.borders import borders

_PIECES = re.compile(
    r"(?P<word>[A-Za-z]+)|(?P<digits>[0-9]+)|(?P<newline>\s*\n\s*)|(?P<blanks>[ \t]{2,})"
    r"|(?P<marks>[!-/:-@\[-`{-~]+)|(?P<cjk>[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]+)"
    r"|(?P<other>[^\s\x00-\x7f]+)"
)


class CharacterEstimator:
    """Weights of character classes, fitted to o200k_base.

    Over 2,064 prompt texts that the fit did not see, half of the estimates are within 3.5 % and 95 %
    within 11.4 % of the true count (docs/benchmarks.md).
    """

    name = "estimate"
    exact = False

    def run(self, parts: Sequence[str]) -> Run:
        """Estimate each part on its own; stable is what lies before the last settled border."""
        sizes = [_tokens(part) for part in parts]
        text = parts[-1] if parts else ""
        at = next(borders(text), 0)
        ends = tuple(round(size) for size in accumulate(sizes))
        before = sum(sizes[:-1]) if at else sum(sizes[:-1]) - 1
        return Run(ends, min(max(0, int(before + _tokens(text[:at]))), ends[-1] if ends else 0))


def _tokens(text: str) -> float:
    total = 0.0
    for piece in _PIECES.finditer(text):
        kind, length = piece.lastgroup, piece.end() - piece.start()
        if kind == "word":
            total += 0.852 + 0.172 * max(0, length - 6)
        elif kind == "digits":
            total += 1.691 * -(-length // 3)
        elif kind == "newline":
            total += 1.252
        elif kind == "blanks":
            total += 0.704
        elif kind == "marks":
            total += 0.885
        elif kind == "cjk":
            total += 0.74 * length
        else:
            total += 0.897 * length
    return total


class FamilyEstimator:
    """Another encoding's counts, times a factor measured for a family of models."""

    exact = False

    def __init__(self, family: str, base: Counter, factor: float) -> None:
        self.name = f"{family}~{base.name}"
        self._base = base
        self._factor = factor

    def run(self, parts: Sequence[str]) -> Run:
        """Count with the base encoding and scale; what is stable there is taken to be stable here."""
        run = self._base.run(parts)
        return Run(tuple(round(end * self._factor) for end in run.ends), int(run.stable * self._factor))
