"""Segments, holes and spans of small templates, worked out by hand."""

from __future__ import annotations

import pytest

from promptlint.catalog.catalog import Catalog
from promptlint.frontends import jinja
from promptlint.frontends.base import Context, Delimiters
from promptlint.frontends.mapped import MappedText
from promptlint.layout import Layout, OriginKind, Section, Segment
from promptlint.source import SourceFile
from promptlint.volatility import annotate


def context(files: dict[str, str] | None = None, delimiters: Delimiters | None = None) -> Context:
    files = files or {}

    def load(path: str) -> SourceFile | None:
        return SourceFile(path, files[path]) if path in files else None

    return Context(load, tuple(files), delimiters or Delimiters())


def fragment(text: str, dialect: str = "jinja", files: dict[str, str] | None = None) -> jinja.Fragment:
    source = SourceFile("prompts/main.j2", text)
    return jinja.segments(MappedText.of(source), context(files), dialect=dialect)


def shown(found: jinja.Fragment) -> str:
    """The text with ``<name>`` for holes and ``kind#branch(`` around guarded parts."""
    parts = []
    for segment in found.segments:
        body = f"<{segment.origin.name}>" if segment.text is None else segment.text
        for guard in reversed(segment.guards):
            body = f"{guard.kind}#{guard.branch}({body})"
        parts.append(body)
    return "".join(parts)


def raw(text: str, segment: Segment) -> str:
    return text[segment.place.span.start : segment.place.span.end]


def test_text_and_holes_have_exact_spans() -> None:
    text = "Hello {{ user.name }},\ntoday is {{ now() }}.\n"
    found = fragment(text)
    assert shown(found) == "Hello <user.name>,\ntoday is <now>."
    assert [raw(text, s) for s in found.segments] == [
        "Hello ",
        "{{ user.name }}",
        ",\ntoday is ",
        "{{ now() }}",
        ".",
    ]
    assert [s.origin.kind for s in found.segments if s.is_hole] == [OriginKind.VARIABLE, OriginKind.CALL]


@pytest.mark.parametrize(
    ("text", "dialect", "expected"),
    [
        ("a  {%- if x %}  b  {%- endif %}  c\n", "jinja", "aif#0(  b)  c"),
        ("a\n  {% if x %}\n  b\n  {% endif %}\nc\n", "jinja", "a\n  if#0(\n  b\n  )\nc"),
        ("a\n  {% if x %}\n  b\n  {% endif %}\nc\n", "trimmed", "a\nif#0(  b\n)c"),
        ("a\n  {%+ if x %}b{% endif +%}\nc", "trimmed", "a\n  if#0(b)\nc"),
        ("a  {{- x -}}  b", "jinja", "a<x>b"),
        ("a {#- gone -#} b\n\n", "jinja", "ab\n"),
        ("{% raw %}{{ x }} {% y %}{% endraw %}", "jinja", "{{ x }} {% y %}"),
        ("  {%- raw -%}  {{ x }}  {%- endraw -%}  .", "jinja", "{{ x }}."),
    ],
)
def test_whitespace_control(text: str, dialect: str, expected: str) -> None:
    assert shown(fragment(text, dialect)) == expected


def test_carriage_returns_in_a_decoded_string() -> None:
    source = SourceFile("a.py", '"Hi\\r\\n{{ x }}"')
    text = MappedText("a.py", "Hi\r\n{{ x }}", ((0, 1), (2, 3), (3, 5), (4, 7)), 14)
    found = jinja.segments(text, context())
    assert [s.text for s in found.segments] == ["Hi\n", None]
    assert raw(source.text, found.segments[1]) == "{{ x }}"


def test_branches_are_numbered_and_name_what_decides_them() -> None:
    found = fragment("{% if a.b %}1{% elif c %}2{% else %}3{% endif %}{% if x and y %}4{% endif %}")
    assert shown(found) == "if#0(1)if#1(2)if#2(3)if#0(4)"
    guards = [s.guards[0] for s in found.segments]
    assert [g.name for g in guards] == ["a.b", "c", "a.b", "x"]
    assert guards[3].names == ("x", "y")
    assert guards[0].place == guards[2].place


