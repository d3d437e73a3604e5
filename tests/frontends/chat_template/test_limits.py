"""Templates made to cost time or memory are stopped; nothing outside the sandbox is reached."""

from __future__ import annotations

from time import process_time

import pytest

from promptlint.frontends.chat_template.examine import examine
from promptlint.frontends.chat_template.meter import Meter, TooExpensiveError
from promptlint.frontends.jinja.lexer import JinjaError

MESSAGES = "{% for m in messages %}{{ m.content }}{% endfor %}"
LOOP = "{% for i in range(10000) %}"
END = "{% endfor %}"
AGAIN = "{% set ns = namespace(x=FIRST) %}{% for i in range(60) %}{% set ns.x = NEXT %}{% endfor %}{{ ns.x }}"

STOPPED = {
    "loops": LOOP * 4 + "{{ i }}" + END * 4,
    "empty loops": LOOP * 3 + END * 3,
    "conditions in loops": LOOP * 3 + "{% if i == 3 %}{% endif %}" + END * 3,
    "captured text": "{% set x %}" + LOOP * 2 + "aaaaaaaaaaaaaaaaaaaa" + END * 2 + "{% endset %}",
    "concatenation": AGAIN.replace("FIRST", "'aaaa'").replace("NEXT", "ns.x ~ ns.x"),
    "sum": AGAIN.replace("FIRST", "'aaaa'").replace("NEXT", "ns.x + ns.x"),
    "join filter": AGAIN.replace("FIRST", "'aaaa'").replace("NEXT", "[ns.x, ns.x] | join"),
    "join method": AGAIN.replace("FIRST", "'aaaa'").replace("NEXT", "ns.x.join(ns.x)"),
    "replace": AGAIN.replace("FIRST", "'aaaa'").replace("NEXT", "ns.x.replace('a', ns.x)"),
    "replace filter": AGAIN.replace("FIRST", "'aaaa'").replace("NEXT", "ns.x | replace('a', ns.x)"),
    "percent": AGAIN.replace("FIRST", "'aaaa'").replace("NEXT", "'%s%s' % (ns.x, ns.x)"),
    "format": AGAIN.replace("FIRST", "'aaaa'").replace("NEXT", "'{0}{0}'.format(ns.x)"),
    "lists": AGAIN.replace("FIRST", "[1]").replace("NEXT", "ns.x + ns.x"),
    "nested lists": AGAIN.replace("FIRST", "[1]").replace("NEXT", "[ns.x, ns.x]"),
    "nested mappings": AGAIN.replace("FIRST", "[1]").replace("NEXT", "dict(a=ns.x, b=ns.x)"),
    "nested namespaces": AGAIN.replace("FIRST", "1").replace("NEXT", "namespace(a=ns.x, b=ns.x)"),
    "numbers": AGAIN.replace("FIRST", "7").replace("NEXT", "ns.x * ns.x"),
    "power": "{{ 10 ** 10 ** 10 }}",
    "product": "{{ 'a' * 10 ** 10 }}",
    "width of a filter": "{{ 'a' | center(1000000000) }}",
    "width of a method": "{{ 'a'.zfill(1000000000) }}",
    "width in a format": "{{ '%1000000000d' % 1 }}",
    "width in braces": "{{ '{:{}}'.format(1, 1000000000) }}",
    "precision": "{{ '%.999999999f' | format(1.0) }}",
    "indent": "{{ [1] | tojson(indent=1000000000) }}",
    "date": "{{ strftime_now('%1000000000d') }}",
    "range": "{{ range(10 ** 9) | list }}",
    "recursion": "{% macro f(x) %}{{ f(x) }}{% endmacro %}{{ f(1) }}",
    "branching recursion": "{% macro f(x) %}{% if x %}{{ f(x - 1) }}{{ f(x - 1) }}{% endif %}{% endmacro %}{{ f(60) }}",
    "recursive loop": "{% for x in [[1]] recursive %}{{ loop([[1]]) }}{% endfor %}",
    "sorting": LOOP + "{{ range(10000) | sort | length }}" + END,
}


@pytest.mark.parametrize("name", STOPPED)
def test_costly_templates_are_stopped(name: str) -> None:
    start = process_time()
    found = examine(STOPPED[name] + MESSAGES, Meter(seconds=0.3))
    assert process_time() - start < 1
    (gap,) = found.gaps
    assert gap.startswith("rendering was stopped: ")


@pytest.mark.parametrize(
    "text",
    [
        "{% for a in b %}" * 30 + "x" + END * 30,
        "{% if a %}" * 150 + "x" + "{% endif %}" * 150,
        "{{ x | no_such_filter }}",
        "{{ " + "(" * 3000 + "x" + ")" * 3000 + " }}",
        "{{ 1 }}" * 3001,
    ],
)
def test_templates_that_cannot_be_compiled(text: str) -> None:
    (gap,) = examine(text + MESSAGES).gaps
    assert gap.startswith("not rendered: ")


@pytest.mark.parametrize(
    "text",
    [
        "{{ ''.__class__.__mro__ }}",
        "{{ namespace.__init__.__globals__ }}",
        "{{ '{0.__class__.__init__}'.format(1)[0].x }}",
        "{{ (''|attr('__class__')).mro() }}",
        "{{ raise_exception.__self__.compile('1') }}",
        "{{ lipsum() }}",
        "{{ messages.append(1) }}",
        "{{ '\\t'.expandtabs(100) }}",
    ],
)
def test_nothing_outside_the_sandbox_is_reached(text: str) -> None:
    assert not examine(text + MESSAGES).rendered


def test_a_meter_counts_shared_parts_as_often_as_they_are_printed() -> None:
    pair: object = "a" * 100
    for _ in range(8):
        pair = [pair, pair]
    assert Meter().weigh(pair) > 256 * 100
    for _ in range(8):
        pair = [pair, pair]
    with pytest.raises(TooExpensiveError):
        Meter().weigh(pair)


def test_an_error_has_a_place() -> None:
    error = JinjaError("what", 3)
    assert (str(error), error.offset) == ("what", 3)
