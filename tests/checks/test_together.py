"""Values that stand together, one value printed again, alternatives: which findings are told, and which is first."""

from dataclasses import replace

import pytest

from promptlint.checks import costliest
from promptlint.checks.beside import together
from promptlint.findings import Status
from promptlint.layout import ARGUMENT, Breakpoint, Confidence, Kind, Layout, LayoutKind, Scope, Segment
from tests.checks.build import (
    MESSAGES,
    SYSTEM,
    TOOLS,
    cause,
    guard,
    hole,
    layout,
    place,
    run,
    text,
)

R = Scope.REQUEST


def test_values_that_stand_together_are_one_finding() -> None:
    clock, question = hole(cause(Kind.CLOCK, R, "a")), hole(cause(Kind.REQUEST_INPUT, R, "a"))
    clock2, question2 = hole(cause(Kind.CLOCK, R, "b")), hole(cause(Kind.REQUEST_INPUT, R, "b"))
    [found] = run(layout(clock, text(15), clock2, text(15), clock2, text(60)))
    assert found.primary == place(0, 3)
    assert found.cost is not None
    assert found.cost.tokens == 90
    steps = [(step.place, step.note) for step in found.related]
    assert steps == [(place(2000, 3), "together with `b`"), (place(4000, 3), "printed again")]
    assert len(run(layout(clock, text(16), clock2, text(60)))) == 2
    assert len(run(layout(question, text(47), question2, text(60)))) == 1
    assert len(run(layout(question, text(48), question2, text(60)))) == 2
    day = hole(cause(Kind.CLOCK, Scope.DAY))
    assert len(run(layout(clock, text(2), day, text(60)))) == 2


def test_retrieved_text_and_a_question_side_by_side_are_one_finding() -> None:
    found, question = hole(cause(Kind.RETRIEVED, R, "docs")), hole(cause(Kind.REQUEST_INPUT, R, "query"))
    [first] = run(layout(found, text(10), question, text(60)))
    assert (first.code, len(first.related)) == ("PL107", 1)
    [first] = run(layout(question, text(10), found, text(60)))
    assert (first.code, len(first.related)) == ("PL108", 1)
    assert [f.code for f in run(layout(found, text(50), question, text(60)))] == ["PL107", "PL108"]


def test_one_value_printed_again_is_one_finding() -> None:
    clock, other = hole(cause(Kind.CLOCK, R, "now()")), hole(cause(Kind.CLOCK, R, "later()"))
    first, second = run(layout(clock, text(40), other, text(40), clock, text(60)))
    assert (first.primary, second.primary) == (place(0, 3), place(2000, 3))
    assert [step.place for step in first.related] == [place(4000, 3)]
    assert first.cost is not None
    assert first.cost.tokens == 140


def test_history_inside_a_text() -> None:
    talk = cause(Kind.HISTORY, Scope.SESSION)
    loop = guard(talk, "for", "messages")
    printed = (text(1, guards=(loop,)), hole(talk, guards=(loop,)), text(1, guards=(loop,)))
    [found] = run(layout(*printed, text(60)))
    assert (found.code, found.primary, found.scope) == ("PL111", loop.place, R)
    assert found.cost is not None
    assert found.cost.tokens == 60
    [found] = run(layout(hole(talk), text(31), text(100, message=1)))
    assert found.status is Status.BELOW_THRESHOLD  # the next message moves on in any case
    assert not run(layout(*printed, text(60), kind=LayoutKind.CHAT_TEMPLATE))
    assert not run(layout(text(60), *printed))


def test_tags_are_no_text_that_could_go_first() -> None:
    talk, page = cause(Kind.HISTORY, Scope.SESSION), cause(Kind.REQUEST_INPUT, R)
    tags = replace(text(1), text="</history> <page> " * 10)  # 20 words for who counts words
    assert not run(layout(hole(talk), tags, hole(page), tags))
    assert not run(layout(hole(page), tags, hole(talk), tags))
    assert [f.code for f in run(layout(hole(talk), tags, hole(page), text(40)))] == ["PL108", "PL111"]


@pytest.mark.parametrize(("what", "moves"), [("talk", "grows"), ("talk[-1]", "changes")])
def test_one_turn_of_a_history_does_not_grow(what: str, moves: str) -> None:
    [found] = run(layout(hole(cause(Kind.HISTORY, Scope.SESSION, what)), text(60)))
    assert f"the conversation `{what}` {moves} with every turn" in found.message
    named = replace(cause(Kind.HISTORY, Scope.SESSION, "`x` (by the name `talk`)"), name=what)
    [found] = run(layout(hole(named), text(60)))
    assert f"the conversation `x` (by the name `talk`) {moves} with every turn" in found.message


