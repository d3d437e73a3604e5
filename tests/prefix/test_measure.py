from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

import pytest

from promptlint.catalog.profile import Granularity, Profile
from promptlint.layout import Guard, Layout, Scope, Section, Segment
from promptlint.prefix.compare import best_order, compare
from promptlint.prefix.measure import Measure
from promptlint.source import Place, Span
from promptlint.tokens.base import Run

PLACE = Place("a.j2", Span(0, 0))


class Words:
    """A counter that makes hand counting easy: a token a word, the last one is not settled."""

    name = "words"
    exact = True

    def __init__(self) -> None:
        self.calls = 0

    def run(self, parts: Sequence[str]) -> Run:
        self.calls += 1
        ends = tuple(len("".join(parts[: at + 1]).split()) for at in range(len(parts)))
        return Run(ends, max(0, ends[-1] - 1))


def engine(block: int = 4, least: int = 0) -> Profile:
    return Profile(
        "engine",
        "engine",
        "",
        "",
        granularity=Granularity.BLOCK,
        block_tokens=block,
        min_tokens=least,
        last_token="recomputed",
    )


def text(words: int, **more: object) -> Segment:
    return Segment(PLACE, "w " * words, **more)  # type: ignore[arg-type]


def hole(scope: Scope, **more: object) -> Segment:
    return Segment(PLACE, None, scope=scope, **more)  # type: ignore[arg-type]


def branch(number: int, at: int = 0, scope: Scope = Scope.UNKNOWN) -> Guard:
    return Guard("if", "x", Place("a.j2", Span(at, at)), number, scope)


def measure(*segments: Segment, profile: Profile | None = None) -> Measure:
    return Measure(Layout("p", PLACE, segments), profile or engine(), Words())


def test_3500_stable_tokens_are_218_blocks_of_16() -> None:
    found = measure(text(3500, message=0), hole(Scope.REQUEST, message=1), profile=engine(16)).prefix(
        Scope.SESSION
    )
    assert (found.tokens, found.aligned_tokens, found.blocks) == (3500, 3488, 218)


def test_a_constant_prompt_of_whole_blocks_computes_its_last_block_again() -> None:
    assert measure(text(8)).prefix(Scope.REQUEST).aligned_tokens == 4
    assert measure(text(9)).prefix(Scope.REQUEST).aligned_tokens == 8


def test_the_prefix_ends_before_the_first_narrower_segment() -> None:
    m = measure(text(10), hole(Scope.DAY), text(20), hole(Scope.USER), text(30))
    assert m.prefix(Scope.RELEASE).first_blocker == 1
    assert m.prefix(Scope.RELEASE).tokens == 9  # the last word may join the date
    assert m.prefix(Scope.DAY).tokens == 29
    assert m.prefix(Scope.DAY).holes == 1
    assert m.prefix(Scope.USER).first_blocker is None
    assert m.prefix(Scope.USER).tokens == m.total == 60


def test_the_end_of_a_message_is_settled() -> None:
    m = measure(text(10, section=Section.SYSTEM), hole(Scope.REQUEST, section=Section.MESSAGES))
    assert m.prefix(Scope.SESSION).tokens == 10


def test_below_the_minimum_nothing_is_reusable() -> None:
    m = measure(text(40), hole(Scope.REQUEST), profile=engine(4, least=1024))
    assert (m.prefix(Scope.SESSION).tokens, m.prefix(Scope.SESSION).aligned_tokens) == (39, 0)


def test_what_is_lost_behind_a_segment_is_the_wider_text() -> None:
    m = measure(hole(Scope.DAY), text(10), hole(Scope.REQUEST), text(7))
    assert m.lost_behind(0, Scope.DAY).tokens == 17
    assert m.lost_behind(2, Scope.REQUEST).tokens == 7
    assert m.lost_behind(2, Scope.REQUEST).blocks == 1
    assert m.lost_behind(3, Scope.REQUEST).tokens == 0


def test_text_under_a_narrow_condition_is_not_stable() -> None:
    narrow = (branch(0, scope=Scope.REQUEST),)
    m = measure(text(10), hole(Scope.DAY), text(5, guards=narrow), text(3))
    assert m.lost_behind(1, Scope.DAY).tokens == 3
    assert m.prefix(Scope.DAY).first_blocker == 2


