"""Weights under branches against listing every prompt that can be."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from hypothesis import given, settings
from hypothesis import strategies as st

from promptlint.layout import Guard, Segment
from promptlint.prefix.tree import behind, path_to
from promptlint.source import Place, Span

# A program is a list of weights and conditions; a condition is a list of branches, each a program.
Program = list["int | list[Program]"]
PROGRAMS = st.recursive(
    st.lists(st.integers(0, 9), max_size=3),
    lambda inner: st.lists(st.one_of(st.integers(0, 9), st.lists(inner, min_size=1, max_size=3)), max_size=4),
    max_leaves=12,
)


def flatten(program: Program) -> tuple[list[Segment], list[int]]:
    segments: list[Segment] = []
    weights: list[int] = []
    names = itertools.count()

    def walk(part: Program, guards: tuple[Guard, ...]) -> None:
        for item in part:
            if isinstance(item, int):
                segments.append(Segment(Place("a", Span(0, 0)), "", guards=guards))
                weights.append(item)
            else:
                place = Place("a", Span(0, next(names)))
                for number, inner in enumerate(item):
                    walk(inner, (*guards, Guard("if", "x", place, number)))

    walk(program, ())
    return segments, weights


def prompts(program: Program, numbers: Iterator[int]) -> list[list[int]]:
    """Return the segment numbers of every prompt: one branch of each condition, or none."""
    found: list[list[int]] = [[]]
    for item in program:
        if isinstance(item, int):
            number = next(numbers)
            ways = [[number]]
        else:
            ways = [[], *(way for inner in item for way in prompts(inner, numbers))]
        found = [left + right for left in found for right in ways]
    return found


@settings(max_examples=200, deadline=None)
@given(PROGRAMS)
def test_sums_are_those_of_the_heaviest_prompt(program: Program) -> None:
    segments, weights = flatten(program)
    every = prompts(program, itertools.count())
    after = behind(segments, weights.__getitem__)
    assert after[-1] == max(sum(weights[at] for at in prompt) for prompt in every)
    for number in range(len(segments)):
        rests = [prompt[prompt.index(number) + 1 :] for prompt in every if number in prompt]
        assert after[number] == max(sum(weights[at] for at in rest) for rest in rests)
        fronts = {at for prompt in every if number in prompt for at in prompt[: prompt.index(number)]}
        assert path_to(segments, number) == sorted(fronts)