@pytest.mark.parametrize(
    ("what", "shown"),
    [
        ("datetime.now()", "`datetime.now()`"),
        ("set(names)", "`set(names)`"),
        ("user_name", "`user_name`"),
        ("`now` (by its name)", "`now` (by its name)"),
        ("the turn of the loop", "the turn of the loop"),
    ],
)
def test_code_is_quoted(what: str, shown: str) -> None:
    [found] = run(layout(hole(cause(Kind.CLOCK, R, what)), text(60)))
    assert f"the time from {shown} changes" in found.message


def test_one_place_keeps_its_costliest_finding() -> None:
    made = hole(cause(Kind.CLOCK, R))
    cheap, dear = run(layout(made, text(20)))[0], run(layout(made, text(600)))[0]
    assert costliest([cheap, dear, cheap]) == [dear]


def test_each_of_two_long_alternatives_has_its_own_finding() -> None:
    """``A if small else B``, both with the date in them: two texts to mend. A short one is not."""
    one, other = guard(), replace(guard(), branch=1)
    date = hole(cause(Kind.CLOCK, Scope.DAY, "`date.today()`"))

    def both(words: int) -> Layout:
        first = (replace(date, guards=(one,)), text(words, guards=(one,)))
        second = (replace(date, guards=(other,)), text(60, guards=(other,)))
        return layout(text(20), *first, *second)

    assert [f.cost.tokens for f in run(both(80)) if f.code == "PL101" and f.cost] == [140, 60]
    # Without a text of its own behind it the first may share a branch with anything.
    assert len([f for f in run(both(2)) if f.code == "PL101"]) == 1


def test_what_was_asked_for_is_the_same_in_all_turns() -> None:
    asked = hole(cause(Kind.REQUEST_INPUT, R), section=SYSTEM, role="system")
    count = hole(cause(Kind.COUNTER, R), section=SYSTEM, role="system")
    turns = hole(name="messages", section=MESSAGES, message=1)
    begins = text(60, section=SYSTEM, role="system")
    assert not run(layout(begins, asked, turns, repeated=True))
    assert [f.code for f in run(layout(begins, count, turns, repeated=True))] == ["PL106"]


def test_data_of_several_messages_is_several_findings() -> None:
    issue, tests = hole(cause(Kind.REQUEST_INPUT, R, "issue")), hole(cause(Kind.REQUEST_INPUT, R, "tests"))
    [found] = run(layout(issue, text(10), tests, text(60)))
    assert len(found.related) == 1
    turn = {"section": MESSAGES, "role": "user"}
    issue, tests = replace(issue, **turn, message=0), replace(tests, **turn, message=1)
    rules = text(60, **turn, message=2)
    first, second = run(layout(issue, text(10, **turn, message=1), tests, rules))
    assert (first.related, second.related) == ((), ())
    assert [f.cost.tokens for f in (first, second) if f.cost] == [70, 60]


def test_what_a_name_tells_leads_its_group() -> None:
    at_a_place = cause(Kind.REQUEST_INPUT, R, "`x` (by its place)", "apart", Confidence.LOW)
    by_name = replace(at_a_place, what="`diff` (by its name)", name="diff")
    guess, diff = hole(at_a_place), hole(by_name)
    [found] = run(layout(guess, text(10), diff, text(60)))
    assert found.primary == place(2000, 3)
    assert [step.place for step in found.related] == [place(0, 3)]
    [found] = run(layout(guess, text(10), hole(replace(at_a_place, what="`y` (by its place)")), text(60)))
    assert found.primary == place(0, 3)


def test_an_environment_variable_is_named_as_one() -> None:
    host = cause(Kind.ENVIRONMENT, Scope.MACHINE, "environment variable HOST")
    [found] = run(layout(hole(host), text(300)))
    assert found.message.startswith("the environment variable `HOST` differs between machines; ")


def test_a_set_that_is_written_out_stands_in_backticks() -> None:
    made = cause(Kind.UNORDERED, Scope.PROCESS, '{"photographs", "receipts"…', variant="set")
    [found] = run(layout(hole(made), text(300)))
    assert found.message.startswith('the order of `{"photographs", "receipts"…` differs between processes; ')


def test_a_group_counts_if_one_of_its_values_does() -> None:
    """An argument needs more text behind it than a value that is traced."""
    argument = hole(cause(Kind.REQUEST_INPUT, R, "`a`", variant=ARGUMENT, confidence=Confidence.LOW))
    traced = hole(cause(Kind.REQUEST_INPUT, R, "`b`"))
    [found] = run(layout(argument, text(2), traced, text(40)))
    assert (found.status, found.primary.span.start) == (Status.ACTIVE, 2000)  # the third segment


