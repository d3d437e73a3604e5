from dataclasses import replace

import pytest

from promptlint.checks import Thresholds
from promptlint.findings import Severity, Status
from promptlint.layout import Confidence, Guard, Kind, Scope, Segment, Step
from tests.checks.build import (
    MESSAGES,
    SYSTEM,
    TOOLS,
    Blocks16,
    cause,
    guard,
    hole,
    layout,
    place,
    run,
    text,
)

R = Scope.REQUEST


@pytest.mark.parametrize(
    ("kind", "variant", "code"),
    [
        (Kind.CLOCK, "", "PL101"),
        (Kind.IDENTIFIER, "", "PL102"),
        (Kind.RANDOM, "", "PL103"),
        (Kind.PER_USER, "", "PL104"),
        (Kind.ENVIRONMENT, "", "PL105"),
        (Kind.COUNTER, "", "PL106"),
        (Kind.RETRIEVED, "", "PL107"),
        (Kind.REQUEST_INPUT, "", "PL108"),
        (Kind.UNORDERED, "", "PL201"),
        (Kind.UNORDERED, "set", "PL201"),
        (Kind.UNORDERED, "listing", "PL202"),
        (Kind.RANDOM, "shuffle", "PL203"),
        (Kind.UNORDERED, "completion", "PL204"),
        (Kind.UNORDERED, "repr", "PL205"),
    ],
)
def test_each_kind_has_one_rule(kind: Kind, variant: str, code: str) -> None:
    [found] = run(layout(text(5), hole(cause(kind, R, variant=variant)), text(100)))
    assert (found.code, found.kind, found.status) == (code, kind, Status.ACTIVE)
    assert found.cost is not None
    assert (found.cost.tokens, found.cost.blocks) == (100, 6)
    assert "100 stable tokens (6 blocks) behind it" in found.message


def test_volatile_text_at_the_end_is_fine() -> None:
    assert not run(layout(text(100), hole(cause(Kind.CLOCK, R))))


def test_only_what_is_more_stable_counts() -> None:
    user, request = cause(Kind.PER_USER, Scope.USER), cause(Kind.CLOCK, R)
    assert not run(layout(hole(user), hole(request)))
    assert not run(layout(hole(user), hole(user), text(0)))


def test_constant_causes_are_silent() -> None:
    assert not run(layout(hole(cause(Kind.CLOCK, Scope.RELEASE)), text(500)))


def test_less_than_a_block_is_counted_but_not_active() -> None:
    [found] = run(layout(hole(cause(Kind.CLOCK, R)), text(15)))
    assert found.status is Status.BELOW_THRESHOLD
    [found] = run(layout(hole(cause(Kind.CLOCK, R)), text(16)))
    assert found.status is Status.ACTIVE


def test_a_profile_with_large_blocks_hides_nothing_more() -> None:
    for block, fewest in ((128, 16), (16, 16), (1, 1), (None, 16)):
        assert Thresholds().of(Kind.CLOCK, Confidence.HIGH, Blocks16(block_tokens=block)) == fewest


def test_a_name_alone_needs_two_blocks() -> None:
    made = cause(Kind.PER_USER, R, confidence=Confidence.LOW)
    [found] = run(layout(hole(made), text(31)))
    assert found.status is Status.BELOW_THRESHOLD
    [found] = run(layout(hole(made), text(32)))
    assert found.status is Status.ACTIVE


def test_a_guess_before_the_end_of_a_long_prompt_needs_four_blocks() -> None:
    guessed = cause(Kind.REQUEST_INPUT, R, confidence=Confidence.LOW)
    seen = replace(guessed, confidence=Confidence.HIGH)
    for made, before, behind, status in (
        (guessed, 256, 63, Status.BELOW_THRESHOLD),
        (guessed, 252, 63, Status.ACTIVE),
        (guessed, 999, 64, Status.ACTIVE),
        (seen, 999, 63, Status.ACTIVE),
    ):
        [found] = run(layout(text(before), hole(made), text(behind)))
        assert found.status is status
    [found] = run(layout(text(999), hole(seen), text(63), confidence=Confidence.LOW))  # so may the prompt be
    assert found.status is Status.BELOW_THRESHOLD
    [found] = run(layout(text(999), hole(guessed), text(10)), Thresholds(10))
    assert found.status is Status.ACTIVE


def test_data_may_stand_before_a_short_text() -> None:
    [found] = run(layout(hole(cause(Kind.RETRIEVED, R)), text(31)))
    assert found.status is Status.BELOW_THRESHOLD
    [found] = run(layout(hole(cause(Kind.REQUEST_INPUT, R)), text(32)))
    assert found.status is Status.ACTIVE


