from __future__ import annotations

import ast
import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from promptlint.frontends.mapped import MappedText
from promptlint.frontends.python.syntax.strings import Field, scan


def pieces(source: str) -> list[MappedText | Field]:
    return scan("app.py", source, 0, len(source))


def shown(source: str) -> str:
    """Literal text as it is, fields as ``{expression}``."""
    out = []
    for piece in pieces(source):
        if isinstance(piece, MappedText):
            out.append(piece.text)
        else:
            out.append("{" + source[piece.start : piece.end] + "}")
    return "".join(out)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("'a' \"b\" '''c'''", "abc"),
        ("('a'  # why\n  'b')", "ab"),
        (r"'tab\t nul\0 \x41 \u00e9 \N{BULLET} \q \\'", "tab\t nul\0 A é • \\q \\"),
        (r"r'raw\n'", "raw\\n"),
        ("'joined\\\nlines'", "joinedlines"),
        ("f'a {x} b'", "a {x} b"),
        ("f'{{x}} {x}'", "{x} {x}"),
        ("f'{x!r:>{width}}'", "{x}"),
        ("f'{d[\"k\"]} {f(a, b=1)} {x != y} {x == y}'", '{d["k"]} {f(a, b=1)} {x != y} {x == y}'),
        ("f'{x:%Y-%m}' 'z'", "{x}z"),
        ("f'{(lambda v: v)(1)}'", "{(lambda v: v)(1)}"),
        ("f'''a\n{x}\n'''", "a\n{x}\n"),
        (r"rf'\d{x}'", r"\d{x}"),
        ("f'a' 'b{c}' f'{d}'", "ab{c}{d}"),
    ],
)
def test_pieces(source: str, expected: str) -> None:
    assert shown(source) == expected


def test_parts_of_a_field() -> None:
    source = "f'{total!r:>{width}.2f} {x = }'"
    first, _, second = pieces(source)
    assert isinstance(first, Field)
    assert isinstance(second, Field)
    assert (first.conversion, source[slice(*first.outer)]) == ("r", "{total!r:>{width}.2f}")
    left, width, right = first.spec
    assert (left.text, right.text) == (">", ".2f")  # type: ignore[union-attr]
    assert isinstance(width, Field)
    assert source[width.start : width.end] == "width"
    assert second.debug
    assert source[second.outer[0] + 1 : second.label_end] == "x = "


def test_each_character_maps_to_its_source() -> None:
    source = r"'a\n' 'b\x41'"
    (text,) = pieces(source)
    assert isinstance(text, MappedText)
    spans = [text.place(i, i + 1).span for i in range(len(text.text))]
    assert [source[s.start] for s in spans] == ["a", "\\", "b", "\\"]


# ---------------------------------------------------------------------- any string expression

PLAIN = st.text(string.ascii_letters + string.digits + " .,-é世", max_size=6)
ESCAPES = st.sampled_from(
    [r"\n", r"\t", r"\\", r"\x41", r"\101", r"\0", r"\u00e9", r"\N{BULLET}", "\\\n", r"\q"]
)
QUOTES = st.sampled_from(["'", '"', "'''", '"""'])
NAMES = {"x": "X!", "n": 7, "d": {"k": "v"}, "f": lambda v: f"<{v}>"}
FIELDS = st.sampled_from(
    [
        "{x}",
        "{n}",
        "{x!r}",
        "{n:>4}",
        "{n:0{n}d}",
        "{f(x)}",
        "{f(x)[0]}",
        "{n + 1}",
        "{x = }",
        "{n=!r:>5}",
        "{ x }",
        "{n!s:^9}",
    ]
)


@st.composite
def literals(draw: st.DrawFn) -> str:
    """One string token."""
    prefix = draw(st.sampled_from(["", "r", "u", "f", "F", "rf", "fR"]))
    quote = draw(QUOTES)
    formatted = "f" in prefix.lower()
    kinds = [
        PLAIN,
        st.just("{{") if formatted else st.just("{"),
        st.just("}}") if formatted else st.just("}"),
    ]
    if "r" not in prefix.lower():
        kinds.append(ESCAPES)
    if formatted:
        kinds += [FIELDS, st.just("\\{x}")]
    if len(quote) == 3:
        kinds += [st.just("\n"), st.just("'" if quote[0] == '"' else '"')]
    return prefix + quote + "".join(draw(st.lists(st.one_of(kinds), max_size=6))) + quote


@st.composite
def expressions(draw: st.DrawFn) -> str:
    """Tokens side by side, with space, newlines and comments between them."""
    gap = st.sampled_from([" ", "\n  ", '  # it\'s a "comment"\n ', " \\\n"])
    tokens = draw(st.lists(literals(), min_size=1, max_size=3))
    out = tokens[0]
    for token in tokens[1:]:
        out += draw(gap) + token
    return out


def value(source: str) -> str:
    """What Python makes of it."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return eval(f"({source}\n)", dict(NAMES))  # type: ignore[no-any-return]


def field_value(source: str, field: Field) -> str:
    label = source[field.outer[0] + 1 : field.label_end] if field.debug else ""
    found = eval(source[field.start : field.end].strip(), dict(NAMES))
    conversion = field.conversion or ("r" if field.debug and not field.spec else "")
    found = {"r": repr, "s": str, "a": ascii}.get(conversion, lambda v: v)(found)
    spec = "".join(p.text if isinstance(p, MappedText) else field_value(source, p) for p in field.spec)
    return label + format(found, spec)


@settings(max_examples=150, deadline=None)
@given(expressions())
def test_text_equals_what_python_reads(source: str) -> None:
    found = pieces(source)
    text = "".join(p.text if isinstance(p, MappedText) else field_value(source, p) for p in found)
    assert text == value(source)


@settings(max_examples=150, deadline=None)
@given(expressions())
def test_every_character_has_its_place(source: str) -> None:
    last = 0
    for piece in pieces(source):
        if isinstance(piece, Field):
            assert source[piece.outer[0]] == "{"
            assert source[piece.outer[1] - 1] == "}"
            ast.parse(source[piece.start : piece.end].strip(), mode="eval")
            last = piece.outer[1]
            continue
        for at, char in enumerate(piece.text):
            start = piece.offset(at)
            assert start >= last  # in order, none twice
            last = start + 1
            # A character stands there itself, or the escape that makes it.
            assert source[start] == char or source[start] == "\\"
