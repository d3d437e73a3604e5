"""Mutated chat templates: no exception, and an end within the sandbox's limits."""

from __future__ import annotations

import random
from time import process_time

import pytest

from promptlint.frontends import chat_template
from promptlint.frontends.base import Context
from promptlint.source import SourceFile

SEED = """\
{%- set ns = namespace(last=-1, text='') %}
{%- macro show(message) %}{{- '<|' ~ message.role ~ '|>' + message.content | trim -}}{% endmacro %}
{%- for message in messages %}
    {%- if message.role == 'user' %}{% set ns.last = loop.index0 %}{% endif %}
{%- endfor %}
{%- if tools %}{% for tool in tools %}{{ tool | tojson(indent=2) }}{% endfor %}{% endif %}
{{- 'Today: ' + strftime_now('%d %b %Y') if date is not defined }}
{%- for message in messages %}
    {%- if message.role == 'assistant' and message.reasoning_content and loop.index0 > ns.last %}
        {{- '<think>' + message.reasoning_content.strip().split('\\n')[-1] + '</think>' }}
    {%- endif %}
    {{- show(message) }}{% for call in message.tool_calls or [] %}{{ call.function.arguments | items | list }}{% endfor %}
    {%- set ns.text = ns.text ~ message.role %}
{%- endfor %}
{{- ns.text | length if ns.text else raise_exception('empty') }}{{ '<|assistant|>' if add_generation_prompt }}
"""
PARTS = (
    *("{{", "}}", "{%", "%}", "-", "'", "(", ")", "[", "]", "|", ".", "~", "*", "**", " ns.text", "messages"),
    *(
        "99999999",
        "not ",
        "loop.last",
        "show(message)",
        "{% endfor %}",
        "{% endif %}",
        "{% for x in range(9999) %}",
    ),
)


def mutated(seed: int) -> str:
    chance = random.Random(seed)
    text = SEED
    for _ in range(chance.randint(1, 5)):
        at = chance.randrange(len(text) + 1)
        end = min(len(text), at + chance.randint(0, 20))
        insert = chance.choice(("", text[at:end] * 2, chance.choice(PARTS)))
        text = text[:at] + insert + text[end if chance.random() < 0.5 else at :]
    return text


def check(seed: int) -> None:
    source = SourceFile("chat_template.jinja", mutated(seed))
    start = process_time()
    (layout,) = chat_template.read(source, Context(lambda path: None))
    assert process_time() - start < 2
    for observation in layout.observations:
        assert observation.place.span.end <= len(source.text)


def test_the_seed_itself_is_understood() -> None:
    (layout,) = chat_template.read(SourceFile("chat_template.jinja", SEED), Context(lambda path: None))
    assert layout.complete
    assert [observation.what for observation in layout.observations] == [
        "template-clock",
        "template-rewrites",
    ]


def test_mutated_templates() -> None:
    for seed in range(60):
        check(seed)


@pytest.mark.slow
def test_many_mutated_templates() -> None:
    for seed in range(100, 1_100):
        check(seed)
