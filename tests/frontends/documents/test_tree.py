"""Every character of every string of a data file must be found again in the file."""

from __future__ import annotations

import json
import re
import tomllib
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from promptlint.frontends.documents import tree
from promptlint.frontends.documents.tree import DataError, DictNode, ListNode, Node, Scalar
from promptlint.frontends.mapped import MappedText
from promptlint.source import SourceFile


def load(text: str, format: str) -> Node:
    return tree.load(SourceFile(f"data.{format}", text), format)


def plain(node: Node) -> Any:
    """Turn a tree into the value an ordinary reader gives."""
    if isinstance(node, MappedText):
        return node.text
    if isinstance(node, Scalar):
        return node.value
    if isinstance(node, ListNode):
        return [plain(item) for item in node.items]
    return {entry.name: plain(entry.value) for entry in node.entries}


def raws(text: MappedText, source: str) -> list[str]:
    """Return what stands in the file for each character of a string."""
    starts = [text.offset(i) for i in range(len(text.text))]
    return [source[a:b] for a, b in zip(starts, [*starts[1:], text.end], strict=False)]


def shown(node: Node | None, source: str) -> str:
    assert node is not None
    place = tree.place_of(node)
    return source[place.span.start : place.span.end]


ASTRAL = st.text(st.characters(exclude_categories=["Cs", "Cc"], include_characters="\n\t"), max_size=40)
PROSE = st.text(st.sampled_from("ab {}:#'\"\\\n\t-é😀,%"), max_size=60)
TEXTS = st.one_of(ASTRAL, PROSE).map(lambda s: re.sub("[\u2028\u2029\x85\ufeff\ufffe\uffff]", "x", s))


def decodes_json(raw: str, char: str) -> bool:
    return raw == char or json.loads(f'"{raw}"') == char


@given(TEXTS, st.booleans())
def test_json_characters_map_to_what_decodes_to_them(value: str, ascii_only: bool) -> None:
    source = json.dumps({"k": [value, 1]}, ensure_ascii=ascii_only, indent=2)
    node = load(source, "json")
    assert plain(node) == {"k": [value, 1]}
    ((path, text),) = tree.strings(node)
    assert path == ("k", "0")
    assert all(decodes_json(raw, char) for raw, char in zip(raws(text, source), value, strict=True))


def found_in_yaml(raw: str, char: str) -> bool:
    """Tell whether the file really has this character there, in the way its style writes it."""
    if raw.startswith(char) or (char == "'" and raw.startswith("''")):
        return True
    if char in " \n" and raw[:1] == "\n":
        return True  # a folded break
    escape = re.match(r"\\(?:x..|u.{4}|U.{8}|.)", raw)
    return escape is not None and yaml.safe_load(f'"{escape.group()}"') == char


@settings(max_examples=300)
@given(TEXTS, st.sampled_from([None, "'", '"', "|", ">"]), st.integers(20, 80))
def test_yaml_characters_map_to_what_decodes_to_them(value: str, style: str | None, width: int) -> None:
    source = yaml.safe_dump(
        {"outer": {"k": value}}, default_style=style, width=width, allow_unicode=True, indent=3
    )
    expected = yaml.safe_load(source)
    node = load(source, "yaml")
    assert plain(node) == expected
    texts = [text for path, text in tree.strings(node) if path == ("outer", "k")]
    for text in texts:
        for i, char in enumerate(text.text):
            assert found_in_yaml(source[text.offset(i) : text.offset(i) + 12], char), (i, char)


@pytest.mark.parametrize(
    ("source", "value", "places"),
    [
        ("k: plain words", "plain words", {"p": 3, "words": 9}),
        ("k: two\n   lines\n\n   here", "two lines\nhere", {"lines": 10, "here": 20}),
        ("k: 'it''s {x}'", "it's {x}", {"s {x}": 8, "{x}": 10}),
        ('k: "a\\u00e9\\n{x}"', "aé\n{x}", {"é": 5, "\n": 11, "{x}": 13}),
        ('k: "a\\\n   b  \n   c"', "ab c", {"b": 10, "c": 17}),
        ("k: |\n  one\n    two\n\n  {x}\n", "one\n  two\n\n{x}\n", {"one": 7, "  two": 13, "{x}": 22}),
        ("k: |2-\n    one\n  {x}\n\n", "  one\n{x}", {"one": 11, "{x}": 17}),
        ("k: >\n  a\n  b\n\n  c\n   d\n  e\n", "a b\nc\n d\ne\n", {"b": 11, "c": 16, "d": 21, "e": 25}),
        ("k: |+\n  a\n\n\n", "a\n\n\n", {"a": 8}),
        ("k: &name !!str |\n  {x}\n", "{x}\n", {"{x}": 19}),
        ("k: !custom 'q'", "q", {"q": 12}),
        ("k: |  # note\n\n\n  {x}", "\n\n{x}", {"{x}": 17}),
        ("'k': |-\n\t\n", None, {}),
    ],
)
def test_yaml_styles(source: str, value: str | None, places: dict[str, int]) -> None:
    if value is None:
        with pytest.raises(DataError):
            load(source, "yaml")
        return
    node = load(source, "yaml")
    assert isinstance(node, DictNode)
    text = node.get("k")
    assert isinstance(text, MappedText)
    assert text.text == value
    for part, offset in places.items():
        assert text.offset(value.index(part)) == offset


def test_yaml_anchors_merges_and_repeated_keys() -> None:
    source = "base: &b {x: one, y: two}\nuse:\n  <<: *b\n  y: own\nagain: *b\nk: 1\nk: 2\n"
    node = load(source, "yaml")
    assert isinstance(node, DictNode)
    use = node.get("use")
    assert isinstance(use, DictNode)
    assert plain(use) == {"x": "one", "y": "own"}
    assert shown(use.get("x"), source) == "one"
    assert node.get("again") is node.get("base")
    assert [e.name for e in node.entries][-2:] == ["k", "k"]
    assert plain(node)["k"] == 2