def test_labels_between_data_are_no_text_that_could_stand_first() -> None:
    asked, known = cause(Kind.REQUEST_INPUT, R, "question"), cause(Kind.RETRIEVED, R, "notes")
    form = (hole(asked), text(31), hole(known), text(31), hole(known), text(31))
    found = run(layout(*form))
    assert [(f.status, f.cost and f.cost.tokens) for f in found if f.kind is Kind.REQUEST_INPUT] == [
        (Status.BELOW_THRESHOLD, 93)
    ]
    # What never changes does not interrupt a text.
    [found, *_] = run(layout(hole(asked), text(20), hole(), text(12)))
    assert found.status is Status.ACTIVE


def test_an_argument_in_running_text_needs_more_behind_it() -> None:
    for variant, fewest in (("apart", 32), ("argument", 128)):
        made = cause(Kind.REQUEST_INPUT, R, variant=variant, confidence=Confidence.LOW)
        [found] = run(layout(hole(made), text(fewest - 1)))
        assert found.status is Status.BELOW_THRESHOLD
        [found] = run(layout(hole(made), text(fewest)))
        assert found.status is Status.ACTIVE


def unseen(**more: object) -> Segment:
    program = hole(name="system_prompt", **more)
    return replace(program, scope=Scope.RELEASE, origin=replace(program.origin, fixed=True))


def test_a_text_of_the_program_that_is_not_seen_is_lost_too() -> None:
    [found] = run(layout(hole(cause(Kind.CLOCK, R)), unseen()))
    assert (found.status, found.severity) == (Status.ACTIVE, Severity.WARNING)
    assert found.message.endswith("the text of `system_prompt` behind it cannot be reused")
    [found] = run(layout(hole(cause(Kind.CLOCK, R)), text(20), unseen()))
    assert "20 stable tokens (1 block) and the text of `system_prompt` behind it" in found.message
    assert not run(layout(unseen(), hole(cause(Kind.CLOCK, R))))


def test_a_text_of_another_branch_is_not_behind() -> None:
    one, other = guard(), replace(guard(), branch=1)
    assert not run(layout(hole(cause(Kind.CLOCK, R), guards=(one,)), unseen(guards=(other,))))


def test_the_users_threshold_holds_for_every_kind() -> None:
    for kind in (Kind.CLOCK, Kind.RETRIEVED):
        [found] = run(layout(hole(cause(kind, R)), text(10)), Thresholds(10))
        assert found.status is Status.ACTIVE
        [found] = run(layout(hole(cause(kind, R)), text(10)), Thresholds(11))
        assert found.status is Status.BELOW_THRESHOLD


def test_history_in_a_later_message_is_lost_too() -> None:
    clock = hole(cause(Kind.CLOCK, R), section=SYSTEM)
    history = hole(cause(Kind.HISTORY, Scope.SESSION), section=MESSAGES)
    [found] = run(layout(clock, history))
    assert found.status is Status.ACTIVE
    assert found.severity is Severity.ERROR
    assert "the whole conversation behind it" in found.message


def test_history_is_not_lost_to_what_changes_no_more_than_it() -> None:
    session = hole(cause(Kind.IDENTIFIER, Scope.SESSION), section=SYSTEM)
    day = hole(cause(Kind.CLOCK, Scope.DAY), section=SYSTEM)
    history = hole(cause(Kind.HISTORY, Scope.SESSION), section=MESSAGES)
    assert not run(layout(session, day, history))


def test_a_repeated_prompt_has_history_behind_its_system_part() -> None:
    clock = cause(Kind.CLOCK, R)
    [found] = run(layout(hole(clock, section=SYSTEM), repeated=True))
    assert found.status is Status.ACTIVE


def test_a_message_that_is_kept_as_it_was_sent_loses_nothing() -> None:
    clock = cause(Kind.CLOCK, R)
    assert not run(layout(hole(clock, section=MESSAGES, role="user"), text(60), repeated=True))
    assert run(layout(hole(clock, section=MESSAGES, role="user"), text(60)))
    assert run(layout(hole(clock, section=MESSAGES, role="system"), text(60), repeated=True))


def test_a_system_message_that_a_counting_loop_adds_is_kept() -> None:
    clock = cause(Kind.CLOCK, R)
    for loop, added in (("range(5)", True), ("documents", False)):
        guards = (Guard("for", loop, place(0)),)
        said = [
            replace(s, role="system", message=2, guards=guards, section=MESSAGES)
            for s in (hole(clock), text(60))
        ]
        assert bool(run(layout(text(60, section=MESSAGES), *said, repeated=True))) is not added


