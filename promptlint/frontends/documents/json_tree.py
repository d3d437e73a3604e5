"""JSON with places. Comments, trailing commas and a byte order mark are taken as configs have them."""

from __future__ import annotations

import math
import re

from promptlint.frontends.documents.nodes import MAX_DEPTH, DataError, DictNode, Entry, ListNode, Node, Scalar
from promptlint.frontends.mapped import MappedText
from promptlint.source import SourceFile

_SPACE = re.compile(r"(?:[ \t\n\r\f]+|//[^\n]*|/\*(?s:.*?)\*/)*")
_STRING = re.compile(r'"[^"\\\n]*(?:\\.[^"\\\n]*)*"')
_ESCAPE = re.compile(
    r"\\(?:u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|([\"\\/bfnrt]))"
)
_LITERAL = re.compile(
    r"true|false|null|NaN|-?Infinity|-?(?:0|[1-9]\d*)(?P<float>(?:\.\d+)?(?:[eE][-+]?\d+)?)", re.ASCII
)
_WORDS = {
    "true": True,
    "false": False,
    "null": None,
    "NaN": math.nan,
    "Infinity": math.inf,
    "-Infinity": -math.inf,
}
_SIGNS = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_MAX_DIGITS = 4000


def load(source: SourceFile) -> Node:
    """Read one JSON value.

    Raises:
        DataError: the text is not JSON, or is nested deeper than `MAX_DEPTH`.
    """
    reader = _Reader(source)
    node, at = reader.value(reader.space(0), 0)
    if (at := reader.space(at)) < len(source.text):
        raise reader.error(at, "more text behind the value")
    return node


class _Reader:
    def __init__(self, source: SourceFile) -> None:
        self.source = source
        self.text = source.text

    def error(self, at: int, why: str) -> DataError:
        return DataError(self.source, at, f"not JSON: {why}")

    def space(self, at: int) -> int:
        match = _SPACE.match(self.text, at)
        return match.end() if match else at

    def value(self, at: int, depth: int) -> tuple[Node, int]:
        """Read the value at ``at``; return it with the offset behind it."""
        if depth > MAX_DEPTH:
            raise self.error(at, f"nested deeper than {MAX_DEPTH}")
        sign = self.text[at : at + 1]
        if sign == '"':
            return self.string(at)
        if sign == "{":
            return self.mapping(at, depth)
        if sign == "[":
            return self.sequence(at, depth)
        return self.scalar(at)

    def mapping(self, start: int, depth: int) -> tuple[Node, int]:
        entries: list[Entry] = []
        at = self.space(start + 1)
        while not self.text.startswith("}", at):
            if not self.text.startswith('"', at):
                raise self.error(at, "a key in double quotes is missing")
            key, after = self.string(at)
            colon = self.space(after)
            if not self.text.startswith(":", colon):
                raise self.error(colon, "a colon is missing")
            value, behind = self.value(self.space(colon + 1), depth + 1)
            entries.append(Entry(key.text, self.source.place(at, after), value))
            at = self.comma(behind, "}")
        return DictNode(self.source.place(start, at + 1), tuple(entries)), at + 1

    def sequence(self, start: int, depth: int) -> tuple[Node, int]:
        items: list[Node] = []
        at = self.space(start + 1)
        while not self.text.startswith("]", at):
            item, behind = self.value(at, depth + 1)
            items.append(item)
            at = self.comma(behind, "]")
        return ListNode(self.source.place(start, at + 1), tuple(items)), at + 1

    def comma(self, at: int, closing: str) -> int:
        at = self.space(at)
        if self.text.startswith(",", at):
            return self.space(at + 1)
        if not self.text.startswith(closing, at):
            raise self.error(at, f"a comma or {closing} is missing")
        return at

    def string(self, at: int) -> tuple[MappedText, int]:
        match = _STRING.match(self.text, at)
        if match is None:
            raise self.error(at, "the string does not end on its line")
        start, end = at + 1, match.end() - 1
        body = self.text[start:end]
        if "\\" not in body:
            return MappedText(self.source.path, body, ((0, start),), end), end + 1
        return self.unescape(start, end), end + 1

    def unescape(self, start: int, end: int) -> MappedText:
        parts: list[str] = []
        runs: list[tuple[int, int]] = [(0, start)]
        length, at = 0, start
        while (escape := self.text.find("\\", at, end)) >= 0:
            match = _ESCAPE.match(self.text, escape, end)
            if match is None:
                raise self.error(escape, "unknown escape")
            parts += (self.text[at:escape], _decoded(match))
            length += escape - at
            runs += ((length, escape), (length + 1, match.end()))
            length, at = length + 1, match.end()
        parts.append(self.text[at:end])
        return MappedText(self.source.path, "".join(parts), merged(runs), end)

    def scalar(self, at: int) -> tuple[Scalar, int]:
        match = _LITERAL.match(self.text, at)
        if match is None:
            raise self.error(at, "a value is missing")
        raw = match.group()
        value: bool | int | float | None
        if raw in _WORDS:
            value = _WORDS[raw]
        elif match["float"] or len(raw) > _MAX_DIGITS:
            value = float(raw)
        else:
            value = int(raw)
        return Scalar(self.source.place(at, match.end()), value, raw), match.end()


def _decoded(match: re.Match[str]) -> str:
    high, low, single, sign = match.groups()
    if sign:
        return _SIGNS[sign]
    if high:
        return chr(0x10000 + ((int(high, 16) - 0xD800) << 10) + int(low, 16) - 0xDC00)
    code = int(single, 16)
    # Half a surrogate pair is no character, and no tokenizer or terminal takes it.
    return "�" if 0xD800 <= code <= 0xDFFF else chr(code)


def merged(runs: list[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Leave out the runs that begin where the one before would have led anyway, or that are empty."""
    result: list[tuple[int, int]] = []
    for run in runs:
        if result and result[-1][0] == run[0]:
            result.pop()
        if result and run[1] - result[-1][1] == run[0] - result[-1][0]:
            continue
        result.append(run)
    return tuple(result)