def test_of_alternatives_the_longest_counts_once() -> None:
    m = measure(
        hole(Scope.DAY),
        text(5, guards=(branch(0),)),
        text(9, guards=(branch(1), branch(0, at=7))),
        text(2, guards=(branch(1), branch(1, at=7))),
        text(4, guards=(branch(1),)),
        text(1),
    )
    assert m.lost_behind(0, Scope.DAY).tokens == 9 + 4 + 1
    assert m.lost_behind(1, Scope.DAY).tokens == 1  # the other branch excludes it
    assert m.lost_behind(3, Scope.DAY).tokens == 5
    assert m.total == 14


def test_a_blocker_in_a_branch_is_reached_by_that_branch_only() -> None:
    m = measure(
        text(10),
        text(50, guards=(branch(0),)),
        hole(Scope.REQUEST, guards=(branch(1),)),
    )
    assert m.prefix(Scope.SESSION).tokens == 9


def test_segments_of_one_run_are_counted_together() -> None:
    counter = Words()
    m = Measure(Layout("p", PLACE, (Segment(PLACE, "He"), Segment(PLACE, "llo you"))), engine(), counter)
    assert [m.tokens(0), m.tokens(1)] == [1, 1]
    assert (m.total, counter.calls) == (2, 1)


def test_nothing_is_counted_before_it_is_asked_for() -> None:
    counter = Words()
    m = Measure(Layout("p", PLACE, (text(5),)), engine(), counter)
    assert counter.calls == 0
    assert m.profile.name == "engine"
    m.prefix(Scope.DAY)
    m.lost_behind(0, Scope.DAY)
    assert counter.calls == 1


@pytest.mark.parametrize("guarded", [False, True])
def test_5000_segments_are_measured_in_linear_time(guarded: bool) -> None:
    segments = []
    for at in range(2500):
        guards = (branch(at % 3, at=at // 3),) if guarded else ()
        segments += [hole(Scope.DAY, guards=guards), text(1, guards=guards)]
    m = measure(*segments)
    start = time.process_time()
    total = sum(m.lost_behind(at, Scope.DAY).tokens for at in range(len(segments)))
    assert total > 0
    assert time.process_time() - start < 2


def test_reordering_puts_the_stable_first_and_keeps_the_messages() -> None:
    layout = Layout(
        "p",
        PLACE,
        (
            hole(Scope.DAY, section=Section.SYSTEM),
            text(10, section=Section.SYSTEM),
            hole(Scope.REQUEST, section=Section.MESSAGES, message=0),
            text(6, section=Section.MESSAGES, message=1),
        ),
    )
    better = compare(layout, engine(), Words(), Scope.RELEASE)
    assert better.order == (1, 0, 2, 3)
    assert (better.before.tokens, better.after.tokens, better.gained) == (0, 9, 9)
    assert better.changed
    same = compare(layout, engine(), Words(), Scope.SESSION)
    assert same.gained == 0
    assert not same.changed


def test_text_under_a_condition_is_reordered_in_itself_and_stays_together() -> None:
    one, other, loop = branch(0), branch(1), Guard("for", "x in y", Place("a.j2", Span(9, 9)))
    segments = (
        hole(Scope.REQUEST, guards=(one,)),
        text(5, guards=(one,)),
        hole(Scope.DAY, guards=(one, branch(0, 5))),
        text(3, guards=(one, branch(0, 5))),
        hole(Scope.DAY, guards=(other,)),
        text(2, guards=(other,)),
        hole(Scope.REQUEST, guards=(loop,)),
        text(7, guards=(loop,)),
        text(1),
    )
    # The first branch: its fixed text, the inner condition with its own fixed text first, the hole of the request.
    assert best_order(segments) == (8, 1, 3, 2, 0, 5, 4, 6, 7)


def test_text_under_a_condition_that_all_requests_in_question_meet_is_stable_among_them() -> None:
    narrow = (branch(0, scope=Scope.REQUEST),)
    m = measure(replace(hole(Scope.REQUEST), guards=narrow), text(5, guards=narrow), text(3))
    assert m.lost_behind(0, Scope.REQUEST).tokens == 3
    assert m.lost_behind(0, Scope.REQUEST, narrow).tokens == 8
