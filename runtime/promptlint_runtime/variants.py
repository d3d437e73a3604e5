"""The ways in which one set of prompts is sent."""

from __future__ import annotations

from collections.abc import Sequence

from promptlint_runtime.prompts import Prompt, by_changes

Variants = Sequence[tuple[str, Sequence[Prompt]]]
"""Titles, and the prompts under each."""


def variants(prompts: Sequence[Prompt], *, as_written: bool, reordered: bool) -> Variants:
    """Return the prompts as written, with their changing lines moved behind the others, or both."""
    both = []
    if as_written or not reordered:
        both.append(("as written", prompts))
    if reordered:
        both.append(("reordered", by_changes(prompts)))
    return both
