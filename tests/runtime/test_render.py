"""Rendering with lines, and its limits."""

from __future__ import annotations

import json
import os
import subprocess
import sys

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


def test_a_written_time_is_one() -> None:
    pieces = render(
        "{{ now.strftime('%H:%M') }} {{ now().strftime('%A') }} {{ now }}", now="2026-11-30T10:15:00"
    )
    assert "".join(p.text for p in pieces) == "10:15 Monday 2026-11-30T10:15:00"


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
        (
            "{% set n = namespace(x=3) %}{% for i in range(40) %}{% set n.x = n.x * n.x %}{% endfor %}",
            "limit",
        ),
        (
            "{% for a in s %}{% for b in s %}{% for c in s %}{% endfor %}{% endfor %}{% endfor %}",
            "loops of over",
        ),
        (
            "{% macro f(n) %}{% if n %}{{ f(n - 1) ~ f(n - 1) }}{% endif %}{% endmacro %}{{ f(50) }}",
            "of over",
        ),
        ("{% for i in range(9) %}{{ 'x' * 10**6 }}{% endfor %}", "characters"),
        ("{% include 'nowhere' %}", "nowhere"),
        ("{{ 1 / 0 }}", "ZeroDivisionError"),
        ("{{ items.append(1) }}", "unsafe"),
    ],
)
def test_what_cannot_be_rendered_is_one_clear_error(template: str, what: str) -> None:
    with pytest.raises(InputError, match=what):
        render(template, items=[], s="x" * 999)


def grown(change: str, start: str = "'x' * 9999") -> str:
    turns = f"{{% for i in range(40) %}}{{% set n.x = {change} %}}{{% endfor %}}"
    return f"{{% set n = namespace(x={start}) %}}{turns}{{{{ n.x }}}}"


HOSTILE = {
    "joined": grown("n.x ~ n.x"),
    "added": grown("n.x + n.x"),
    "multiplied": grown("n.x * 2"),
    "replaced": grown("n.x | replace('x', 'xxxx')"),
    "indented": grown("n.x | indent(10 ** 9, true)"),
    "centred": "{{ 'x' | center(10 ** 10) }}",
    "formatted": "{{ '%10000000000d' | format(1) }}",
    "formatted by a method": "{{ '{:>10000000000}'.format(1) }}",
    "joined by a filter": grown("[n.x, n.x, n.x] | join(n.x)"),
    "a list in itself": grown("[n.x, n.x]", "[1]"),
    "batched": "{{ [1] | batch(10 ** 10, 'x') | list }}",
    "padded": "{{ 'x'.ljust(10 ** 10) }}",
}


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the memory of a process has no limit here")
def test_templates_that_want_all_memory_are_stopped() -> None:
    program = """
import gc, json, resource, sys
from promptlint.errors import InputError
from promptlint_runtime.render import Renderer
for name, text in json.load(sys.stdin).items():
    try:
        Renderer({"a.j2": text}.get).render("a.j2", {})
        print(name, "was rendered")
    except InputError as error:
        assert str(error).startswith("a.j2"), (name, str(error)[:100])
        assert len(str(error)) < 200 and error.next_step, name
    gc.collect()
# Not `ru_maxrss`: that of a new process begins with what its parent held.
peak = next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(int(peak) // 1024, resource.getrlimit(resource.RLIMIT_AS)[0])
"""
    before = subprocess.run(["sh", "-c", "ulimit -v"], check=True, capture_output=True, text=True).stdout
    done = subprocess.run(
        [sys.executable, "-c", program],
        input=json.dumps(HOSTILE),
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    *rendered, last = done.stdout.splitlines()
    assert rendered == []
    megabytes, limit = last.split()
    assert int(megabytes) < 500
    assert (limit == "-1") == ("unlimited" in before)  # as it was


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


DECLARED = "{# promptlint: module a #}\nx{{ v }}\n{# promptlint: end module #}\ny{{ v }}"


@pytest.mark.parametrize("trim", [False, True])
def test_comments_declare_modules_and_change_no_text(trim: bool) -> None:
    pieces = Renderer({"a.j2": DECLARED}.get, trim=trim).render("a.j2", {"v": 1})
    assert "".join(p.text for p in pieces) == ("x1\ny1" if trim else "\nx1\n\ny1")
    inside = [p for p in pieces if p.module]
    assert "".join(p.text for p in inside) == ("x1\n" if trim else "\nx1\n")
    assert {p.module and p.module[0] for p in inside} == {"a"}


def test_modules_of_a_loop_are_each_their_own() -> None:
    text = "{% for x in xs %}{#- promptlint: module m -#} {{ x }} {#- promptlint: end module -#}{% endfor %}"
    pieces = render(text, xs=["p", "q"])
    assert [p.text for p in pieces] == ["p", "q"]
    assert pieces[0].module != pieces[1].module


@pytest.mark.parametrize(
    ("template", "what"),
    [
        ("{# promptlint: module a #}x", "module a does not end"),
        ("{# promptlint: end module #}x", "has not begun"),
        (
            "{# promptlint: module a #}{# promptlint: module b #}x{# promptlint: end module #}",
            "within another",
        ),
    ],
)
def test_modules_that_do_not_fit_are_an_error(template: str, what: str) -> None:
    with pytest.raises(InputError, match=what):
        render(template)