def test_loops_name_the_collection_and_its_items() -> None:
    found = fragment(
        "{% for m in messages %}{{ loop.index }}. {{ m.content }}{% for k, v in m.meta.items() %}{{ v }}"
        "{% endfor %}{% else %}none{% endfor %}"
    )
    assert shown(found) == (
        "for#0(<loop.index>)for#0(. )for#0(<messages[].content>)for#0(for#0(<messages[].meta[].v>))for#1(none)"
    )
    assert found.segments[0].guards[0].name == "messages"


def test_a_short_constant_list_is_unrolled() -> None:
    assert shown(fragment("{% for x in ['a', 'b'] %}{{ loop.index }}{{ x }} {% endfor %}")) == "1a 2b "


def test_set_is_followed_and_leaves_a_chain() -> None:
    text = "{% set today = now().date() %}\n{% set line = today %}Date: {{ line }}"
    found = fragment(text)
    hole = found.segments[-1]
    assert (hole.origin.kind, hole.origin.name) == (OriginKind.CALL, "now")
    assert [text[s.place.span.start : s.place.span.end] for s in hole.origin.chain] == [
        "{% set today = now().date() %}",
        "{% set line = today %}",
    ]
    assert raw(text, hole) == "{{ line }}"


def test_constants_become_text() -> None:
    found = fragment("{% set name = 'Ada' %}{% set n = 2 + 3 %}{{ name | upper }}-{{ n }}-{{ name ~ '!' }}")
    assert shown(found) == "ADA-5-Ada!"
    assert not found.holes


def test_a_variable_set_in_one_branch_is_a_choice() -> None:
    found = fragment("{% if not date %}{% set date = now() %}{% endif %}Today: {{ date }}")
    assert shown(found) == "Today: if#0(<now>)if#1(<date>)"


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        ("{% if not day is defined %}{% set day = '26 Jul 2024' %}{% endif %}{{ day }}", OriginKind.OPAQUE),
        ("{% set day = day if day is defined else '2024-07-26' %}{{ day }}", OriginKind.OPAQUE),
        ("{{ day | default('July 26, 2024') }}", OriginKind.OPAQUE),
        ("{{ day | default('unknown') }}", OriginKind.VARIABLE),
        ("{{ day }}", OriginKind.VARIABLE),
    ],
)
def test_a_day_written_in_the_template_is_what_most_callers_get(given: str, kind: OriginKind) -> None:
    found = fragment(given)
    assert [segment.origin.kind for segment in found.segments] == [kind]
    assert [hole.path for hole in found.holes] == ["day"]  # who gives one is still followed


def test_namespaces_collect_what_a_loop_appends() -> None:
    found = fragment(
        "{% set ns = namespace(text='Start.', last=none) %}{% for m in messages %}"
        "{% set ns.text = ns.text ~ m.content %}{% if m.role == 'user' %}{% set ns.last = loop.index0 %}{% endif %}"
        "{% endfor %}{{ ns.text }}|{% if ns.last %}x{% endif %}"
    )
    assert shown(found) == "Start.for#0(<messages[].content>)|if#0(x)"