@pytest.mark.parametrize(
    ("behind", "told"),
    [
        # Folder {root}, branch {branch}, host {host}, shell {shell}: labels go wherever the values go.
        ([text(3), hole(), text(3), hole(), text(3)], False),
        ([text(3), hole(), text(6)], True),
    ],
)
def test_labels_between_values_are_no_loss(behind: list[Segment], told: bool) -> None:
    now = cause(Kind.CLOCK, Scope.REQUEST, "`now()`", confidence=Confidence.HIGH)
    made = layout(text(2), hole(now), *behind)
    assert any(one.code == "PL101" for one in run(made)) == told
    tools = layout(*(replace(segment, section=TOOLS) for segment in made.segments))
    assert any(one.code == "PL302" for one in run(tools))  # the system text stands behind them


def test_labels_behind_data_are_no_loss() -> None:
    """``{text}, language: {language}, [glossary: {terms}] [no glossary]``: of two alternatives there is one."""
    asked = hole(cause(Kind.REQUEST_INPUT, R, "`text`", confidence=Confidence.LOW))
    with_terms = guard(expression="terms")
    without = replace(with_terms, branch=1)
    labels = text(6), hole(), text(8, guards=(with_terms,)), text(8, guards=(without,))
    assert not list(run(layout(asked, *labels)))
    assert list(run(layout(asked, text(6), hole(), text(12))))


@pytest.mark.parametrize(("closing", "told"), [(2, False), (12, True)])
def test_a_document_under_a_mark_of_its_own_is_shared(closing: int, told: bool) -> None:
    """``<report>{report}</report>`` with a mark, and then each of the questions about it."""
    report = hole(cause(Kind.RETRIEVED, R, "`report`"), role="user")
    end = replace(text(closing, role="user"), breakpoint=Breakpoint(place(0), "cache_control"))
    made = layout(text(2, role="user"), report, end, text(40, role="user"))
    assert any(one.code == "PL107" for one in run(made)) is told


def test_a_word_behind_what_a_machine_has_is_no_loss_in_a_system_text() -> None:
    """The conversation behind it is no other machine's."""
    host = hole(
        cause(Kind.ENVIRONMENT, Scope.MACHINE, "`host()`", confidence=Confidence.HIGH), section=SYSTEM
    )
    assert not list(run(layout(text(40, section=SYSTEM), host, text(6, section=SYSTEM))))
    assert list(run(layout(text(40, section=SYSTEM), host, text(12, section=SYSTEM))))


def test_text_under_the_condition_of_the_value_is_there_with_it() -> None:
    asked = guard(cause(Kind.REQUEST_INPUT, R))
    [found] = run(layout(hole(cause(Kind.CLOCK, R), guards=(asked,)), text(40, guards=(asked,)), text(3)))
    assert found.cost is not None
    assert found.cost.tokens == 43


def test_text_of_another_message_under_a_count_of_turns_is_not() -> None:
    first = guard(cause(Kind.COUNTER, R))
    value = hole(cause(Kind.CLOCK, R), guards=(first,), message=0)
    own, other = text(20, guards=(first,), message=0), text(40, guards=(first,), message=1)
    [found] = run(layout(value, own, other))
    assert found.cost is not None
    assert found.cost.tokens == 20


def test_values_of_several_kinds_in_one_sentence_are_one_fault() -> None:
    low = Confidence.LOW
    repo = hole(replace(cause(Kind.ENVIRONMENT, Scope.SESSION, "repo"), confidence=low))
    number = hole(replace(cause(Kind.IDENTIFIER, R, "number"), confidence=low))
    title = hole(replace(cause(Kind.REQUEST_INPUT, R, "title"), confidence=low))
    prompt = layout(repo, text(2), number, text(2), title, text(90))
    [found] = together(run(prompt))  # of those that change most often the first
    assert found.code == "PL102"
    assert sorted(step.place.span.start for step in found.related) == [0, 4000]
    far = layout(number, text(60), title, text(90))
    assert [f.code for f in together(run(far))] == ["PL102", "PL108"]
    traced = layout(hole(cause(Kind.IDENTIFIER, R, "uuid4()")), text(2), title, text(90))
    assert [f.code for f in together(run(traced))] == ["PL102", "PL108"]


@pytest.mark.parametrize(("tokens", "told"), [(60, False), (300, True)])
def test_an_order_behind_data_costs_little(tokens: int, told: bool) -> None:
    names = hole(cause(Kind.UNORDERED, Scope.PROCESS, "set(names)"))
    [alone] = [f for f in run(layout(names, text(tokens))) if f.code == "PL201"]
    assert alone.status is Status.ACTIVE
    behind = run(layout(hole(cause(Kind.REQUEST_INPUT, R, "q")), text(20), names, text(tokens)))
    [order] = [f for f in behind if f.code == "PL201"]
    assert (order.status is Status.ACTIVE) is told
