"""Rendering with lines, and its limits."""

from __future__ import annotations

import pytest

from promptlint.errors import InputError
from promptlint_runtime.prompts import Piece
from promptlint_runtime.render import Renderer


def render(text: str, /, others: dict[str, str] | None = None, **values: object) -> tuple[Piece, ...]:
    files = {"a.j2": text, **(others or {})}
    return Renderer(files.get).render("a.j2", values)


def lines(pieces: tuple[Piece, ...]) -> list[tuple[str, int]]:
    return [(piece.text, piece.line) for piece in pieces]


def test_each_piece_knows_its_line() -> None:
    pieces = render(
        "Rules\nMore\nHi {{ name }},\n{% for x in xs %}- {{ x }}\n{% endfor %}End\n", name="Ann", xs=[1, 2]
    )
    assert lines(pieces) == [
        ("Rules\n", 1), ("More\n", 2), ("Hi ", 3), ("Ann", 3), (",\n", 3),
        ("- ", 4), ("1", 4), ("\n", 4), ("- ", 4), ("2", 4), ("\n", 4), ("End\n", 5),
    ]  # fmt: skip


def test_included_and_inherited_text_names_its_own_file() -> None:
    pieces = render(
        "{% extends 'base.j2' %}\n{% block body %}own\n{% include 'part.j2' %}{% endblock %}",
        {"base.j2": "top\n{% block body %}{% endblock %}", "part.j2": "\npart {{ n }}"},
        n=3,
    )
    assert [(p.text, p.path, p.line) for p in pieces] == [
        ("top\n", "base.j2", 1),
        ("own\n", "a.j2", 2),
        ("\n", "part.j2", 1),
        ("part ", "part.j2", 2),
        ("3", "part.j2", 2),
    ]


def test_text_that_a_filter_measures_is_plain_and_of_line_one() -> None:
    pieces = render("{% set s %}abc{% endset %}{{ s | length }}")
    assert lines(pieces) == [("3", 1)]


def test_whitespace_control_holds() -> None:
    assert "".join(p.text for p in render("a  {{- ' b' -}}  c\n")) == "a bc\n"


@pytest.mark.parametrize(
    ("template", "what"),
    [
        ("{{ missing }}", "undefined"),
        ("{% if %}", "Expected an expression"),
        ("{{ ''.__class__.__mro__ }}", "unsafe"),
        ("{% for i in range(10**9) %}x{% endfor %}", "loops of over"),
        ("{% for i in range(9999) %}{% for k in range(9999) %}{% endfor %}{% endfor %}", "loops of over"),
        ("{{ 'x' * 10**10 }}", "over the limit"),
        ("{{ 10 ** 999999 }}", "over the limit"),
        ("{% for i in range(9) %}{{ 'x' * 10**6 }}{% endfor %}", "characters"),
        ("{% include 'nowhere' %}", "nowhere"),
        ("{{ 1 / 0 }}", "ZeroDivisionError"),
        ("{{ items.append(1) }}", "unsafe"),
    ],
)
def test_what_cannot_be_rendered_is_one_clear_error(template: str, what: str) -> None:
    with pytest.raises(InputError, match=what):
        render(template, items=[])


def test_an_error_names_the_line_of_the_template() -> None:
    with pytest.raises(InputError, match=r"^a\.j2:3: 'missing' is undefined"):
        render("one\ntwo\n{{ missing }}")
    with pytest.raises(InputError, match=r"^part\.j2:2: ZeroDivisionError"):
        render("{% include 'part.j2' %}", {"part.j2": "x\n{{ 1 / zero }}"}, zero=0)


def test_sample_data_answers_a_call() -> None:
    text = "".join(
        piece.text
        for piece in render(
            "{{ now() }} {{ clock.now().strftime('%H') }}", now="09:00", clock={"now": {"strftime": "09"}}
        )
    )
    assert text == "09:00 09"


def test_a_function_without_sample_says_how_to_give_one() -> None:
    with pytest.raises(InputError) as caught:
        render("{{ now() }}")
    assert "answers `name()`" in caught.value.next_step