@pytest.mark.parametrize(
    ("expression", "path", "exact", "filters", "default"),
    [
        ("user.name", "user.name", True, (), None),
        ("user['name']", "user.name", True, (), None),
        ("name | default('you')", "name", True, (), "you"),
        ("name or 'you'", "name", True, (), "you"),
        ("name | trim", "name", False, ("trim",), None),
        ("docs | map(attribute='text') | join('\\n')", "docs", False, ("map", "join"), None),
        ("messages[0].content", "messages[0].content", True, (), None),
        ("user.get('name', 'you')", "user.name", True, (), "you"),
        ("text.strip()", "text", False, (".strip",), None),
        ("text.split('x')[-1]", "text", False, (".split", "[-1]"), None),
        ("texts[-1]", "texts[-1]", True, (), None),
        ("a - b", "a", False, (), None),
    ],
)
def test_holes(
    expression: str, path: str, exact: bool, filters: tuple[str, ...], default: str | None
) -> None:
    (hole,) = fragment(f"{{{{ {expression} }}}}").holes
    assert (hole.path, hole.exact, hole.filters, hole.default) == (path, exact, filters, default)


def test_names_lists_everything_in_an_expression() -> None:
    (hole,) = fragment("{{ render(docs, user.name) }}").holes
    assert (hole.kind, hole.path) == (OriginKind.CALL, "render")
    assert hole.names == ("render", "docs", "user.name")


def test_random_filter_is_a_source() -> None:
    (hole,) = fragment("{{ greetings | random }}").holes
    assert (hole.kind, hole.path) == (OriginKind.CALL, "random")


def test_concatenation_splits_into_parts_with_their_spans() -> None:
    text = "{{ '<|user|>' + m.content ~ '\\n' }}"
    found = fragment(text)
    assert shown(found) == "<|user|><m.content>\n"
    assert [raw(text, s) for s in found.segments] == ["'<|user|>'", "m.content", "'\\n'"]


def test_conditional_expression() -> None:
    assert shown(fragment("{{ 'a' if x else y }}")) == "if#0(a)if#1(<y>)"


def test_macros_are_inlined() -> None:
    found = fragment(
        "{% macro tag(name, body='-') %}<{{ name }}>{{ body }}{{ caller() if caller }}{% endmacro %}"
        "{{ tag('a', doc) }}{{ tag('b') }}{% call tag('c') %}in{% endcall %}"
    )
    assert shown(found).replace("if#0()", "").startswith("<a><doc>")
    assert "<b>-" in shown(found)
    assert "in" in shown(found)


def test_recursive_macro_ends() -> None:
    found = fragment("{% macro f(x) %}[{{ f(x.child) }}{{ f(x.other) }}]{% endmacro %}{{ f(tree) }}")
    assert shown(found) == "[<tree.child><tree.other>]"


def test_include_extends_import() -> None:
    files = {
        "prompts/base.j2": "{% block head %}Base head {{ product }}.{% endblock %} {% block body %}{% endblock %}!",
        "prompts/part.j2": "Part for {{ who }}.\n",
        "lib/macros.j2": "{% macro rule(n) %}Rule {{ n }}.{% endmacro %}{% set version = '3' %}",
    }
    child = (
        "{% extends 'base.j2' %}{% from 'lib/macros.j2' import rule, version as v %}{% set who = 'x' %}"
        "{% block head %}New + {{ super() }}{% endblock %}"
        "{% block body %}{% include 'part.j2' %}{{ rule(7) }}v{{ v }}{% endblock %}"
    )
    found = fragment(child, files=files)
    assert found.complete, found.gaps
    assert shown(found) == "New + Base head <product>. Part for x.Rule 7.v3!"
    paths = {s.text or s.origin.name: s.place.path for s in found.segments}
    assert paths["product"] == "prompts/base.j2"
    assert paths["Part for "] == "prompts/part.j2"


def test_a_value_of_an_included_template_tells_what_brings_it_in() -> None:
    files = {"prompts/outer.j2": "{% set day = today %}\n{% include 'inner.j2' %}"}
    files["prompts/inner.j2"] = "Day {{ day }}, time {{ current_time }}."
    found = fragment("Begin.\n{% include 'outer.j2' %}", files=files)
    (day, time) = [s.origin for s in found.segments if s.is_hole]
    assert [(step.place.path, step.note) for step in day.chain] == [
        ("prompts/outer.j2", "set day"),
        ("prompts/outer.j2", "included here"),
        ("prompts/main.j2", "included here"),
    ]
    assert [step.place.path for step in time.chain] == ["prompts/outer.j2", "prompts/main.j2"]
    layout = annotate(Layout("p", found.segments[0].place, found.segments), Catalog())
    causes = [s.cause for s in layout.segments if s.cause is not None]
    # Where a value was set is where it comes from; where its template is included is not.
    assert [cause.place and cause.place.path for cause in causes] == ["prompts/outer.j2", None]


