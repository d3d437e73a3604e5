from dataclasses import replace

import pytest

from promptlint.checks import CHECKS, Thresholds, costliest
from promptlint.findings import Finding, Severity, Status
from promptlint.layout import ARGUMENT, Confidence, Guard, Kind, Layout, LayoutKind, Scope, Segment, Step
from tests.checks.build import (
    MESSAGES,
    SYSTEM,
    TOOLS,
    Blocks16,
    Words,
    cause,
    guard,
    hole,
    layout,
    place,
    text,
)

R = Scope.REQUEST


def run(made: Layout, thresholds: Thresholds = Thresholds(), off: bool = False) -> list[Finding]:  # noqa: B008
    found: list[Finding] = []
    for check in CHECKS:
        if check.default or off:
            found.extend(check.run(made, Words(made), thresholds))
    return found


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


def test_a_word_that_runs_into_a_value() -> None:
    made = layout(text(3), hole(cause(Kind.CLOCK, R)))
    assert not [f for f in run(made, off=True) if f.code == "PL502"]
    glued = layout(
        type(made.segments[0])(place(0), "version", scope=Scope.RELEASE), hole(cause(Kind.CLOCK, R))
    )
    [found] = [f for f in run(glued, off=True) if f.code == "PL502"]
    assert "`version`" in found.message


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
