"""Inputs made to cost time or memory, and inputs that are merely broken."""

from __future__ import annotations

import random
from time import process_time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from promptlint.frontends import jinja
from promptlint.frontends.base import MAX_PIECES, Context
from promptlint.frontends.mapped import MappedText
from promptlint.source import SourceFile

DOUBLED = {
    "text": ("'aaaaaaaa'", "x ~ x"),
    "hole": ("y ~ 'a'", "x ~ x"),
    "list": ("[1]", "x + x"),
    "nested list": ("[1]", "[x, x]"),
    "nested holes": ("[y]", "[x, x]"),
    "nested mapping": ("{'a': y}", "{'a': x, 'b': x}"),
}
CHAINS = {
    "parentheses": "{{ " + "(" * 3000 + "x" + ")" * 3000 + " }}",
    "not": "{{ " + "not " * 3000 + "x }}",
    "sum": "{{ " + "a + " * 5000 + "x }}",
    "filters": "{{ a" + " | trim" * 5000 + " }}",
    "attributes": "{{ a" + ".b" * 5000 + " }}",
    "calls": "{{ a" + "()" * 5000 + " }}",
    "if": "{% if a %}" * 1000 + "x" + "{% endif %}" * 1000,
    "for": "{% for a in b %}" * 60 + "x" + "{% endfor %}" * 60,
    "power": "{{ 9 ** 9 ** 9 ** 9 }}",
    "product": "{{ 'a' * 1000000000 }}",
    "number": "{{ " + "9" * 10000 + " }}",
    "braces": "{" * 20000,
    "open tags": "{{ " * 5000,
    "raw": "{% raw %}" * 2000,
    "quotes": "{{ '" * 2000,
}


def read(text: str) -> jinja.Fragment:
    return jinja.segments(MappedText.of(SourceFile("a.j2", text)), Context(lambda path: None))


@pytest.mark.parametrize("name", CHAINS)
def test_deep_and_long_input_ends(name: str) -> None:
    start = process_time()
    found = read(CHAINS[name])
    assert len(found.segments) <= MAX_PIECES
    assert process_time() - start < 2


@pytest.mark.parametrize("name", DOUBLED)
def test_doubling_is_cut_off(name: str) -> None:
    first, again = DOUBLED[name]
    start = process_time()
    found = read(f"{{% set x = {first} %}}" + f"{{% set x = {again} %}}" * 60 + "{{ x }}")
    assert sum(len(segment.text or "") for segment in found.segments) < 200_000
    assert process_time() - start < 2


def test_macro_bomb() -> None:
    text = "{% macro m0() %}x{% endmacro %}" + "".join(
        f"{{% macro m{n} () %}}{{{{ m{n - 1}() }}}}{{{{ m{n - 1}() }}}}{{% endmacro %}}" for n in range(1, 20)
    )
    found = read(text + "{{ m19() }}")
    assert not found.complete
    assert len(found.segments) <= MAX_PIECES


def test_many_choices_stay_few() -> None:
    text = "{% set x = 0 %}" + "".join(f"{{% if a{n} %}}{{% set x = {n} %}}{{% endif %}}" for n in range(300))
    assert len(read(text + "{{ x }}").segments) < 20


def test_too_many_tags_are_a_gap_and_no_parse_error() -> None:
    found = read("{{ x }}" * 20_001)
    assert not found.complete
    assert not found.observations
    assert len(found.segments) == 20_000


def test_unclosed_tags_do_not_hide_the_text_before_them() -> None:
    found = read("Stable text. {{ user }} {% if x %} more {{ now(")
    assert [s.text or s.origin.name for s in found.segments] == [
        "Stable text. ",
        "user",
        " ",
        " more {{ now(",
    ]


def check(text: str) -> None:
    """Whatever the text is: no exception, spans inside it, holes that are described."""
    found = read(text)
    for segment in found.segments:
        assert segment.place.span.end <= len(text)
    assert [hole.index for hole in found.holes] == [i for i, s in enumerate(found.segments) if s.is_hole]
    assert found.complete == (not found.gaps)
    jinja.looks_like(text)
    jinja.read(SourceFile("a.j2", text), Context(lambda path: None))


SEEDS = (
    "{% set ns = namespace(a=1) %}{% for m in ms if m.x %}{{ loop.index }}{{ m['y'][0] | trim | join(', ') }}{% else %}no"
    + "{% set ns.a = ns.a + 1 %}{% endfor %}{{ ns.a }}",
    "{%- macro f(a, b='c') -%}{{ a ~ b }}{{ caller() }}{%- endmacro -%}{% call(x) f(1) %}{{ x }}{% endcall %}",
    "{% extends 'x' %}{% block a %}{{ super() }}{% endblock %}{% include ['a', b] ignore missing with context %}",
    "{% if a and not b %}A{% elif c is defined %}B{% else %}C{% endif %}{{ 'x' if y else z }}{# note #}",
    "{% raw %}{{ x }}{% endraw %}{% with a=1, b=c %}{{ {'k': a, 'l': [b, (1, 2)]}['k'] }}{% endwith %}",
    "---\na: 1\n---\nsystem:\n{% filter upper %}x{{ y }}{% endfilter %}\nuser:\n{% trans n=3 %}a{% pluralize %}b{% endtrans %}",
    "{% set a %}text {{ b }}{% endset %}{{ a | indent(4) }}{{ -1 }}{{ a[1:] }}{{ x.y.z(1, *args, k=2, **kw).w }}",
)
PARTS = (
    "{{",
    "}}",
    "{%",
    "%}",
    "{#",
    "#}",
    "-",
    "+",
    "'",
    '"',
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "|",
    ".",
    "\n",
    " ",
    "\\",
)


def mutated(seed: int) -> str:
    """A seed with pieces dropped, doubled, swapped and inserted."""
    chance = random.Random(seed)
    text = chance.choice(SEEDS) + (chance.choice(SEEDS) if chance.random() < 0.3 else "")
    for _ in range(chance.randint(1, 6)):
        at = chance.randrange(len(text) + 1)
        end = min(len(text), at + chance.randint(0, 12))
        action = chance.randrange(4)
        if action == 0:
            text = text[:at] + text[end:]
        elif action == 1:
            text = text[:end] + text[at:]
        elif action == 2:
            text = text[:at] + chance.choice(PARTS) + text[at:]
        else:
            text = text[:at] + chance.choice(SEEDS)[:40] + text[end:]
    return text


@pytest.mark.parametrize("start", range(0, 500, 100))
def test_mutated_templates(start: int) -> None:
    for seed in range(start, start + 100):
        check(mutated(seed))


@pytest.mark.slow
def test_many_mutated_templates() -> None:
    for seed in range(1000, 21_000):
        check(mutated(seed))


@settings(max_examples=100, deadline=None)
@given(st.text(alphabet="{}%#-+ \nabif()[]'\"|.,:=~", max_size=60))
def test_any_text(text: str) -> None:
    check(text)
