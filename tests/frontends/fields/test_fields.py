from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptlint.frontends import fields
from promptlint.frontends.mapped import MappedText
from promptlint.layout import OriginKind, Section, Segment
from promptlint.source import SourceFile


def cut(text: str, style: str) -> tuple[Segment, ...]:
    return fields.segments(MappedText.of(SourceFile("p.txt", text)), style)


def outline(text: str, style: str) -> list[str]:
    """Return literals as they are and holes as ``<name>``."""
    return [s.text if s.text is not None else f"<{s.origin.name}>" for s in cut(text, style)]


@pytest.mark.parametrize(
    ("style", "text", "expected"),
    [
        ("format", "a {x} {{b}} {x.y[0]!r:>10}", ["a ", "<x>", " {b} ", "<x.y[0]>"]),
        ("format", "{} {0} {x:{width}.2f}{y!s}", ["<>", " ", "<0>", " ", "<x>", "<y>"]),
        ("format", 'not {"a": 1} nor {a b} nor { nor }', ['not {"a": 1} nor {a b} nor { nor }']),
        ("format", "{{{x}}}", ["{", "<x>", "}"]),
        ("braces", '{date} {"a": {b}} {{c}}', ["<date>", ' {"a": ', "<b>", "} {", "<c>", "}"]),
        ("percent", "100%% of %(who)s, %s and %5.2f, 5%", ["100% of ", "<who>", ", ", "<>", " and ", "<>", ", 5%"]),
        ("dollar", "$a ${b}c $$5 $9 $", ["<a>", " ", "<b>", "c $5 $9 $"]),
        ("angle", "It is <current_time>. <b>x</b>", ["It is ", "<current_time>", ". <b>x</b>"]),
        ("angle", "<<NAME>> [[USER NAME]] <<SYS>> <<x>>", ["<NAME>", " ", "<USER NAME>", " <<SYS>> <<x>>"]),
        ("bang", "!<INPUT 3>! !<>! !<a", ["<INPUT 3>", " !<>! !<a"]),
        ("mustache", "{{a}} {{{b.c}}} {{& d }} {{\"q\": 1}}", ["<a>", " ", "<b.c>", " ", "<d>", " {{\"q\": 1}}"]),
        ("mustache", "{{! note }}a{{!-- {{x}} --}}b", ["a", "b"]),
        ("mustache", "a\n  {{#if x}}  \nb\n{{/if}}\nc", ["a\n", "b\n", "c"]),
        ("mustache", "a {{~ x ~}} b", ["a", "<x>", "b"]),
        ("mustache", "{{> _part }}{{media url=photo}}", ["<_part>", "<photo>"]),
        ("mustache", "{{$input}} {{Plugin.Call $history}}", ["<input>", " ", "<history>"]),
        ("mustache", '{{now "YYYY"}}', ["<now>"]),
        ("mustache", "{{the name of user}}", ["<the name of user>"]),
    ],
)  # fmt: skip
def test_pieces(style: str, text: str, expected: list[str]) -> None:
    assert outline(text, style) == expected


def test_a_hole_keeps_expression_name_and_place() -> None:
    (_, hole) = cut("to {user.name!r:>10}", "format")
    assert (hole.origin.kind, hole.origin.expression, hole.origin.name) == (
        OriginKind.VARIABLE,
        "user.name!r:>10",
        "user.name",
    )
    assert (hole.place.span.start, hole.place.span.end) == (3, 20)


def test_places_go_through_the_mapping() -> None:
    # As a JSON string of the file would be mapped: "\n{x}" stands at offset 1.
    text = MappedText("p.json", "\n{x}", ((0, 1), (1, 3)), 6)
    newline, hole = fields.segments(text, "format")
    assert newline.place.span.start == 1
    assert (hole.place.span.start, hole.place.span.end) == (3, 6)


def test_blocks_become_guards() -> None:
    text = "{{#each docs}}{{this.title}}{{@index}}{{/each}}{{#if vip}}A{{else if new}}B{{else}}C{{/if}}{{^z}}D{{/z}}E"
    guards = {
        s.text or s.origin.name: [(g.kind, g.expression, g.branch, g.name) for g in s.guards]
        for s in cut(text, "mustache")
    }
    assert guards == {
        "docs.title": [("for", "docs", 0, "docs")],
        "index": [("for", "docs", 0, "docs")],
        "A": [("if", "vip", 0, "vip")],
        "B": [("if", "new", 1, "new")],
        "C": [("if", "new", 2, "new")],
        "D": [("if", "not z", 0, "z")],
        "E": [],
    }


def test_go_blocks() -> None:
    text = "{{- if .System }}S {{ .System }}{{ else }}none{{ end }} {{ range .Messages }}{{ .Content }}{{ end }}{{ end }}"
    got = [
        (s.text or s.origin.name, [(g.kind, g.name, g.branch) for g in s.guards])
        for s in cut(text, "mustache")
    ]
    assert got == [
        ("S ", [("if", "System", 0)]),
        ("System", [("if", "System", 0)]),
        ("none", [("if", "System", 1)]),
        (" ", []),
        ("Content", [("for", "Messages", 0)]),
        ("end", []),
    ]


def test_dotprompt_roles() -> None:
    text = '{{role "system"}}S{{role "user"}}U{{history}}{{role "model"}}M{{role "user"}}V'
    got = [(s.text or s.origin.name, s.role, s.section, s.message) for s in cut(text, "mustache")]
    assert got == [
        ("S", "system", Section.SYSTEM, 0),
        ("U", "user", Section.MESSAGES, 0),
        ("history", "user", Section.MESSAGES, 0),
        ("M", "model", Section.MESSAGES, 1),
        ("V", "user", Section.MESSAGES, 2),
    ]


