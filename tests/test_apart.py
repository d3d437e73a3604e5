import time
from dataclasses import replace

import pytest

from promptlint.apart import judged
from promptlint.catalog import Catalog
from promptlint.layout import Cause, Confidence, Kind, Origin, OriginKind, Scope, Segment
from promptlint.source import Place, Span

CATALOG = Catalog()
PLACE = Place("p.j2", Span(0, 10))
TASK = "Describe the page below in two sentences.\n"


def segments(text: str, cause: Cause | None = None) -> tuple[Segment, ...]:
    """Return a prompt; ``«name»`` are its holes."""
    found = []
    for number, part in enumerate(text.replace("»", "«").split("«")):
        if number % 2:
            origin = Origin(OriginKind.VARIABLE, part, part)
            scope = cause.scope if cause else Scope.UNKNOWN
            found.append(Segment(PLACE, None, origin, scope=scope, cause=cause))
        else:
            found.append(Segment(PLACE, part, scope=Scope.RELEASE))
    return tuple(found)


def first(text: str, cause: Cause | None = None) -> Cause | None:
    return next(s.cause for s in judged(segments(text, cause), CATALOG) if s.is_hole)


@pytest.mark.parametrize(
    "text",
    [
        "Page: «x»\nBe brief.",
        '- **Page**: "«x»"\nBe brief.',
        "<page>«x»</page>\nBe brief.",
        "<page>\n«x»\n</page>\nBe brief.",
        "The page is this:\n«x»\nBe brief.",
        "The page:\n```html\n«x»\n```\nBe brief.",
        "# Page\n\n«x»\n\nBe brief.",
        "--- PAGE ---\n«x»\nBe brief.",
        "The user's wish: «x»\nBe brief.",
        "Here is a web page.\n«x»\nBe brief.",
        "It is the page below.\n«x»\nBe brief.",
        "Improve the plan for the following idea: «x». It is «y», mostly. Be brief.",
    ],
)
def test_a_value_apart_from_the_text_is_data(text: str) -> None:
    cause = first(TASK + text)
    assert cause is not None
    assert (cause.kind, cause.scope, cause.variant) == (Kind.REQUEST_INPUT, Scope.REQUEST, "apart")
    assert cause.confidence is Confidence.LOW


@pytest.mark.parametrize(
    "text",
    [
        "Answer in «x» and be brief.",
        "Use at most «x».",
        "Output format:\n«x»\nBe brief.",
        "--- OUTPUT FORMAT ---\n«x»\nBe brief.",
        "Tools: «tool_descriptions»\nBe brief.",
        "One paragraph.\n«x»\nAnother paragraph.",
        "You work in: «cwd»\nBe brief.",
        "Page: «x» of ten.",
    ],
)
def test_a_value_in_running_text_and_a_setting_are_not(text: str) -> None:
    assert first(TASK + text) is None


def test_a_message_that_is_one_value_has_no_form() -> None:
    assert first("«x»") is None
    assert first("«x»\n") is None


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Today's date is «x».\nBe brief.", Kind.CLOCK),
        ("The current time is «x», so greet accordingly.", Kind.CLOCK),
        ("Current date: «x»\nBe brief.", Kind.CLOCK),
        ("Search results:\n«x»\nBe brief.", Kind.RETRIEVED),
        ("Conversation so far:\n«x»\nBe brief.", Kind.HISTORY),
    ],
)
def test_the_words_in_front_say_what_it_is(text: str, kind: Kind) -> None:
    cause = first(TASK + text)
    assert cause is not None
    assert cause.kind is kind
    assert cause.what == "`x` (by the words in front of it)"


def test_a_name_in_front_is_read_whole() -> None:
    assert first(TASK + "running_time: «x»s\nBe brief.") is None


def test_an_argument_apart_needs_less_behind_it() -> None:
    argument = Cause(Kind.REQUEST_INPUT, Scope.REQUEST, "`x`", Confidence.LOW, variant="argument")
    apart = first(TASK + "Page: «x»\nBe brief.", argument)
    inline = first(TASK + "Answer in «x» and be brief.", argument)
    assert apart is not None
    assert apart.variant == "apart"
    assert inline == argument or inline is argument


def test_what_was_traced_stays() -> None:
    traced = Cause(Kind.CLOCK, Scope.DAY, "`date.today()`", Confidence.HIGH)
    assert first(TASK + "Page: «x»\nBe brief.", traced) == traced


def test_a_text_of_the_program_is_stable_though_it_is_not_seen() -> None:
    hole = judged(segments("Be brief.\n«self.system_prompt»"), CATALOG)[1]
    assert hole.scope is Scope.RELEASE
    assert hole.origin.fixed


def test_what_a_call_is_given_tells_too() -> None:
    for argument, cause in (("example", None), ("order", Kind.REQUEST_INPUT)):
        prompt = segments(TASK + "Page:\n«json.dumps»\nBe brief.")
        origin = Origin(OriginKind.CALL, f"json.dumps({argument}, indent=2)", "json.dumps")
        prompt = tuple(replace(s, origin=origin) if s.is_hole else s for s in prompt)
        found = next(s.cause for s in judged(prompt, CATALOG) if s.is_hole)
        assert (found.kind if found else None) is cause


@pytest.mark.parametrize("run", ["=" * 180 + " x", "-" * 180 + "x", "a" * 50_000, "a " * 20_000, "# * " * 60])
def test_long_runs_are_read_in_an_instant(run: str) -> None:
    """Each of a hundred values would take seconds if a pattern tried every division of the run."""
    text = "".join(f"Some rules\n{run}\nare here for\n«x{number}»\n" for number in range(100))
    start = time.process_time()
    judged(segments(text), CATALOG)
    assert time.process_time() - start < 5


@pytest.mark.parametrize(
    "text",
    [
        "Take one word from the list below.\n«x»\nBe brief.",
        "Use nothing but the following list of modules: «x». Be brief.",
        "The rest follows below. Mind the margin.\n«x»\nBe brief.",
    ],
)
def test_what_may_be_chosen_is_not_announced_as_data(text: str) -> None:
    assert first(TASK.replace("below", "there") + text) is None


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("It has at least «turns» parts of the speaker.", True),
        ("It has «turns» turns of the speaker.", True),
        ("Read the «turns» and answer.", False),
        ("The turns so far:\n«turns»\nAnswer the last one.", False),
    ],
)
def test_a_number_of_turns_is_no_conversation(text: str, number: bool) -> None:
    named = Cause(Kind.HISTORY, Scope.SESSION, "`turns` (by its name)", Confidence.LOW, name="turns")
    assert (first(text, named) is None) is number
