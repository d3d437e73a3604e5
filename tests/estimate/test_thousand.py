"""Tokens and money of 1,000 requests with one layout."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date

import pytest

from promptlint.catalog.profiles import get_profile, profile_for
from promptlint.estimate.thousand import lines, per_thousand
from promptlint.layout import Breakpoint, Kind, Layout, LayoutKind, Scope, Segment
from promptlint.prefix.sent import one_way
from tests.checks.build import MESSAGES, SYSTEM, cause, guard, hole, layout, place, text

CLOCK = cause(Kind.CLOCK, Scope.REQUEST)
QUESTION = cause(Kind.REQUEST_INPUT, Scope.REQUEST)
OPUS = profile_for("anthropic", "claude-opus-4-8", on=date(2026, 11, 29))


@dataclass(frozen=True)
class Words:
    layout: Layout
    profile: object

    def tokens(self, index: int) -> int:
        return len((self.layout.segments[index].text or "").split())


def marked(segment: Segment, ttl: str = "") -> Segment:
    return replace(segment, breakpoint=Breakpoint(place(7), "cache_control", ttl))


def ask(*segments: Segment, profile=OPUS, **more):
    return per_thousand(Words(layout(*segments, kind=LayoutKind.REQUEST), profile), own=True, **more)


def test_a_good_layout_writes_once_and_reads_the_rest() -> None:
    made = ask(marked(text(2000, section=SYSTEM)), hole(QUESTION, section=MESSAGES))
    assert (made.written, made.read, made.plain, made.exact) == (2000, 999 * 2000, 1000, True)
    # $5 a million: 2,000 written at 6.25, 1,998,000 read at 0.50, 1,000 others at 5
    assert made.usd == pytest.approx((2000 * 6.25 + 1_998_000 * 0.5 + 1000 * 5) / 1e6)
    assert made.usd_uncached == pytest.approx(2_001_000 * 5 / 1e6)


def test_a_clock_in_front_writes_each_time_and_costs_more_than_no_cache() -> None:
    segments = hole(CLOCK, section=SYSTEM), marked(text(2000, section=SYSTEM)), hole(QUESTION)
    before, after = ask(*segments), ask(segments[1], segments[0], segments[2], best=True)
    assert (before.written, before.read) == (1000 * 2001, 0)
    assert before.usd > before.usd_uncached
    assert (after.written, after.read) == (2000, 999 * 2000)
    assert after.usd < before.usd / 5
    shown = "\n".join(lines(before, after))
    assert "2,001,000" in shown
    assert "without a cache" in shown


def test_no_mark_reads_nothing() -> None:
    made = ask(text(5000, section=SYSTEM), hole(QUESTION))
    assert (made.written, made.read, made.plain) == (0, 0, 1000 * 5001)


def test_automatic_caches_in_steps() -> None:
    made = ask(text(2000, section=SYSTEM), hole(QUESTION), profile=get_profile("openai-auto"))
    assert made.read == 999 * 1920
    assert not made.exact
    assert made.usd is None


def test_engines_have_tokens_but_no_price() -> None:
    made = ask(text(100, section=SYSTEM), hole(QUESTION), profile=get_profile("vllm"))
    assert made.read == 999 * 96
    assert made.usd is None


def test_what_changes_by_the_day_is_equal_in_all() -> None:
    made = ask(hole(cause(Kind.CLOCK, Scope.DAY), section=SYSTEM), marked(text(2000, section=SYSTEM)))
    assert made.read == 999 * 2001


def test_the_longer_branch_counts() -> None:
    short, long = text(3, guards=(guard(),)), text(9, guards=(replace(guard(), branch=1),))
    assert one_way(Words(layout(short, long, text(1)), OPUS)) == [1, 2]


def test_a_refused_request_says_so() -> None:
    five = [marked(text(1000, section=SYSTEM)) for _ in range(5)]
    made = ask(*five)
    assert "takes 4" in made.rejected
    assert any("refused" in row for row in lines(made, made))


def test_a_gateway_has_no_cache() -> None:
    assert ask(text(10), profile=get_profile("openrouter")) is None
