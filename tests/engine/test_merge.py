from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from promptlint.engine.merge import merge
from promptlint.engine.settled import settled
from promptlint.engine.units import Result
from promptlint.findings import Cost, Finding, Status
from promptlint.layout import (
    LITERAL,
    Cause,
    Confidence,
    Kind,
    Layout,
    Origin,
    OriginKind,
    Scope,
    Segment,
    Step,
)
from promptlint.source import Place, SourceFile, Span

Make = Callable[..., Finding]
TEMPLATE = SourceFile("t.j2", "It is {{ today }}. You are a ship.")
HOLE = TEMPLATE.place(6, 17)


def layout(*segments: Segment) -> Layout:
    return Layout("request", Place("app.py", Span(0, 9)), segments)


def text(path: str, start: int, end: int) -> Segment:
    return Segment(Place(path, Span(start, end)), "x" * (end - start), LITERAL)


def hole(
    path: str, start: int, end: int, scope: Scope = Scope.UNKNOWN, cause: Cause | None = None
) -> Segment:
    origin = Origin(OriginKind.VARIABLE, "v", "v")
    return Segment(Place(path, Span(start, end)), None, origin, scope=scope, cause=cause)


FRONT, BACK = text("t.j2", 0, 6), text("t.j2", 17, 34)


def test_fixed_text_settles_a_hole() -> None:
    assert settled("app.py", [layout(FRONT, text("app.py", 3, 7), BACK)]) == (HOLE,)


def test_so_does_a_traced_value_and_not_an_unknown_one() -> None:
    clock = Cause(Kind.CLOCK, Scope.REQUEST, "now()", Confidence.HIGH)
    assert settled("app.py", [layout(FRONT, hole("app.py", 3, 7, Scope.REQUEST, clock), BACK)]) == (HOLE,)
    assert settled("app.py", [layout(FRONT, hole("app.py", 3, 7), BACK)]) == ()
    assert settled("app.py", [layout(FRONT, hole("t.j2", 6, 17), BACK)]) == ()


def test_what_only_a_name_tells_gives_way_to_the_code(make_finding: Make) -> None:
    by_name = make_finding(TEMPLATE, 6, 17, confidence=Confidence.LOW)
    own = Result("t.j2", (by_name,))
    code = Result("app.py", settled=(HOLE,))
    assert merge([own]) == [by_name]
    assert merge([own, code]) == []
    sure = make_finding(TEMPLATE, 6, 17, confidence=Confidence.MEDIUM)
    assert merge([Result("t.j2", (sure,)), code]) == [sure]  # a call in the template is no name


def test_another_rendering_keeps_its_finding(make_finding: Make) -> None:
    by_name = make_finding(TEMPLATE, 6, 17, confidence=Confidence.LOW)
    elsewhere = Result("other.py", (by_name,))
    assert merge([Result("t.j2", (by_name,)), Result("app.py", settled=(HOLE,)), elsewhere]) == [by_name]


def test_what_counts_is_told_before_what_is_surer(make_finding: Make) -> None:
    small = make_finding(TEMPLATE, 6, 17, confidence=Confidence.HIGH, status=Status.BELOW_THRESHOLD)
    large = make_finding(TEMPLATE, 6, 17, confidence=Confidence.MEDIUM)
    assert merge([Result("a.py", (small,)), Result("b.py", (large,))]) == [large]


def test_the_worse_of_both(make_finding: Make) -> None:
    small = make_finding(TEMPLATE, 6, 17, cost=Cost(20, 1, "vllm"))
    large = make_finding(TEMPLATE, 6, 17, cost=Cost(900, 56, "vllm"))
    for order in ([small, large], [large, small]):
        assert merge([Result("a.py", (f,)) for f in order]) == [large]


def test_a_traced_cause_replaces_a_guess_of_another_kind(make_finding: Make) -> None:
    guess = make_finding(TEMPLATE, 6, 17, code="PL104", kind=Kind.PER_USER, confidence=Confidence.LOW)
    traced = make_finding(TEMPLATE, 6, 17)
    other = make_finding(TEMPLATE, 6, 17, code="PL502", kind=Kind.WHITESPACE, confidence=Confidence.LOW)
    assert merge([Result("t.j2", (guess, other)), Result("app.py", (traced,))]) == [traced, other]


