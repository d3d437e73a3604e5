import pytest

from promptlint.catalog import Catalog
from promptlint.layout import (
    Cause,
    Confidence,
    Guard,
    Kind,
    Layout,
    Origin,
    OriginKind,
    Scope,
    Segment,
    Step,
)
from promptlint.source import Place, Span
from promptlint.volatility import annotate

CATALOG = Catalog()
PLACE = Place("p.j2", Span(0, 10))


def hole(
    name: str,
    expression: str = "",
    kind: OriginKind = OriginKind.VARIABLE,
    guards: tuple[Guard, ...] = (),
    path: str = "p.j2",
) -> Segment:
    return Segment(Place(path, Span(0, 10)), None, Origin(kind, expression or name, name), guards=guards)


def one(segment: Segment, catalog: Catalog = CATALOG) -> Segment:
    [found] = annotate(Layout("p", PLACE, (segment,)), catalog).segments
    return found


def kind_and_scope(segment: Segment) -> tuple[Kind | None, Scope]:
    return (segment.cause.kind if segment.cause else None), segment.scope


def test_text_is_as_stable_as_the_release() -> None:
    assert kind_and_scope(one(Segment(PLACE, "You help."))) == (None, Scope.RELEASE)


def test_a_name_tells_with_low_confidence() -> None:
    found = one(hole("user_name"))
    assert kind_and_scope(found) == (Kind.PER_USER, Scope.USER)
    assert found.cause is not None
    assert found.cause.confidence is Confidence.LOW
    assert found.cause.what == "`user_name` (by its name)"


@pytest.mark.parametrize(
    ("name", "expression", "shown"),
    [
        ("user.name", "user.name", "`user.name` (by its name)"),
        ("user", "json.dumps(user)", "`user` (by its name)"),
        ("rows.all[].user_name", "row['user_name']", "`row['user_name']` (by its name)"),
        ("load.user_name", "shown", "`shown` (by the name `user_name`)"),
        ("repo.docs.text", "text", "`text` (by the name `repo.docs.text`)"),  # `text` tells something else
    ],
)
def test_a_value_is_shown_as_it_is_written(name: str, expression: str, shown: str) -> None:
    found = one(hole(name, expression))
    assert found.cause is not None
    assert (found.cause.what, found.cause.name) == (shown, name)


def test_nothing_known_stays_unknown() -> None:
    assert kind_and_scope(one(hole("product"))) == (None, Scope.UNKNOWN)


def test_the_word_of_a_frontend_stands() -> None:
    cause = Cause(Kind.RANDOM, Scope.PROCESS, "x", Confidence.HIGH)
    given = Segment(PLACE, None, Origin(OriginKind.VARIABLE, "now", "now"), scope=Scope.PROCESS, cause=cause)
    assert one(given) == given
    constant = Segment(PLACE, None, Origin(OriginKind.VARIABLE, "now", "now"), scope=Scope.RELEASE)
    assert one(constant) == constant


@pytest.mark.parametrize(
    ("name", "expression", "expected"),
    [
        ("now", "now()", (Kind.CLOCK, Scope.REQUEST)),
        ("now", "now().strftime('%Y-%m-%d')", (Kind.CLOCK, Scope.DAY)),
        ("strftime_now", "strftime_now('%d %b %Y')", (Kind.CLOCK, Scope.DAY)),
        ("uuid4", "uuid4()", (Kind.IDENTIFIER, Scope.REQUEST)),
        ("get_user_name", "get_user_name()", (Kind.PER_USER, Scope.USER)),
        ("render", "render()", (None, Scope.UNKNOWN)),
    ],
)
def test_calls_in_templates(name: str, expression: str, expected: tuple[Kind | None, Scope]) -> None:
    assert kind_and_scope(one(hole(name, expression, OriginKind.CALL))) == expected


