"""Whatever a program or template is full of, the catalogue answers and keeps its promises."""

from hypothesis import given, settings
from hypothesis import strategies as st

from promptlint.catalog import Catalog
from promptlint.catalog.clock import clock_scope, refine_clock
from promptlint.catalog.words import words
from promptlint.layout import Scope

CATALOG = Catalog()
CATALOG.load()
WORD = st.text("abcdefghijklmnopqrstuvwxyz", min_size=1, max_size=8)
FEW = settings(max_examples=200, deadline=None)


@FEW
@given(st.lists(WORD, min_size=1, max_size=5))
def test_every_spelling_of_a_name_gives_its_words(parts: list[str]) -> None:
    expected = tuple(parts)
    assert words("_".join(parts)) == expected
    assert words("-".join(parts).upper()) == expected
    assert words("__" + "_".join(parts) + "_") == expected
    if all(len(part) > 1 for part in parts):
        assert words(parts[0] + "".join(part.capitalize() for part in parts[1:])) == expected


@FEW
@given(st.text(max_size=80))
def test_any_text_has_an_answer(text: str) -> None:
    for ask in (CATALOG.name, CATALOG.call, CATALOG.value, CATALOG.template_global, CATALOG.template_filter):
        found = ask(text)
        assert found is None or found.source
    assert clock_scope(text) in (Scope.REQUEST, Scope.DAY, Scope.RELEASE)
    assert refine_clock(Scope.DAY, text).rank <= Scope.DAY.rank


@FEW
@given(
    st.lists(
        st.sampled_from(["Current time: 2026-11-03T09:15:27Z", "```", "example", " ", "\n", "x" * 300]),
        max_size=8,
    )
)
def test_pasted_values_lie_in_the_text(parts: list[str]) -> None:
    text = "\n".join(parts)
    for start, end, _ in CATALOG.literals(text):
        assert text[start:end] == "2026-11-03T09:15:27Z"


@FEW
@given(st.text(max_size=20))
def test_the_last_noun_decides(before: str) -> None:
    """Whatever stands before it, a format, a prompt or a limit is none of the things it is about."""
    for name in ("date_format", "user_prompt", "time_limit", "task_instructions"):
        assert CATALOG.name(f"{before}_{name}".replace(".", "")) is None