def test_missing_and_cyclic_includes_are_gaps() -> None:
    found = fragment("a{% include 'no.j2' %}{% include name %}{% include 'no.j2' ignore missing %}b")
    assert not found.complete
    assert [s.origin.kind for s in found.segments if s.is_hole] == [OriginKind.INCLUDE] * 2
    cyclic = fragment(
        "a{% include 'two.j2' %}",
        files={"prompts/two.j2": "b{% include 'main.j2' %}"} | {"prompts/main.j2": "a{% include 'two.j2' %}"},
    )
    assert cyclic.gaps == ("include 'main.j2': includes itself",)


@pytest.mark.parametrize("tag", ["trans", "generation", "cache 500"])
def test_unknown_block_tags_keep_their_body(tag: str) -> None:
    name = tag.split()[0]
    assert shown(fragment(f"{{% {tag} %}}Hi {{{{ x }}}}{{% end{name} %}}")) == "Hi <x>"


def test_unknown_lone_tags() -> None:
    assert (
        shown(fragment("{% now 'utc' %}|{% do x.append(1) %}{% for a in b %}{% break %}{% endfor %}"))
        == "<now>|"
    )


def test_custom_delimiters() -> None:
    source = SourceFile("a.j2", "a ${ x } <% if y %>b<% endif %> {{ z }}")
    found = jinja.segments(
        MappedText.of(source), context(delimiters=Delimiters(("<%", "%>"), ("${", "}"), ("<#", "#>")))
    )
    assert shown(found) == "a <x> if#0(b) {{ z }}"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a\nb {{ x\n", 2),
        ("a\n{% if x %}\nb\n", 2),
        ("a\n\n{{ 1 + }}", 3),
        ("{% endif %}", 1),
        ("a\n{# open", 2),
        ("a\nb\n{{ .Go }}", 3),
    ],
)
def test_syntax_errors_are_observed_at_their_line(text: str, line: int) -> None:
    source = SourceFile("a.j2", text)
    (layout,) = jinja.read(source, context())
    assert not layout.complete
    (observation,) = layout.observations
    assert observation.what == "parse-error"
    assert source.position(observation.place.span.start)[0] == line


def test_front_matter_is_no_text() -> None:
    source = SourceFile("a.j2", "---\nname: x\n---\nHi {{ y }}")
    (layout,) = jinja.read(source, context())
    assert [s.text for s in layout.segments] == ["Hi ", None]
    assert layout.place.span.start == source.text.index("Hi")


def test_role_lines_make_messages() -> None:
    source = SourceFile("chat.jinja2", "# system:\nBe kind.\n\n# user:\n{{ q }}\nassistant:\n")
    (layout,) = jinja.read(source, context())
    assert [(s.role, s.section, s.message, s.text) for s in layout.segments] == [
        ("system", Section.SYSTEM, 0, "# system:\nBe kind.\n\n"),
        ("user", Section.MESSAGES, 0, "# user:\n"),
        ("user", Section.MESSAGES, 0, None),
        ("user", Section.MESSAGES, 0, "\n"),
        ("assistant", Section.MESSAGES, 1, "assistant:"),
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Hi {{ name }}", True),
        ("Hi {{name|upper}}", True),
        ("{% if x %}a{% endif %}", True),
        ("plain { text }", False),
        ("{{#each items}}{{this}}{{/each}}", False),
        ("a \\frac{{1}}{{2}}", False),
        ("{{ .Values.x }}", False),
        ("{'a': {{1: 2}}}", False),
        ('[{{"index": 0, "name": "x"}}]', False),
        ("run: ${{ secrets.KEY }}", False),
        ("{{ 'fixed' ~ x }}", True),
    ],
)
def test_looks_like(text: str, expected: bool) -> None:
    assert jinja.looks_like(text) is expected