def test_a_system_text_that_is_handed_on_whole_is_no_question() -> None:
    given = hole(cause(Kind.REQUEST_INPUT, R), section=SYSTEM)
    turns = replace(hole(cause(Kind.HISTORY, Scope.SESSION)), section=MESSAGES, message=1)
    assert not run(layout(given, turns))
    assert run(layout(text(5, section=SYSTEM), given, turns))


def test_what_closes_a_value_is_part_of_it() -> None:
    clock = hole(cause(Kind.CLOCK, R))
    closing = Segment(place(0), '</asked_at>\n"). ', scope=Scope.RELEASE)
    words = Segment(place(0), "</asked_at> Go on with the next one.", scope=Scope.RELEASE)
    everything = Thresholds(1)
    assert not run(layout(clock, closing, hole(), closing), everything)
    assert run(layout(clock, words), everything)


@pytest.mark.parametrize(
    ("kind", "confidence", "tokens", "counts"),
    [
        (Kind.CLOCK, Confidence.HIGH, 4, False),
        (Kind.CLOCK, Confidence.HIGH, 5, True),
        (Kind.CLOCK, Confidence.LOW, 9, False),
        (Kind.REQUEST_INPUT, Confidence.HIGH, 9, False),
        (Kind.REQUEST_INPUT, Confidence.HIGH, 10, True),
    ],
)
def test_a_label_is_never_worth_a_move(kind: Kind, confidence: Confidence, tokens: int, counts: bool) -> None:
    value = hole(cause(kind, R, confidence=confidence))
    assert bool(run(layout(value, text(tokens)), Thresholds(1))) is counts


def test_the_name_of_data_does_not_say_that_the_system_text_changes() -> None:
    named = hole(cause(Kind.REQUEST_INPUT, R, confidence=Confidence.LOW), section=SYSTEM)
    known = hole(cause(Kind.RETRIEVED, R, confidence=Confidence.LOW), section=SYSTEM)
    assert not run(layout(named, repeated=True))
    assert run(layout(known, repeated=True))


@pytest.mark.parametrize(
    ("scope", "tokens", "expected"),
    [
        (Scope.REQUEST, 511, Severity.WARNING),
        (Scope.REQUEST, 512, Severity.ERROR),
        (Scope.SESSION, 1024, Severity.ERROR),
        (Scope.USER, 100, Severity.WARNING),
        (Scope.DAY, 63, Severity.INFO),
        (Scope.DAY, 5000, Severity.WARNING),
        (Scope.MACHINE, 255, Severity.INFO),
        (Scope.MACHINE, 256, Severity.WARNING),
    ],
)
def test_severity_is_how_often_times_how_much(scope: Scope, tokens: int, expected: Severity) -> None:
    [found] = run(layout(hole(cause(Kind.CLOCK, scope)), text(tokens)))
    assert found.severity is expected


def test_data_is_never_an_error() -> None:
    [found] = run(layout(hole(cause(Kind.RETRIEVED, R)), text(5000)))
    assert found.severity is Severity.WARNING


def test_confidence_is_the_weaker_of_cause_and_prompt() -> None:
    made = cause(Kind.CLOCK, R, confidence=Confidence.MEDIUM)
    [found] = run(layout(hole(made), text(50)))
    assert found.confidence is Confidence.MEDIUM
    [found] = run(layout(hole(made), text(50), confidence=Confidence.LOW))
    assert found.confidence is Confidence.LOW


def test_the_fix_fits_the_scope() -> None:
    fixes = {
        scope: found.fix.message
        for scope in (Scope.REQUEST, Scope.DAY)
        for found in run(layout(hole(cause(Kind.CLOCK, scope)), text(60)))
        if found.fix
    }
    assert "print only the date" in fixes[Scope.REQUEST]
    assert "print only the date" not in fixes[Scope.DAY]


def test_the_origin_and_the_way_are_shown() -> None:
    made = cause(Kind.CLOCK, R)
    step = Step(place(7, path="clock.py"), "returned here")
    made = type(made)(made.kind, made.scope, made.what, made.confidence, place(3, path="clock.py"), (step,))
    [found] = run(layout(hole(made), text(50)))
    assert found.origin == place(3, path="clock.py")
    assert found.related == (step,)


