"""Parameters that change between requests of one conversation."""

from __future__ import annotations

from dataclasses import replace

import pytest

from promptlint.checks import CHECKS, Thresholds
from promptlint.findings import Finding
from promptlint.layout import Cause, Confidence, Kind, Layout, Observation, Parameter, Scope
from tests.checks.build import (
    CLAUDE,
    OPENAI,
    Words,
    guard,
    layout,
    place,
    text,
)


def run(made: Layout) -> list[Finding]:
    check = next(check for check in CHECKS if check.code == "PL702")
    return list(check.run(made, Words(made), Thresholds()))


class TestParametersThatFlip:
    def flip(self, name: str, **request: object) -> list[str]:
        seen = Observation("parameter-flips", place(6), name, data={"name": name})
        made = layout(text(9), observations=(seen,), **{**CLAUDE, **request})
        return [found.message for found in run(made)]

    def test_names_what_is_lost_and_what_stays(self) -> None:
        [message] = self.flip("thinking")
        assert "loses the cached messages; the cached tools and system can still be read" in message
        [message] = self.flip("response_format", **OPENAI)
        assert "loses the cached tools, response schema, system and messages" in message

    def test_nothing_documented(self) -> None:
        [message] = self.flip("logit_bias")
        assert message.endswith(": `logit_bias`")

    def test_what_the_provider_leaves_out_of_the_key(self) -> None:
        assert self.flip("metadata", **OPENAI) == []
        assert self.flip("metadata") != []  # Anthropic does not say

    def test_marks_are_no_part_of_the_key(self) -> None:
        assert self.flip("cache_control") == []

    @pytest.mark.parametrize(
        ("expression", "told"),
        [
            ("self.config.get('thinking') == 'on'", False),
            ("self.thinking_config.enabled", False),
            ("needs_thought(question)", True),
        ],
    )
    def test_what_was_configured_holds_for_all_calls(self, expression: str, told: bool) -> None:
        asks = guard(expression=expression)
        thinking = Parameter("thinking", place(6), choices=("on", "off"), guards=(asks,))
        assert bool(run(layout(text(9), parameters=(thinking,), repeated=True, **CLAUDE))) is told

    @pytest.mark.parametrize(
        ("asked", "told"), [("model", False), ("request.model", False), ("question", True)]
    )
    def test_a_model_that_is_asked_for_what_it_is(self, asked: str, told: bool) -> None:
        cause = Cause(Kind.REQUEST_INPUT, Scope.REQUEST, asked, Confidence.HIGH)
        asks = replace(guard(cause, expression=f"{asked}.startswith('large')"), name=asked)
        model = Parameter("model", place(6), choices=("m", "n"), guards=(asks,))
        assert bool(run(layout(text(9), parameters=(model,), repeated=True, **OPENAI))) is told

    def test_choices_of_one_conversation(self) -> None:
        thinking = Parameter("thinking", place(6), choices=("on", "off"))
        [found] = run(layout(text(9), parameters=(thinking,), repeated=True, **CLAUDE))
        assert "is on or off from call to call; at Anthropic" in found.message
