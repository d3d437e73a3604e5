"""Reading ``promptlint: ignore[PL101] reason`` from the comments of each kind of file.

====================  ==================================================
``ignore``            the lines of the comment, and of a string that ends there
``ignore-next-line``  the statement, key or line that follows
``ignore-file``       the whole file
====================  ==================================================
"""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass

from promptlint.source import SourceFile, Span

_MARK = "promptlint:"
_BODY = re.compile(
    r"promptlint:[ \t]*(?P<what>ignore-next-line|ignore-file|ignore)(?![\w-])"
    r"(?:[ \t]*\[(?P<codes>[^\]\n]*)\])?[ \t]*(?P<reason>[^\n]*)"
)
# What other tools write; a comment that only speaks of promptlint is left alone.
_FOREIGN = re.compile(
    r"promptlint:[ \t]*((?:disable|noqa|nolint|skip|off|allow|suppress)(?:[-_][\w-]*)?|ignore[-_][\w-]+)(?!\w)"
)
_HASH = re.compile(r"(?:(?<=\s)|^)#[ \t]*(?P<body>promptlint:[^\n]*)", re.MULTILINE)
_OPENS = re.compile(r"#[# \t]*\Z")  # alone, or behind another comment on the line
_XML = re.compile(r"<!--\s*(?P<body>promptlint:.*?)\s*-->", re.DOTALL)
_HANDLEBARS = re.compile(r"\{\{~?!(?:--)?\s*(?P<body>promptlint:.*?)\s*(?:--)?~?\}\}", re.DOTALL)
_YAML_BLOCK = re.compile(r"^(?P<indent>\s*)(?:- +)*(?:[^#\n]*:|-)\s+[|>][-+\d]*\s*(?:#.*)?$")


@dataclass(frozen=True, slots=True)
class Suppression:
    """One comment. ``first`` to ``last`` are the lines it covers, 0 to 0 for the whole file."""

    span: Span
    first: int
    last: int
    codes: tuple[str, ...]  # codes or names; () for all
    reason: str = ""
    foreign: str = ""  # a word of another tool, where it covers nothing

    def covers(self, first: int, last: int) -> bool:
        """Tell whether it covers any of these lines."""
        if self.foreign:
            return False
        return self.last == 0 or (self.first <= last and first <= self.last)


def parse(source: SourceFile, comment: tuple[str, str] = ("{#", "#}")) -> list[Suppression]:
    """Return the suppressions of one file; ``comment`` are the delimiters of its Jinja comments."""
    if _MARK not in source.text:
        return []
    suffix = source.path.rpartition(".")[2].lower()
    if suffix in ("py", "pyi"):
        found = list(_python(source))
    else:
        found = list(_jinja(source, comment))
        if suffix in ("yaml", "yml", "toml", "prompty"):
            found += _hash(source, yaml=suffix != "toml")
        if suffix in ("hbs", "handlebars", "mustache", "prompt"):
            found += _blocks(source, _HANDLEBARS)
        if suffix not in ("json", "yaml", "yml", "toml"):
            found += _blocks(source, _XML)
    return sorted(found, key=lambda s: s.span)


def _make(body: str, span: Span, same: tuple[int, int], following: tuple[int, int]) -> Suppression | None:
    match = _BODY.match(body)
    if match is None:
        foreign = _FOREIGN.match(body)
        return Suppression(span, *same, (), foreign=foreign[1]) if foreign else None
    codes = tuple(code.strip() for code in (match["codes"] or "").split(",") if code.strip())
    first, last = {"ignore": same, "ignore-next-line": following, "ignore-file": (0, 0)}[match["what"]]
    return Suppression(span, first, last, codes, match["reason"].strip(" \t-:"))


def _jinja(source: SourceFile, comment: tuple[str, str]) -> Iterator[Suppression]:
    start, end = re.escape(comment[0]), re.escape(comment[1])
    yield from _blocks(
        source, re.compile(rf"{start}[-+]?\s*(?P<body>promptlint:.*?)\s*[-+]?{end}", re.DOTALL)
    )