def test_semantic_kernel_message_blocks() -> None:
    text = '{{#message role="system"}}S{{/message}}{{#each history}}{{#message role=role}}{{content}}{{/message}}{{/each}}'
    got = [(s.text or s.origin.name, s.role, len(s.guards)) for s in cut(text, "mustache")]
    assert got == [("S", "system", 0), ("content", "role", 1)]


@pytest.mark.parametrize(
    ("text", "style"),
    [
        ("Answer {question} for {user.name}.", "format"),
        ('Return {{"a": 1}} for {question}.', "format"),
        ('Return {"a": 1} for {question}.', "braces"),
        ("Today is {{CURRENT_DATETIME}}.", "mustache"),
        ("{{#each docs}}\n{{title}}{{/each}}", "mustache"),
        ("Dear ${name}, welcome", "dollar"),
        ("Dear $user_name, welcome", "dollar"),
        ("You are %(name)s.", "percent"),
        ("You are %s.", "percent"),
        ("Summarize:\n```\n{text}\n```\nand ```json\n{}\n```", "format"),
        ("Code:\n```python\n{{code}}\n```", "mustache"),
        ("Your task: `{task}`\nGo on.", "format"),
        ("Done so far:\n  `{done}`\nGo on.", "format"),
        ("Write ${{ var_name }} =", "mustache"),
        # What is to be written there, its braces doubled for `str.format`.
        ("The diff:\n{diff}\n<a>\n{{What is wrong with it, in one sentence.}}\n</a>", "format"),
        ("It is {{day}}.\n{{What is wrong with it}}", "mustache"),
        ("Sample:\n``````json\n{sample}\n``````\nRules:", "format"),
        ("Ask !<INPUT 0>! now", "bang"),
        ("Ask <<QUESTION>> now", "angle"),
        ("Ask [[USER_QUESTION]] now", "angle"),
        ("Today is <current_date>. Be kind.", "angle"),
    ],
)
def test_detects(text: str, style: str) -> None:
    assert fields.detect(text) == style


@pytest.mark.parametrize(
    "text",
    [
        "Plain words, 100% sure, for $5.",
        "Write {{what you have found in it}} and nothing else.",
        'Reply as {"name": "x", "n": [1, {"y": 2}]}.',
        "```json\n{x} or {y}\n```\nand `{y}`",
        "Write `{name}` where the name goes.\n`{a}` and `{b}` stay.",
        "~~~\nuse {x}\n~~~",
        "The sum $\\frac{a}{b}$ and \\textbf{word}, x^{n}, a_{i}",
        "$$\\sum_{i} {n}$$ \\begin{align}{x}\\end{align}",
        "```sh\necho $HOME ${PATH} $name\n```",
        "Set ${HOME} first, then run it.",
        "function f() { return {a}.b }".replace("{a}", "{ a }"),
        "#{ruby} %{erb} \\{escaped}",
        "Use format %Y-%m-%d or 50%solution",
        "[INST] <<SYS>> be kind <</SYS>> [/INST]",
        "```csharp\nvar t = \"{{$topic}}\";\n```\nPlain words",
        "\\boxed{{answer}} and $\\text{{x}}$",
        "See [[Wiki]] and [[TODO]]",
        "<current_date>\n1 May\n</current_date>",
        "Write <date> or <current_answer> there.",
        "${{ secrets.TOKEN }}",
        "map { x } and { }",
        "$x$ is math",
    ],
)  # fmt: skip
def test_detects_nothing_where_nothing_is_certain(text: str) -> None:
    assert fields.detect(text) is None


WORDS = st.lists(
    st.one_of(
        st.tuples(st.just(True), st.sampled_from(["a", "user_name", "x1"])),
        st.tuples(st.just(False), st.text(st.sampled_from("ab {}$%!<>[]\n"), min_size=1, max_size=8)),
    ),
    max_size=6,
)


@given(WORDS)
def test_format_agrees_with_the_standard_library(parts: list[tuple[bool, str]]) -> None:
    text = "".join(
        f"{{{t}}}" if is_field else t.replace("{", "{{").replace("}", "}}") for is_field, t in parts
    )
    expected: list[str] = []
    for literal, name, _, _ in string.Formatter().parse(text):
        expected.append(literal)
        if name is not None:
            expected.append(f"<{name}>")
    assert "".join(outline(text, "format")) == "".join(expected)


@given(WORDS)
def test_dollar_agrees_with_the_standard_library(parts: list[tuple[bool, str]]) -> None:
    text = "".join(f"${{{t}}}" if is_field else t.replace("$", "$$") for is_field, t in parts)
    names = {"a": "<a>", "user_name": "<user_name>", "x1": "<x1>"}
    assert "".join(outline(text, "dollar")) == string.Template(text).substitute(names)


@pytest.mark.parametrize("style", fields.STYLES)
@given(text=st.text(st.sampled_from("{}$%!<>[]#/^&~ \"'=|abEX.0\n\\"), max_size=60))
def test_any_text_is_cut_in_order(style: str, text: str) -> None:
    at = 0
    for segment in cut(text, style):
        assert at <= segment.place.span.start <= segment.place.span.end <= len(text)
        assert segment.is_hole == (segment.origin.kind is not OriginKind.LITERAL)
        at = segment.place.span.end
    fields.detect(text)


def test_unknown_style() -> None:
    with pytest.raises(ValueError, match="unknown placeholder style"):
        cut("x", "erb")


def test_escaped_f_strings_are_code() -> None:
    assert fields.brace_names(r'{"code": "print(f\"Weather in {city}:\")"} Use {tool}.') == {"tool"}