def test_filters_change_the_fixed_parts_of_captured_text() -> None:
    text = "{% set s %}Hi {{ name }},\nbye{% endset %}{{ s | upper }}|{{ s | indent }}|{{ ('  ' ~ name) | trim }}"
    assert shown(fragment(text)) == "HI <name>,\nBYE|Hi <name>,\n    bye|<name>"


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("'%s is %s, 100%%' % (name, 3)", "<name> is 3, 100%"),
        ("'Hi %s' % name", "Hi <name>"),
        ("'%s-%s' | format(a, b.c)", "<a>-<b.c>"),
        ("'{} {{x}} {who}'.format(a, who=b)", "<a> {x} <b>"),
        ("'{1}{0}'.format(a, b)", "<b><a>"),
        ("'%05d' % n", "<n>"),
        ("'%s %s' % (a,)", "<a>"),
        ("'{:>9}'.format(n)", "<n>"),
    ],
)
def test_formats_of_constant_patterns(expression: str, expected: str) -> None:
    assert shown(fragment(f"{{{{ {expression} }}}}")) == expected


def test_ranges() -> None:
    assert shown(fragment("{% for i in range(3) %}{{ i }}{% endfor %}")) == "012"
    found = fragment("{% for i in range(count) %}{{ i }}{% endfor %}")
    assert shown(found) == "for#0(<loop.index>)"
    assert found.segments[0].guards[0].name == "count"


@pytest.mark.parametrize(
    ("text", "cut"),
    [
        ("{% for m in messages[-10:] %}{{ m }}{% endfor %}", True),
        ("{{ chat_history[-n:] | join }}", True),
        ("{% for m in messages[1:] %}{{ m }}{% endfor %}", False),
        ("{% for d in documents[-3:] %}{{ d }}{% endfor %}", False),
        ("{{ messages[-1].content }}", False),
    ],
)
def test_history_that_is_cut(text: str, cut: bool) -> None:
    found = fragment(text)
    assert [o.what for o in found.observations] == (["history-cut"] if cut else [])


def test_variables_by_root() -> None:
    found = jinja.variables(fragment("{{ user.name }}{{ user.age }}{{ q }}"))
    assert {root: [hole.path for hole in holes] for root, holes in found.items()} == {
        "user": ["user.name", "user.age"],
        "q": ["q"],
    }


@pytest.mark.parametrize(
    ("path", "elements", "page"),
    [
        ("public/search.jinja2", 3, True),
        ("public/search.jinja2", 2, False),
        ("prompts/search.jinja2", 3, False),
    ],
)
def test_a_part_of_a_page_is_told_by_its_elements(path: str, elements: int, page: bool) -> None:
    text = '{% extends "base.jinja2" %}{% block content %}' + '<div class="card">{{ query }}</div>' * elements
    assert jinja.is_page(SourceFile(path, text)) is page


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("On ${SYSTEM}.{% if x %} Now ${NOW}.{% endif %}", "On <SYSTEM>.if#0( Now )if#0(<NOW>)if#0(.)"),
        ("{% if x %}Echo ${HOME}.{% endif %}", "if#0(Echo ${HOME}.)"),  # a shell's
        ("{% if x %}Run `echo ${NAME}`.{% endif %}", "if#0(Run `echo ${NAME}`.)"),
        ("{{ y }} costs ${PRICE}.{% if x %}a{% endif %}", "<y> costs ${PRICE}.if#0(a)"),
    ],
)
def test_variables_that_are_written_with_a_dollar(text: str, expected: str) -> None:
    assert shown(fragment(text)) == expected