def _blocks(source: SourceFile, pattern: re.Pattern[str]) -> Iterator[Suppression]:
    for match in pattern.finditer(source.text):
        first, last = source.position(match.start())[0], source.position(match.end())[0]
        body = " ".join(match["body"].split())
        if made := _make(body, Span(*match.span()), (first, last), (last + 1, last + 1)):
            yield made


def _hash(source: SourceFile, *, yaml: bool) -> Iterator[Suppression]:
    lines = source.text.split("\n")
    literal = _literal_lines(lines) if yaml else set()
    for match in _HASH.finditer(source.text):
        line = source.position(match.start())[0]
        if line in literal:
            continue  # text of a block scalar, not a comment
        same = (line, _value_end(lines, line, yaml))
        following = (line + 1, _value_end(lines, line + 1, yaml))
        if made := _make(match["body"], Span(*match.span()), same, following):
            yield made


def _literal_lines(lines: list[str]) -> set[int]:
    """Return the 1-based numbers of the lines inside YAML block scalars."""
    inside: set[int] = set()
    indent = -1
    for number, line in enumerate(lines, 1):
        width = len(line) - len(line.lstrip())
        if indent >= 0 and (not line.strip() or width > indent):
            inside.add(number)
            continue
        match = _YAML_BLOCK.match(line)
        indent = len(match["indent"]) if match else -1
    return inside


def _value_end(lines: list[str], line: int, yaml: bool) -> int:
    """Return the last line of the value that begins on a line."""
    if line > len(lines):
        return line
    text = lines[line - 1]
    if yaml:
        indent = len(text) - len(text.lstrip())
        last = line
        for number in range(line + 1, len(lines) + 1):
            other = lines[number - 1]
            if other.strip():
                if len(other) - len(other.lstrip()) <= indent:
                    break
                last = number
        return last
    for quotes in ('"""', "'''"):
        if text.count(quotes) % 2:
            return next((n for n in range(line + 1, len(lines) + 1) if quotes in lines[n - 1]), line)
    return line


def _python(source: SourceFile) -> Iterator[Suppression]:
    try:
        yield from _python_tokens(source)
    except (tokenize.TokenError, SyntaxError):
        # Syntax this interpreter does not know: take every line's tail for a comment.
        yield from _hash(source, yaml=False)


def _python_tokens(source: SourceFile) -> list[Suppression]:
    comments: list[tuple[int, int, str]] = []  # line, column, text
    string_start: dict[int, int] = {}  # last line of a string: its first
    statements: list[tuple[int, int]] = []
    begun, opened = 0, []
    for token in tokenize.generate_tokens(io.StringIO(source.text).readline):
        kind, line = tokenize.tok_name[token.type], token.start[0]
        if kind == "COMMENT":
            comments.append((line, token.start[1], token.string))
            continue
        if kind in ("NL", "INDENT", "DEDENT", "ENDMARKER"):
            continue
        begun = begun or line
        if kind == "NEWLINE":
            statements.append((begun, line))
            begun = 0
        elif kind == "STRING":
            string_start[token.end[0]] = min(line, string_start.get(token.end[0], line))
        elif kind in ("FSTRING_START", "TSTRING_START"):
            opened.append(line)
        elif kind in ("FSTRING_END", "TSTRING_END"):
            first, end = opened.pop(), token.end[0]
            string_start[end] = min(first, string_start.get(end, first))
    found = []
    for line, column, text in comments:
        at = text.find(_MARK)
        opens = _OPENS.search(text[:at]) if at >= 0 else None
        if opens is None:
            continue
        line_start = source.line_starts[line - 1] + column
        start, end = line_start + opens.start(), line_start + len(text)
        same = (string_start.get(line, line), line)
        following = next((s for s in statements if s[0] > line), (line + 1, line + 1))
        if made := _make(text[at:], Span(start, end), same, following):
            found.append(made)
    return found