def test_a_loop_over_what_was_found_is_reported_once() -> None:
    docs = cause(Kind.RETRIEVED, R)
    loop = guard(docs, "for", "documents")
    [found] = run(layout(text(3, guards=(loop,)), hole(docs, guards=(loop,)), text(60)))
    assert found.code == "PL107"
    assert found.primary == place(1000, 3)
    # A loop that prints nothing volatile still has a length that changes.
    [found] = run(layout(text(3, guards=(loop,)), text(60)))
    assert found.primary == loop.place


def test_text_under_a_condition_on_the_machine_is_the_same_for_all_of_one_cache() -> None:
    system = guard(cause(Kind.ENVIRONMENT, Scope.MACHINE, "`platform.system()`"))
    assert not run(layout(text(5), text(20, guards=(system,)), text(600)))


def test_text_under_a_condition() -> None:
    admin = guard(cause(Kind.PER_USER, Scope.USER, "`role`"), expression="user.role == 'admin'")
    [found] = run(layout(text(5), text(20, guards=(admin,)), text(60)))
    assert (found.code, found.kind, found.primary) == ("PL109", Kind.PER_USER, admin.place)
    assert "user.role == 'admin'" in found.message
    assert not run(layout(text(60), text(20, guards=(admin,))))


def test_a_condition_around_a_value_that_changes_as_often_is_told_once() -> None:
    admin = guard(cause(Kind.PER_USER, Scope.USER))
    inside = hole(cause(Kind.PER_USER, Scope.USER), guards=(admin,))
    assert [f.code for f in run(layout(inside, text(60)))] == ["PL104"]


@pytest.mark.parametrize(
    ("kind", "expression"),
    [
        (Kind.UNORDERED, "len(names) > 3"),
        (Kind.HISTORY, "history[0] == 1"),
        (Kind.PER_USER, "user and user.name"),
        (Kind.COUNTER, "len(turns) > 0"),
        (Kind.COUNTER, "i == len(turns) - 1"),
    ],
)
def test_a_condition_that_the_change_does_not_decide(kind: Kind, expression: str) -> None:
    same = guard(cause(kind, R, "len(turns)"), expression=expression)
    assert not run(layout(text(20, guards=(same,)), text(60)))


def test_a_condition_on_how_many_there_are() -> None:
    many = guard(cause(Kind.COUNTER, R, "len(turns)"), expression="len(turns) > 10")
    assert [f.code for f in run(layout(text(20, guards=(many,)), text(60)))] == ["PL109"]


def test_an_unknown_condition_is_silent() -> None:
    assert not run(layout(text(20, guards=(guard(),)), text(60)))


def test_unknown_holes_only_when_asked_for() -> None:
    made = layout(hole(name="product"), text(60))
    assert not run(made)
    [found] = run(made, off=True)
    assert (found.code, found.severity) == ("PL110", Severity.INFO)
    assert "`product`" in found.message


def test_tools_have_rules_of_their_own() -> None:
    order = hole(cause(Kind.UNORDERED, Scope.PROCESS, variant="set"), section=TOOLS)
    [found] = run(layout(order, text(100, section=SYSTEM)))
    assert (found.code, found.kind) == ("PL301", Kind.TOOLS_ORDER)
    cwd = hole(cause(Kind.ENVIRONMENT, Scope.MACHINE), section=TOOLS)
    [found] = run(layout(cwd, text(100, section=SYSTEM)))
    assert (found.code, found.kind) == ("PL302", Kind.ENVIRONMENT)


def test_the_system_prompt_stands_behind_a_tool_that_is_shown_alone() -> None:
    cwd = cause(Kind.ENVIRONMENT, Scope.MACHINE)
    [found] = run(layout(text(20, section=TOOLS), hole(cwd, section=TOOLS)))
    assert (found.code, found.severity) == ("PL302", Severity.INFO)
    assert "the system prompt behind it" in found.message
    guessed = hole(replace(cwd, confidence=Confidence.LOW), section=TOOLS)
    assert not run(layout(text(20, section=TOOLS), guessed))
    assert not run(layout(text(20, section=TOOLS), hole(cwd, section=TOOLS), text(1, section=SYSTEM)))


def test_a_word_that_runs_into_a_value() -> None:
    made = layout(text(3), hole(cause(Kind.CLOCK, R)))
    assert not [f for f in run(made, off=True) if f.code == "PL502"]
    glued = layout(
        type(made.segments[0])(place(0), "version", scope=Scope.RELEASE), hole(cause(Kind.CLOCK, R))
    )
    [found] = [f for f in run(glued, off=True) if f.code == "PL502"]
    assert "`version`" in found.message