def test_yaml_scalars_keep_value_and_notation() -> None:
    source = "[1, 0x1F, 010, 1_000, 1.5, .inf, yes, ~, 2024-01-02, 1:30, 'no', !!int '3', 1e3]"
    node = load(source, "yaml")
    assert plain(node) == [1, 31, 8, 1000, 1.5, float("inf"), True, None, None, None, "no", 3, "1e3"]
    assert isinstance(node, ListNode)
    assert [shown(item, source) for item in node.items][:4] == ["1", "0x1F", "010", "1_000"]


def test_several_yaml_documents() -> None:
    documents = tree.load_all(SourceFile("a.yaml", "--- a\n---\nb: 1\n...\n--- |\n c\n"))
    assert [plain(d) for d in documents] == ["a", {"b": 1}, "c\n"]
    assert plain(load("", "yaml")) is None


def test_yaml_astral_text_counts_characters() -> None:
    source = '# 😀\nk: 😀 {x}\nl: "😀\\U0001F600{y}"\n'
    node = load(source, "yaml")
    assert isinstance(node, DictNode)
    for key, part in (("k", "{x}"), ("l", "{y}")):
        text = node.get(key)
        assert isinstance(text, MappedText)
        at = text.offset(text.text.index(part))
        assert source[at : at + 3] == part


def test_alias_bomb_and_recursion_are_refused() -> None:
    bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
    for i in range(1, 10):
        bomb += f"a{i}: &a{i} [" + ", ".join([f"*a{i - 1}"] * 10) + "]\n"
    with pytest.raises(DataError, match="aliases"):
        load(bomb, "yaml")
    with pytest.raises(DataError, match="inside its anchor"):
        load("a: &a [*a]", "yaml")


@pytest.mark.parametrize("format", ["json", "yaml", "toml"])
def test_deep_nesting_is_refused(format: str) -> None:
    text = ("v = " if format == "toml" else "") + "[" * 30_000 + "]" * 30_000
    with pytest.raises(DataError, match="nest"):
        load(text, format)


@pytest.mark.parametrize(
    ("format", "text", "line"),
    [
        ("json", '{"a": 1,\n "b" 2}', 2),
        ("json", '{"a": "x\n"}', 1),
        ("json", '["\\q"]', 1),
        ("json", "[1] 2", 1),
        ("json", "", 1),
        ("yaml", "a: b\nc: [1,\nd: }", 3),
        ("yaml", "a: \x01", 1),
        ("toml", "a = 1\nb = [1,,2]", 2),
        ("toml", 'a = "x', 1),
    ],
)
def test_malformed_text_names_its_line(format: str, text: str, line: int) -> None:
    source = SourceFile(f"data.{format}", text)
    with pytest.raises(DataError) as caught:
        tree.load(source, format)
    assert source.position(caught.value.place.span.start)[0] == line
    assert str(caught.value).startswith(f"data.{format}:{line}:")


def test_json_with_comments_and_trailing_commas() -> None:
    source = '// head\n{"a": [1, 2,], /* x */ "b": {"c": null,},}\n// tail'
    assert plain(load(source, "json")) == {"a": [1, 2], "b": {"c": None}}


def test_json_surrogates() -> None:
    source = r'["\ud83d\ude00{x}", "\ud83d alone", -1.5e3, NaN, true]'
    node = load(source, "json")
    assert isinstance(node, ListNode)
    face, alone = node.items[:2]
    assert isinstance(face, MappedText)
    assert isinstance(alone, MappedText)
    assert face.text == "😀{x}"
    assert source[face.offset(1)] == "{"
    assert alone.text == "\ufffd alone"


TOML = '''
title = "basic \\u00e9 {x}" # note
path = 'C:\\temp\\{x}'
long = """
first {x}
  second \\
     joined "quoted"\\t{y}"""
raw = \'\'\'
it's {x}\'\'\'\'
empty = ""
point = {x = 1, "y z" = [1.5, true, 2024-01-02T03:04:05Z]}
a.b.c = "deep"

[table.sub]  # note
k = [
  "one", # note
  """two""",
]
[[prompts]]
text = "p1"
[prompts.meta]
n = 1
[[prompts]]
text = "p2"
'''


def test_toml_agrees_with_tomllib() -> None:
    node = load(TOML, "toml")
    expected = tomllib.loads(TOML)
    expected["point"]["y z"][2] = None
    assert plain(node) == expected
    for _, text in tree.strings(node):
        for field in re.finditer(r"\{\w\}", text.text):
            at = text.offset(field.start())
            assert TOML[at : at + 3] == field.group()
    assert isinstance(node, DictNode)
    assert shown(node.get("table"), TOML).startswith("table")
    entry = node.entry("prompts")
    assert entry is not None
    assert shown(entry.value, TOML).startswith("[[prompts]]")


@given(st.lists(TEXTS, min_size=1, max_size=4))
def test_toml_basic_strings(values: list[str]) -> None:
    source = "".join(f"k{i} = {json.dumps(v)}\n" for i, v in enumerate(values))
    source = re.sub(r"\\u(d[89ab]..)\\u(d[c-f]..)", lambda m: _long_escape(m[1], m[2]), source)
    source = source.replace("\x7f", "x")
    assert plain(load(source, "toml")) == tomllib.loads(source)


def _long_escape(high: str, low: str) -> str:
    return f"\\U{0x10000 + ((int(high, 16) - 0xD800) << 10) + int(low, 16) - 0xDC00:08x}"