def test_globals_of_templates_mean_nothing_in_python() -> None:
    assert one(hole("search", "search(q)", OriginKind.CALL)).cause is not None
    assert one(hole("search", "search(q)", OriginKind.CALL, path="p.py")).cause is None
    found = one(hole("datetime.datetime.now", "datetime.now()", OriginKind.CALL, path="p.py"))
    assert kind_and_scope(found) == (Kind.CLOCK, Scope.REQUEST)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("items | shuffle", (Kind.RANDOM, Scope.REQUEST)),
        ("items|random", (Kind.RANDOM, Scope.REQUEST)),
        ("items | join(' | shuffle')", (None, Scope.UNKNOWN)),
        ("items | upper | join", (None, Scope.UNKNOWN)),
        ("a || shuffle", (None, Scope.UNKNOWN)),
    ],
)
def test_filters(expression: str, expected: tuple[Kind | None, Scope]) -> None:
    assert kind_and_scope(one(hole("items", expression))) == expected


@pytest.mark.parametrize(
    ("name", "loop"),
    [("d.title", "d in documents"), ("documents.title", "documents"), ("d", "for i, d in documents")],
)
def test_the_element_of_a_loop_is_what_the_collection_is(name: str, loop: str) -> None:
    guard = Guard("for", loop, PLACE, name="documents")
    found = one(hole(name, guards=(guard,)))
    assert kind_and_scope(found) == (Kind.RETRIEVED, Scope.REQUEST)
    assert found.guards[0].scope is Scope.REQUEST


def test_another_value_in_a_loop_keeps_its_own_cause() -> None:
    guard = Guard("for", "d in documents", PLACE, name="documents")
    assert kind_and_scope(one(hole("user_name", guards=(guard,)))) == (Kind.PER_USER, Scope.USER)


def test_a_loop_that_counts_adds_turns_and_changes_none() -> None:
    for kind, expression in (("while", "step < limit"), ("for", "range(step)")):
        guard = Guard(kind, expression, PLACE, name="step")
        assert one(hole("note", guards=(guard,))).guards[0].cause is None
    assert (
        one(hole("note", guards=(Guard("if", "step > 3", PLACE, name="step"),))).guards[0].cause is not None
    )


def test_an_element_is_no_counter() -> None:
    steps = Origin(OriginKind.VARIABLE, "step", "steps[]", names=("steps[]", "step"))
    assert one(Segment(PLACE, None, steps)).cause is None
    assert kind_and_scope(one(hole("step")))[0] is Kind.COUNTER


@pytest.mark.parametrize(
    ("expression", "name", "scope"),
    [
        ("documents", "documents", Scope.UNKNOWN),
        ("documents is defined", "documents", Scope.UNKNOWN),
        ("not user_name", "user_name", Scope.UNKNOWN),
        ("documents | length > 0", "documents", Scope.UNKNOWN),
        ("memories and memories is not none", "memories", Scope.UNKNOWN),
        ("isinstance(documents, list)", "documents", Scope.UNKNOWN),
        ("user_name.strip() != ''", "user_name", Scope.UNKNOWN),
        ("(documents and memories) or question", "documents", Scope.UNKNOWN),
        ("user_name.startswith('a')", "user_name", Scope.USER),
        ("user_role == 'admin'", "user_role", Scope.USER),
        ("turn > 3", "turn", Scope.REQUEST),
        ("product == 'a'", "product", Scope.UNKNOWN),
    ],
)
def test_a_test_for_presence_says_little(expression: str, name: str, scope: Scope) -> None:
    guard = Guard("if", expression, PLACE, name=name)
    found = one(Segment(PLACE, "text", guards=(guard,)))
    assert found.guards[0].scope is scope


def test_a_class_in_code_is_no_value() -> None:
    assert one(hole("Document")).cause is not None
    assert one(hole("docs.Document", path="p.py")).cause is None
    assert one(hole("MessageParam[]", path="p.py")).cause is None
    assert one(hole("DOCUMENT", path="p.py")).cause is not None


def test_a_condition_on_a_call() -> None:
    guard = Guard("if", "now().hour < 12", PLACE, name="now")
    found = one(Segment(PLACE, "Good morning", guards=(guard,)))
    assert found.guards[0].cause is not None
    assert found.effective_scope is Scope.REQUEST


