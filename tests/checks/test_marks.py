"""Rules on marks, keys and lifetimes, on layouts made by hand."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from promptlint.checks import CHECKS, Thresholds
from promptlint.findings import Finding, Severity
from promptlint.layout import (
    ARGUMENT,
    Breakpoint,
    Confidence,
    Kind,
    Layout,
    LayoutKind,
    Observation,
    Parameter,
    Scope,
    Segment,
)
from tests.checks.build import (
    CLAUDE,
    MESSAGES,
    OPENAI,
    SYSTEM,
    TOOLS,
    Words,
    cause,
    guard,
    hole,
    layout,
    place,
    text,
)


def mark(segment: Segment, ttl: str = "", marker: str = "cache_control", at: int = 700) -> Segment:
    return replace(segment, breakpoint=Breakpoint(place(at), marker, ttl))


def run(made: Layout, family: str = "PL6") -> list[Finding]:
    found = [f for check in CHECKS for f in check.run(made, Words(made), Thresholds())]
    return [f for f in found if f.code.startswith(family)]


def codes(made: Layout) -> list[str]:
    return [finding.code for finding in run(made)]


CLOCK = cause(Kind.CLOCK, Scope.REQUEST, "`datetime.now()`")
QUESTION = cause(Kind.REQUEST_INPUT, Scope.REQUEST, "`question`", confidence=Confidence.MEDIUM)
HISTORY = cause(Kind.HISTORY, Scope.SESSION, "`messages`")
USER = cause(Kind.PER_USER, Scope.USER, "`profile`")
DAY = cause(Kind.CLOCK, Scope.DAY, "`date.today()`")


class TestBehindChanging:
    def test_mark_behind_a_clock(self) -> None:
        made = layout(
            hole(CLOCK, section=SYSTEM), mark(text(3000, section=SYSTEM)), text(9, section=MESSAGES), **CLAUDE
        )
        [found] = run(made)
        assert (found.code, found.kind, found.primary) == ("PL601", Kind.BREAKPOINT_MISPLACED, place(700))
        assert "written, at 1.25 times the price, and never read" in found.message
        assert found.origin == made.segments[0].place
        assert found.cost.tokens == 3000

    def test_a_prefix_under_the_minimum_is_not_said_to_be_written(self) -> None:
        [found] = run(layout(hole(CLOCK, section=SYSTEM), mark(text(300, section=SYSTEM)), **CLAUDE), "PL601")
        assert found.message.endswith("changes with every request: no request reads its prefix")

    def test_mark_on_a_value(self) -> None:
        [found] = run(layout(text(3000, section=SYSTEM), mark(hole(QUESTION, section=SYSTEM)), **CLAUDE))
        assert "stands on `question`" in found.message

    @pytest.mark.parametrize(
        "slow", [DAY, cause(Kind.PER_USER, Scope.USER), cause(Kind.IDENTIFIER, Scope.SESSION)]
    )
    def test_slower_changes_can_still_be_read(self, slow) -> None:
        assert codes(layout(hole(slow, section=SYSTEM), mark(text(3000, section=SYSTEM)), **CLAUDE)) == []

    def test_changing_text_behind_the_mark_is_right(self) -> None:
        assert codes(layout(mark(text(3000, section=SYSTEM)), hole(CLOCK, section=SYSTEM), **CLAUDE)) == []

    def test_rolling_mark_of_a_conversation(self) -> None:
        made = layout(
            mark(text(3000, section=SYSTEM)),
            hole(HISTORY, name="messages"),
            mark(hole(QUESTION, role="user")),
            **CLAUDE,
        )
        assert codes(made) == []
        assert codes(layout(text(3000, section=SYSTEM), mark(hole(QUESTION)), repeated=True, **CLAUDE)) == []

    def test_mark_on_the_only_question(self) -> None:
        assert codes(layout(text(3000, section=SYSTEM), mark(hole(QUESTION, role="user")), **CLAUDE)) == [
            "PL601"
        ]

    def test_document_that_is_asked_about_many_times(self) -> None:
        document = cause(Kind.RETRIEVED, Scope.REQUEST, "`document`")
        made = layout(text(3000, section=SYSTEM), mark(hole(document)), hole(QUESTION), **CLAUDE)
        assert codes(made) == []

    def test_a_guessed_name_is_not_enough(self) -> None:
        guess = replace(CLOCK, confidence=Confidence.LOW)
        assert codes(layout(hole(guess, section=SYSTEM), mark(text(3000, section=SYSTEM)), **CLAUDE)) == []

    def test_but_found_text_in_a_system_prompt_is_found_anew(self) -> None:
        guess = cause(Kind.RETRIEVED, Scope.REQUEST, "`memories`", confidence=Confidence.LOW)
        assert codes(layout(hole(guess, section=SYSTEM), mark(text(3000, section=SYSTEM)), **CLAUDE)) == [
            "PL601"
        ]

    def test_but_not_what_a_loop_gathers(self) -> None:
        guess = cause(Kind.REQUEST_INPUT, Scope.REQUEST, "`message.content`", confidence=Confidence.LOW)
        loop = guard(None, "for", "message in messages")
        made = layout(hole(guess, section=SYSTEM, guards=(loop,)), mark(text(3000, section=SYSTEM)), **CLAUDE)
        assert codes(made) == []

    def test_but_a_marked_question_at_the_end_is_one(self) -> None:
        guess = replace(QUESTION, confidence=Confidence.LOW)
        rules = text(3000, section=SYSTEM)
        assert codes(layout(rules, mark(hole(guess, role="user")), **CLAUDE)) == ["PL601"]
        assert codes(layout(rules, mark(hole(guess, role="user")), hole(guess, role="user"), **CLAUDE)) == []

    def test_and_so_is_a_question_in_front_of_a_marked_document(self) -> None:
        guess = hole(replace(QUESTION, confidence=Confidence.LOW), role="user")
        manual = mark(replace(text(3000), role="user"))
        assert codes(layout(guess, manual, **CLAUDE)) == ["PL601"]
        assert codes(layout(guess, replace(manual, message=guess.message + 1), **CLAUDE)) == []
        argument = hole(replace(QUESTION, confidence=Confidence.LOW, variant=ARGUMENT), role="user")
        assert codes(layout(argument, manual, **CLAUDE)) == []


class TestLimit:
    def test_five_marks(self) -> None:
        five = [mark(text(1000, section=SYSTEM), at=700 + n) for n in range(5)]
        [found] = run(layout(*five, **CLAUDE))
        assert (found.code, found.kind, found.severity) == ("PL602", Kind.BREAKPOINT_LIMIT, Severity.ERROR)
        assert "5 cache marks in one request, 4 are allowed" in found.message
        assert codes(layout(*five[:4], **CLAUDE)) == []

    def test_the_automatic_mark_takes_a_slot(self) -> None:
        four = [mark(text(1000, section=SYSTEM), at=700 + n) for n in range(4)]
        asked = Parameter("cache_control", place(3), '{"type": "ephemeral"}')
        [found] = run(layout(*four, parameters=(asked,), **CLAUDE))
        assert "with the automatic one" in found.message

    def test_the_latest_write_where_that_is_the_rule(self) -> None:
        five = [mark(text(1000), marker="prompt_cache_breakpoint", at=700 + n) for n in range(5)]
        [found] = run(layout(*five, **OPENAI))
        assert found.severity is Severity.WARNING
        assert "only the latest write" in found.message

    def test_branches_do_not_add_up(self) -> None:
        either = [
            mark(text(1000, guards=(replace(guard(), branch=branch),)), at=700 + 10 * branch + n)
            for branch in (0, 1)
            for n in range(3)
        ]
        assert codes(layout(*either, **CLAUDE)) == []

    def test_every_message_of_a_conversation(self) -> None:
        loop = guard(HISTORY, "for", "for message in messages")
        [found] = run(layout(mark(hole(HISTORY, guards=(loop,)), at=1), **CLAUDE))
        assert found.code == "PL602"
        assert "every message" in found.message

    def test_a_mark_set_on_one_of_them_afterwards(self) -> None:
        loop = guard(HISTORY, "for", "for message in messages")
        assert codes(layout(mark(hole(HISTORY, guards=(loop,)), at=700), **CLAUDE)) == []

    @pytest.mark.parametrize("expression", ["for m in messages[-2:]", "for i in users", "for tool in tools"])
    def test_other_loops_have_an_end(self, expression: str) -> None:
        loop = guard(None, "for", expression)
        assert (
            codes(layout(mark(hole(QUESTION, guards=(loop,)), at=1), text(1), repeated=True, **CLAUDE)) == []
        )

    def test_a_condition_inside_the_loop(self) -> None:
        loops = (guard(HISTORY, "for", "for m in messages"), guard(None, "if", "m is messages[-1]", at=950))
        assert codes(layout(mark(hole(HISTORY, guards=loops), at=1), **CLAUDE)) == []

    @pytest.mark.parametrize(
        ("point", "found"),
        [
            ({"location": "message", "role": "assistant"}, ["PL602"]),
            ({"location": "message", "role": "user"}, ["PL602"]),
            ({"location": "message", "role": "user", "index": -1}, []),
            ({"location": "message", "role": "system"}, []),
            ({"location": "tool_config"}, []),
        ],
    )
    def test_injection_points(self, point: dict, found: list[str]) -> None:
        parameter = Parameter("cache_control_injection_point", place(5), json.dumps(point))
        assert codes(layout(parameters=(parameter,), **CLAUDE)) == found

    def test_broken_injection_point(self) -> None:
        parameter = Parameter("cache_control_injection_point", place(5), "{")
        assert codes(layout(parameters=(parameter,), **CLAUDE)) == []


class TestBelowMinimum:
    def test_names_the_figure_and_the_alternative(self) -> None:
        [found] = run(layout(mark(text(1500, section=SYSTEM)), hole(QUESTION), **CLAUDE))
        assert (found.code, found.kind) == ("PL603", Kind.BELOW_MINIMUM)
        assert (
            "1,500 tokens up to the mark, claude-opus-4-7 caches from 2,048 (other sources say 4,096)"
            in found.message
        )

    def test_counts_the_whole_prefix(self) -> None:
        made = layout(text(2040, section=SYSTEM), mark(text(8, section=SYSTEM)), hole(QUESTION), **CLAUDE)
        assert codes(made) == []

    def test_a_hole_may_hold_anything(self) -> None:
        made = layout(
            text(10, section=SYSTEM), hole(USER, section=SYSTEM), mark(text(9, section=SYSTEM)), **CLAUDE
        )
        assert codes(made) == []

    def test_but_a_date_is_short(self) -> None:
        date = cause(Kind.CLOCK, Scope.DAY, "`date.today()`", confidence=Confidence.HIGH)
        made = layout(hole(date, section=SYSTEM), mark(text(100, section=SYSTEM)), hole(QUESTION), **CLAUDE)
        [found] = run(made)
        assert found.code == "PL603"
        assert "at most 132 tokens" in found.message

    def test_text_from_another_file_may_be_longer_there(self) -> None:
        made = layout(mark(text(10, section=SYSTEM)), **CLAUDE)
        elsewhere = replace(made.segments[0], place=place(0, path="policy.md"))
        assert codes(made.with_segments((elsewhere,))) == []
        whole = replace(elsewhere, text="w " * 400)  # no stand-in for another
        assert codes(made.with_segments((whole,))) == ["PL603"]

    def test_the_longest_mark_decides(self) -> None:
        made = layout(
            mark(text(10, section=SYSTEM), at=700), mark(text(3000, section=SYSTEM), at=720), **CLAUDE
        )
        assert codes(made) == []

    def test_a_mark_behind_what_nobody_knows_does_not_silence_it(self) -> None:
        made = layout(
            mark(text(10, section=SYSTEM), at=700),
            hole(USER, section=SYSTEM),
            mark(text(9, section=SYSTEM), at=720),
            **CLAUDE,
        )
        [found] = run(made)
        assert (found.code, found.severity, found.primary) == ("PL603", Severity.INFO, place(700))
        assert "nothing is written or read at it, only at a longer one behind it" in found.message

    def test_what_is_marked_at_its_end_as_well_is_cached_when_it_is_long_enough(self) -> None:
        automatic = Parameter("cache_control", place(5), "{}")
        made = layout(mark(text(10, section=SYSTEM)), hole(QUESTION), parameters=(automatic,), **CLAUDE)
        assert codes(made) == []

    def test_what_a_frontend_gave_up_on_is_not_judged(self) -> None:
        assert codes(layout(mark(text(10, section=SYSTEM)), complete=False, **CLAUDE)) == []


class TestMissing:
    def test_long_prefix_without_a_mark(self) -> None:
        [found] = run(layout(text(5000, section=SYSTEM), hole(QUESTION), **CLAUDE))
        assert (found.code, found.severity) == ("PL604", Severity.INFO)
        assert found.cost.tokens == 5000

    def test_it_stands_at_the_call_and_leads_to_the_text(self) -> None:
        made = layout(text(5000, section=SYSTEM), hole(QUESTION), **CLAUDE)
        [found] = run(made)
        assert found.primary == made.place
        assert [step.place for step in found.related] == [made.segments[0].place]

    @pytest.mark.parametrize(
        "changes",
        [
            {"provider": "openai", "model": "gpt-6-sol"},  # caches without marks
            {"provider": "", "model": ""},
            {"kind": LayoutKind.TEMPLATE},
            {"complete": False},
            {"parameters": (Parameter("cache_control", place(1), "{}"),), "repeated": True},
        ],
    )
    def test_silent_where_none_is_needed_or_known(self, changes: dict) -> None:
        assert codes(layout(text(5000, section=SYSTEM), hole(QUESTION), **{**CLAUDE, **changes})) == []

    def test_silent_under_the_larger_of_the_minimums(self) -> None:
        assert codes(layout(text(3000, section=SYSTEM), hole(QUESTION), **CLAUDE)) == []


class TestOrderAndPlace:
    def test_longer_behind_shorter(self) -> None:
        made = layout(mark(text(3000, section=SYSTEM), "5m", at=640), mark(text(9), "1h", at=720), **CLAUDE)
        [found] = run(made)
        assert (found.code, found.primary, found.severity) == ("PL605", place(640), Severity.ERROR)
        assert [step.place for step in found.related] == [place(720)]

    def test_default_lifetime_counts(self) -> None:
        assert codes(layout(mark(text(3000)), mark(text(9), "1h", at=720), **CLAUDE)) == ["PL605"]
        assert codes(layout(mark(text(3000), "1h"), mark(text(9), at=720), **CLAUDE)) == []

    def test_not_where_the_provider_allows_it(self) -> None:
        made = layout(
            mark(text(3000), "30m", "prompt_cache_breakpoint"),
            mark(text(9), "12h", "prompt_cache_breakpoint", at=720),
            **OPENAI,
        )
        assert codes(made) == []

    def test_not_across_branches(self) -> None:
        one, other = guard(), replace(guard(), branch=1)
        made = layout(
            mark(text(3000, guards=(one,)), "5m"), mark(text(3000, guards=(other,)), "1h", at=720), **CLAUDE
        )
        assert codes(made) == []

    def test_mark_on_a_tool(self) -> None:
        tool = mark(text(3000, section=TOOLS), marker="prompt_cache_breakpoint")
        [found] = run(layout(tool, **OPENAI))
        assert found.code == "PL606"
        assert codes(layout(mark(text(3000, section=TOOLS)), **CLAUDE)) == []

    def test_a_mark_written_for_another_provider_is_left_to_the_gateway(self) -> None:
        assert codes(layout(mark(text(3000, section=TOOLS)), **OPENAI)) == []

    def test_the_marker_tells_where_nothing_else_does(self) -> None:
        five = [mark(text(1000), marker="cachePoint", at=700 + n) for n in range(5)]
        assert codes(layout(*five)) == ["PL602"]


class TestSteps:
    def step(self, blocks: int, **more) -> list[str]:
        turn = [text(1, message=2) for _ in range(blocks - 1)]
        made = [text(3000, message=0), text(5, message=1), *turn, mark(text(1, message=2))]
        return codes(layout(*made, **CLAUDE, **more))

    def test_a_turn_longer_than_the_look_back(self) -> None:
        assert self.step(20) == ["PL607"]
        assert self.step(19) == []

    def test_text_with_holes_may_be_one_block(self) -> None:
        parts = [segment for _ in range(30) for segment in (text(1, message=2), hole(QUESTION, message=2))]
        made = layout(text(3000, message=0), *parts, mark(text(1, message=2)), repeated=True, **CLAUDE)
        assert codes(made) == []

    def test_a_mark_in_the_middle_helps(self) -> None:
        turn = [text(1, message=2) for _ in range(30)]
        turn[15] = mark(turn[15], at=690)
        made = layout(text(3000, message=0), text(5, message=1), *turn, mark(text(1, message=2)), **CLAUDE)
        assert codes(made) == []

    def test_the_first_turn_has_nothing_to_find(self) -> None:
        turn = [text(100) for _ in range(30)]
        assert codes(layout(*turn, mark(text(1)), **CLAUDE)) == []

    def test_a_mark_on_some_calls_only(self) -> None:
        one = guard(expression="turn % 5 == 0")
        made = layout(
            mark(text(3000, section=SYSTEM, guards=(one,))),
            text(3000, section=SYSTEM, guards=(replace(one, branch=1),)),
            hole(HISTORY),
            **CLAUDE,
        )
        assert codes(made) == ["PL608"]
        assert codes(replace(made, segments=(*made.segments[:2], mark(made.segments[2], at=720)))) == []

    @pytest.mark.parametrize("turns", [True, False])
    def test_the_place_of_a_turn_in_every_call(self, turns: bool) -> None:
        one = guard(expression="i == len(messages) - 1")
        made = layout(
            mark(hole(HISTORY, section=MESSAGES, guards=(one,))),
            hole(HISTORY, section=MESSAGES if turns else SYSTEM, guards=(replace(one, branch=1),)),
            **CLAUDE,
        )
        assert codes(made) == ([] if turns else ["PL608"])

    def test_a_switch_of_the_deployment_is_no_fault(self) -> None:
        one = guard(expression="settings.caching")
        made = layout(
            mark(text(3000, section=SYSTEM, guards=(one,))),
            text(3000, section=SYSTEM, guards=(replace(one, branch=1),)),
            **CLAUDE,
        )
        assert codes(made) == []


class TestKeysAndLifetimes:
    @pytest.mark.parametrize("name", ["prompt_cache_key", "key:prompt_cache_key", "extra_body.cache_salt"])
    def test_key_of_one_request(self, name: str) -> None:
        made = cause(Kind.IDENTIFIER, Scope.REQUEST, "`uuid4()`")
        key = Parameter(name, place(6), scope=Scope.REQUEST, cause=made)
        [found] = run(layout(text(9), parameters=(key,), **OPENAI))
        assert (found.code, found.kind, found.severity) == ("PL609", Kind.ROUTING, Severity.ERROR)

    @pytest.mark.parametrize(
        "key",
        [
            Parameter("prompt_cache_key", place(6), "v1"),
            Parameter("prompt_cache_key", place(6), scope=Scope.SESSION, cause=HISTORY),
            Parameter("metadata", place(6), scope=Scope.REQUEST, cause=CLOCK),
        ],
    )
    def test_other_keys(self, key: Parameter) -> None:
        assert codes(layout(text(9), parameters=(key,), **OPENAI)) == []

    @pytest.mark.parametrize(
        ("interval", "ttl", "found"), [("600", "", 1), ("600", "1h", 0), ("299", "", 0), ("7200", "1h", 1)]
    )
    def test_interval_against_lifetime(self, interval: str, ttl: str, found: int) -> None:
        seen = Observation("ttl-short", place(8), data={"interval_seconds": interval})
        made = run(layout(mark(text(3000), ttl), observations=(seen,), **CLAUDE))
        assert [f.code for f in made] == ["PL610"] * found
        assert all(f.kind is Kind.TTL for f in made)

    def test_interval_names_the_lifetime_that_is_long_enough(self) -> None:
        seen = Observation("ttl-short", place(8), data={"interval_seconds": "600"})
        [found] = run(layout(mark(text(3000)), observations=(seen,), **CLAUDE))
        assert "1h" in found.fix.message

    @pytest.mark.parametrize(
        ("model", "count"),
        [
            ("openai/gpt-oss-120b", 1),
            ("meta-llama/Llama-3.3-70B-Instruct", 1),
            ("meta-llama/Llama-3.1-8B", 0),
            ("qwen3-8b", 0),
        ],
    )
    def test_engine_date(self, model: str, count: int) -> None:
        assert codes(layout(text(9), model=model, provider="vllm")) == ["PL611"] * count


@pytest.mark.parametrize(
    ("what", "code"),
    [
        ("mark-on-changing", "PL601"),
        ("mark-limit", "PL602"),
        ("mark-below-minimum", "PL603"),
        ("mark-missing", "PL604"),
        ("mark-order", "PL605"),
        ("mark-forbidden", "PL606"),
        ("mark-lookback", "PL607"),
        ("mark-moved", "PL608"),
        ("key-per-request", "PL609"),
        ("ttl-short", "PL610"),
        ("usage-miscounted", "PL612"),
    ],
)
def test_each_observation_has_one_rule(what: str, code: str) -> None:
    assert codes(layout(observations=(Observation(what, place(4), "the detail"),))) == [code]


SEGMENTS = st.builds(
    lambda words, made, section, ttl, guards, message: replace(
        hole(made, section=section, message=message, guards=guards)
        if made or words is None
        else text(words, section=section, message=message, guards=guards),
        breakpoint=None if ttl is None else Breakpoint(place(700), "cache_control", ttl),
    ),
    st.none() | st.integers(0, 3000),
    st.sampled_from([None, CLOCK, QUESTION, HISTORY, DAY]),
    st.sampled_from([TOOLS, SYSTEM, MESSAGES]),
    st.sampled_from([None, "", "5m", "1h", "2h"]),
    st.sampled_from([(), (guard(),), (guard(HISTORY, "for", "m in messages"),)]),
    st.integers(0, 3),
)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(SEGMENTS, max_size=8),
    st.sampled_from(["", "anthropic", "openai", "bedrock", "deepseek", "nobody"]),
    st.sampled_from(["", "claude-opus-4-7", "gpt-6-sol", "amazon.nova-pro-v1:0", "own"]),
)
def test_any_layout_is_judged_without_a_fault(segments: list[Segment], provider: str, model: str) -> None:
    made = layout(*segments, provider=provider, model=model, kind=LayoutKind.REQUEST)
    for found in run(made):
        assert found.message
        assert found.fix is not None
        assert found.cost is None or found.cost.tokens >= 0