def test_between_two_messages_and_two_texts_of_a_python_file_there_is_code() -> None:
    known = text("app.py", 3, 7)
    assert settled("app.py", [layout(FRONT, known, replace(BACK, message=1))]) == ()
    near, far = text("prompts.py", 30, 40), text("prompts.py", 900, 950)
    assert settled("app.py", [layout(text("prompts.py", 0, 9), known, near)]) == (
        Place("prompts.py", Span(9, 30)),
    )
    assert settled("app.py", [layout(text("prompts.py", 0, 9), known, far)]) == ()


def test_one_value_has_one_reason(make_finding: Make) -> None:
    low = Confidence.LOW
    given = make_finding(TEMPLATE, 6, 17, confidence=low, code="PL108", kind=Kind.REQUEST_INPUT)
    looked_up = make_finding(TEMPLATE, 6, 17, confidence=low, code="PL107", kind=Kind.RETRIEVED)
    other = make_finding(TEMPLATE, 20, 24, confidence=low, code="PL108", kind=Kind.REQUEST_INPUT)
    assert merge([Result("t.j2", (given, looked_up, other))]) == [looked_up, other]


def test_one_cut_is_told_once(make_finding: Make) -> None:
    kind = Kind.HISTORY_REWRITE
    statement = make_finding(TEMPLATE, 0, 17, confidence=Confidence.MEDIUM, code="PL312", kind=kind)
    part = make_finding(TEMPLATE, 6, 17, confidence=Confidence.HIGH, code="PL311", kind=kind)
    other = make_finding(TEMPLATE, 20, 24, confidence=Confidence.MEDIUM, code="PL311", kind=kind)
    assert merge([Result("t.j2", (statement, part, other))]) == [part, other]
    assert merge([Result("t.j2", (statement, replace(part, confidence=Confidence.LOW)))]) == [statement]


def test_what_fills_a_field_may_stand_in_the_same_file() -> None:
    """A template of ``p.py`` at 0 to 40, its field at 10 to 20, filled with a constant at 200."""
    front, back, constant = text("p.py", 0, 10), text("p.py", 20, 40), text("p.py", 200, 260)
    field = Place("p.py", Span(10, 20))
    assert settled("app.py", [layout(front, constant, back)]) == (field,)
    assert settled("app.py", [layout(front, hole("p.py", 10, 20), back)]) == ()
    assert settled("app.py", [layout(front, hole("p.py", 200, 260), back)]) == ()


def test_variants_of_a_prompt_that_begin_with_another_value(make_finding: Make) -> None:
    first = make_finding(TEMPLATE, 0, 2, kind=Kind.RETRIEVED, code="PL107", cost=Cost(90, 5, "vllm"))
    second = make_finding(TEMPLATE, 3, 5, kind=Kind.REQUEST_INPUT, code="PL108", cost=Cost(80, 5, "vllm"))
    first = replace(first, related=(Step(second.primary, "together with `x`"),))
    assert merge([Result("t.j2", (first, second))]) == [first]
    far = replace(second, cost=Cost(20, 1, "vllm"))  # much that could go first stands between them
    assert merge([Result("t.j2", (first, far))]) == [first, far]


def test_one_place_is_of_one_kind(make_finding: Make) -> None:
    given = make_finding(TEMPLATE, 6, 17, code="PL108", kind=Kind.REQUEST_INPUT, confidence=Confidence.LOW)
    folder = replace(given, code="PL105", kind=Kind.ENVIRONMENT, scope=Scope.MACHINE)
    found = replace(given, code="PL107", kind=Kind.RETRIEVED)
    assert merge([Result("t.j2", (given, folder))]) == [folder]
    assert merge([Result("t.j2", (folder, found))]) == [found]
    order = replace(given, code="PL201", kind=Kind.UNORDERED, confidence=Confidence.MEDIUM)
    tools = replace(order, code="PL301", kind=Kind.TOOLS_ORDER)
    assert merge([Result("t.j2", (order, tools))]) == [order]