def test_the_surest_of_several_names_decides() -> None:
    origin = Origin(OriginKind.CALL, "pick(question, now())", "pick", names=("pick", "question", "now"))
    found = one(Segment(PLACE, None, origin))
    assert kind_and_scope(found) == (Kind.CLOCK, Scope.REQUEST)


def test_assignments_on_the_way_are_kept() -> None:
    step = Step(Place("p.j2", Span(40, 50)), "set here")
    origin = Origin(OriginKind.CALL, "now()", "now", chain=(step,))
    found = one(Segment(PLACE, None, origin))
    assert found.cause is not None
    assert found.cause.place == step.place
    assert found.cause.chain == (step,)


def test_a_pasted_value_is_cut_out() -> None:
    text = "Help. Current time: 2026-11-03T09:15:27Z. Be kind."
    given = Segment(Place("p.txt", Span(100, 100 + len(text))), text)
    parts = annotate(Layout("p", PLACE, (given,)), CATALOG).segments
    assert [part.text for part in parts] == ["Help. Current time: ", None, ". Be kind."]
    assert [part.place.span for part in parts] == [Span(100, 120), Span(120, 140), Span(140, 150)]
    assert kind_and_scope(parts[1]) == (Kind.CLOCK, Scope.DAY)


def test_declared_scopes_win() -> None:
    catalog = Catalog(names={"product": "tenant", "user_name": "release"})
    found = one(hole("product"), catalog)
    assert kind_and_scope(found) == (Kind.PER_USER, Scope.TENANT)
    assert one(hole("user_name"), catalog).scope is Scope.RELEASE


def test_history_lives_as_long_as_the_session() -> None:
    assert kind_and_scope(one(hole("chat_history"))) == (Kind.HISTORY, Scope.SESSION)


@pytest.mark.parametrize(
    ("names", "kinds"),
    [
        (("APP_NOW", "APP_OS", "APP_NOTE"), [Kind.CLOCK, Kind.ENVIRONMENT, None]),
        (("APP_NOW", "APP_OS", "NOTE"), [None, None, None]),  # two are no habit
        (("app_now", "app_os", "app_note"), [None, None, None]),
    ],
)
def test_a_word_that_all_fields_begin_with_is_their_programs(
    names: tuple[str, ...], kinds: list[Kind | None]
) -> None:
    found = annotate(Layout("p", PLACE, tuple(map(hole, names))), CATALOG).segments
    assert [segment.cause.kind if segment.cause else None for segment in found] == kinds
    assert all(segment.cause is None or f"`{segment.origin.name}`" in segment.cause.what for segment in found)


@pytest.mark.parametrize(
    ("others", "kind"),
    [
        (["agent.role"], None),
        (["agent.backstory", "question"], None),
        (["user.role"], Kind.REQUEST_INPUT),  # somebody else's
        (["question"], Kind.REQUEST_INPUT),
    ],
)
def test_a_goal_beside_a_role_is_the_readers_own(others: list[str], kind: Kind | None) -> None:
    found = annotate(Layout("p", PLACE, tuple(map(hole, [*others, "agent.goal"]))), CATALOG).segments[-1]
    assert (found.cause.kind if found.cause else None) is kind


@pytest.mark.parametrize(
    ("expression", "name", "kind"),
    [
        ("sounds[0]", "sounds", None),
        ("', '.join(sounds)", "sounds", None),
        ("', '.join(tones)", "sounds[]", None),
        ("one", "sounds[]", Kind.REQUEST_INPUT),  # a line for each
        ("sounds", "sounds", Kind.REQUEST_INPUT),
        ("sounds[0].wave", "sounds[].wave", Kind.REQUEST_INPUT),
    ],
)
def test_a_list_that_is_printed_as_it_is_given_is_a_choice(
    expression: str, name: str, kind: Kind | None
) -> None:
    origin = Origin(OriginKind.VARIABLE, expression, name, given="sounds")
    found = one(Segment(PLACE, None, origin))
    assert (found.cause.kind if found.cause else None) is kind
