"""Conditions on what a request is about, and the three rules that ask for them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from promptlint.checks import CHECKS
from promptlint.checks.asked import asked, goes_on
from promptlint.checks.base import Thresholds
from promptlint.findings import Finding
from promptlint.layout import ARGUMENT, Cause, Confidence, Guard, Kind, Layout, Parameter, Scope, Section
from tests.checks.build import Words, cause, guard, hole, layout, place, text

INPUT = cause(Kind.REQUEST_INPUT, Scope.REQUEST, "`question`", ARGUMENT, Confidence.LOW)
TURNS = cause(Kind.HISTORY, Scope.SESSION, "`history`")


def run(one: Layout) -> list[Finding]:
    measure = Words(one)
    return [f for check in CHECKS if check.default for f in check.run(one, measure, Thresholds(1))]


def reads(expression: str, made: Cause | None = None) -> Cause | None:
    about = hole(INPUT, "question", role="user", message=1)
    return asked(layout(text(9, section=Section.SYSTEM), about), guard(made, expression=expression))


@pytest.mark.parametrize(
    "expression",
    [
        "'refund' in question",
        "'refund' in question.lower()",
        "question.startswith('/')",
        "question.strip().lower().startswith('/')",
        "len(question) > 400",
        "question.rstrip().endswith('?')",
        "question.count('!') > 2",
        "re.search(r'\\d', question)",
        "tool.relevant(question)",
        "router.choose(model, question) == 'large'",
    ],
)
def test_a_condition_that_reads_the_question(expression: str) -> None:
    found = reads(expression)
    assert found is not None
    assert (found.kind, found.scope, found.variant) == (Kind.REQUEST_INPUT, Scope.REQUEST, "")


def test_a_condition_that_reads_it_under_another_name() -> None:
    about = hole(INPUT, "question", role="user", message=1)
    one = layout(text(9, section=Section.SYSTEM), about)
    measured = replace(guard(expression="len(words) > 400"), known_as=(("words", "question"),))
    assert asked(one, measured) is not None
    assert asked(one, replace(measured, known_as=(("words", "rules"),))) is None
    assert asked(one, replace(measured, expression="words")) is None


@pytest.mark.parametrize(
    "expression",
    [
        "question",
        "len(question)",
        "isinstance(question, str)",
        "question.kind == 'text'",
        "mode == 'question'",
        "'question' in options",
        "'refund' in other.question",
        "'refund' in questions",
    ],
)
def test_a_condition_that_does_not(expression: str) -> None:
    assert reads(expression) is None


def test_a_traced_condition_tells_by_itself() -> None:
    typed = cause(Kind.REQUEST_INPUT, Scope.REQUEST, "`input()`")
    assert reads("line == 'more'", typed) is typed
    assert reads("line", typed) is None
    assert reads("turns == 3", TURNS) is None


def test_text_in_front_that_the_question_switches() -> None:
    about = guard(expression="'refund' in question", at=700)
    asks = hole(INPUT, "question", role="user", message=1)
    [found] = run(
        layout(text(20, section=Section.SYSTEM, guards=(about,)), text(60, section=Section.SYSTEM), asks)
    )
    assert (found.code, found.primary, found.cost.tokens if found.cost else 0) == ("PL109", about.place, 60)
    # In a turn it stays as it was sent; what nobody sends is no question.
    assert not run(layout(text(60, section=Section.SYSTEM), text(20, guards=(about,)), asks))
    assert not run(
        layout(text(20, section=Section.SYSTEM, guards=(about,)), text(60, section=Section.SYSTEM))
    )


def chosen(expression: str) -> Guard:
    return guard(expression=expression, at=700)


@pytest.mark.parametrize(
    ("turns", "expression", "codes"),
    [
        (True, "tool.name in question", ["PL303"]),
        (True, "tool.name in enabled", []),
        (False, "tool.name in question", []),  # another prompt each time, and nothing to lose but the tools
    ],
)
def test_tools_that_the_question_chooses(turns: bool, expression: str, codes: list[str]) -> None:
    one = layout(
        text(9, section=Section.TOOLS, guards=(chosen(expression),)),
        text(60, section=Section.SYSTEM),
        *([hole(TURNS, "history")] if turns else []),
        hole(INPUT, "question", role="user", message=2),
    )
    assert goes_on(one) is turns
    assert [f.code for f in run(one)] == codes


def test_one_choice_of_tools_is_told_once() -> None:
    """Two conditions on the same list, and a choice of the call that goes with it."""
    first, second = chosen("tool.name in question"), guard(expression="'table' in question", at=800)
    one = layout(
        text(9, section=Section.TOOLS, guards=(first,)),
        text(9, section=Section.TOOLS, guards=(second,)),
        text(60, section=Section.SYSTEM),
        hole(TURNS, "history"),
        hole(INPUT, "question", role="user", message=2),
    )
    choice = Parameter("tool_choice", place(900), choices=("required", "auto"), guards=(second,))
    [found] = run(replace(one, parameters=(choice,)))
    assert (found.code, found.primary) == ("PL303", first.place)


@pytest.mark.parametrize(
    ("turns", "expression", "codes"),
    [
        (True, "len(question) > 400", ["PL702"]),
        (True, "fast", []),
        (False, "len(question) > 400", []),
    ],
)
def test_a_model_that_the_question_chooses(turns: bool, expression: str, codes: list[str]) -> None:
    model = Parameter("model", place(800), choices=("large", "small"), guards=(chosen(expression),))
    one = layout(
        text(60, section=Section.SYSTEM),
        *([hole(TURNS, "history")] if turns else []),
        hole(INPUT, "question", role="user", message=2),
        parameters=(model,),
    )
    assert [f.code for f in run(one)] == codes
