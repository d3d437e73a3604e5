"""TOML with places: ``tomllib`` judges the text, a light scan of what it accepted keeps the places."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field

from promptlint.frontends.documents.nodes import (
    MAX_DEPTH,
    DataError,
    DictNode,
    Entry,
    ListNode,
    Node,
    Scalar,
    place_of,
    runs_of,
)
from promptlint.frontends.mapped import MappedText
from promptlint.source import Place, SourceFile, Span

_SPACE = re.compile(r"[ \t]*")
_BLANK = re.compile(r"(?:[ \t\n]+|#[^\n]*)*")
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_VALUE = re.compile(r"[^,\]}#\n]+")
_BRACKETS = re.compile(r"[\[{]+")
_LINE = re.compile(r"\(at line (\d+), column (\d+)\)")
_DEEP_KEY = re.compile(rf"(?:^|[{{,\[])[ \t]*(?:[\w\"'-]+[ \t]*\.[ \t]*){{{MAX_DEPTH}}}", re.MULTILINE)
_CONTINUED = re.compile(r"\\[ \t]*\n[ \t\n]*")
_ESCAPES = {"b": "\b", "t": "\t", "n": "\n", "f": "\f", "r": "\r", '"': '"', "\\": "\\"}


def load(source: SourceFile) -> DictNode:
    """Read a TOML file.

    Raises:
        DataError: the text is not TOML, or nests deeper than `MAX_DEPTH`.
    """
    if deep := _DEEP_KEY.search(source.text):  # the time tomllib takes grows with the square of it
        at = deep.start()
        raise _error(source, f"nested deeper than {MAX_DEPTH}", at)
    try:
        tomllib.loads(source.text)
        return _Reader(source).document()
    except ValueError as error:  # TOMLDecodeError, and what int() says to too many digits
        raise _error(source, str(error)) from None
    except RecursionError:
        raise _error(source, f"nested deeper than {MAX_DEPTH}") from None


def _error(source: SourceFile, why: str, at: int | None = None) -> DataError:
    at = len(source.text) if at is None else at
    if match := _LINE.search(why):
        at = min(source.line_starts[int(match[1]) - 1] + int(match[2]) - 1, at)
        why = why[: match.start()].rstrip()
    return DataError(source, at, f"not TOML: {why}")


@dataclass(slots=True)
class _Table:
    """A table while it grows: its key places and values, tables and arrays of tables among them."""

    place: Place
    values: dict[str, tuple[Place, Node | _Table | list[_Table]]] = field(default_factory=dict)

    def child(self, name: str, key: Place) -> _Table:
        """Return the table under a key (the last one of an array of tables), made when missing."""
        value = self.values.setdefault(name, (key, _Table(key)))[1]
        if isinstance(value, list):
            return value[-1]
        assert isinstance(value, _Table)
        return value

    def frozen(self) -> DictNode:
        entries = []
        for name, (key, value) in self.values.items():
            if isinstance(value, _Table):
                entries.append(Entry(name, key, value.frozen()))
            elif isinstance(value, list):
                items = tuple(table.frozen() for table in value)
                span = Span(items[0].place.span.start, max(item.place.span.end for item in items))
                entries.append(Entry(name, key, ListNode(Place(key.path, span), items)))
            else:
                entries.append(Entry(name, key, value))
        end = max((place_of(entry.value).span.end for entry in entries), default=self.place.span.end)
        start = self.place.span.start
        return DictNode(
            Place(self.place.path, Span(start, max(start, end, self.place.span.end))), tuple(entries)
        )


class _Reader:
    """Scans text that `tomllib` has accepted, so that whatever is not one thing is the other."""

    def __init__(self, source: SourceFile) -> None:
        self.source = source
        self.text = source.text
        self.at = 0

    def skip(self, pattern: re.Pattern[str]) -> None:
        match = pattern.match(self.text, self.at)
        if match:
            self.at = match.end()

    def document(self) -> DictNode:
        root = table = _Table(self.source.place(0, 0))
        self.skip(_BLANK)
        while self.at < len(self.text):
            if self.text[self.at] == "[":
                table = self.header(root)
            else:
                self.pair(table, 0)
            self.skip(_BLANK)
        return root.frozen()

    def header(self, root: _Table) -> _Table:
        """Read ``[a.b]`` or ``[[a.b]]`` and return the table that it opens."""
        start = self.at
        is_array = self.text.startswith("[[", start)
        self.at += 2 if is_array else 1
        keys = self.keys()
        self.at += 2 if is_array else 1
        place = self.source.place(start, self.at)
        table = root
        for name, key in keys[:-1]:
            table = table.child(name, key)
        name, key = keys[-1]
        if not is_array:
            return table.child(name, key)
        tables = table.values.setdefault(name, (key, []))[1]
        assert isinstance(tables, list)
        tables.append(_Table(place))
        return tables[-1]

    def keys(self) -> list[tuple[str, Place]]:
        """Read a dotted key and the blanks behind it."""
        keys: list[tuple[str, Place]] = []
        while True:
            self.skip(_SPACE)
            start = self.at
            if self.text[start] in "\"'":
                name = self.string().text
            else:
                self.skip(_BARE)
                name = self.text[start : self.at]
            keys.append((name, self.source.place(start, self.at)))
            self.skip(_SPACE)
            if not self.text.startswith(".", self.at):
                return keys
            self.at += 1

    def pair(self, table: _Table, depth: int) -> None:
        """Read ``key = value`` into a table."""
        keys = self.keys()
        self.at += 1  # the equals sign
        self.skip(_SPACE)
        for name, key in keys[:-1]:
            table = table.child(name, key)
        name, key = keys[-1]
        table.values[name] = (key, self.value(depth))

    def value(self, depth: int) -> Node:
        if depth > MAX_DEPTH:
            raise _error(self.source, f"nested deeper than {MAX_DEPTH}")
        sign = self.text[self.at]
        if sign in "\"'":
            return self.string()
        if sign == "[":
            return self.array(depth)
        if sign == "{":
            return self.inline(depth)
        match = _VALUE.match(self.text, self.at)
        raw = match.group().rstrip() if match else ""
        start = self.at
        self.at += len(raw)
        found = tomllib.loads(f"value = {raw}")["value"]
        value = found if isinstance(found, bool | int | float) else None
        return Scalar(self.source.place(start, self.at), value, raw)

    def array(self, depth: int) -> ListNode:
        start = self.at
        items: list[Node] = []
        self.at += 1
        self.skip(_BLANK)
        while self.text[self.at] != "]":
            items.append(self.value(depth + 1))
            self.skip(_BLANK)
            if self.text[self.at] == ",":
                self.at += 1
                self.skip(_BLANK)
        self.at += 1
        return ListNode(self.source.place(start, self.at), tuple(items))

    def inline(self, depth: int) -> DictNode:
        start = self.at
        table = _Table(self.source.place(start, start))
        self.at += 1
        self.skip(_BLANK)
        while self.text[self.at] != "}":
            self.pair(table, depth + 1)
            self.skip(_BLANK)
            if self.text[self.at] == ",":
                self.at += 1
                self.skip(_BLANK)
        self.at += 1
        table.place = self.source.place(start, self.at)
        return table.frozen()

    def string(self) -> MappedText:
        quote = self.text[self.at]
        is_long = self.text.startswith(quote * 3, self.at)
        closing = quote * 3 if is_long else quote
        start = self.at + len(closing)
        if is_long and self.text.startswith("\n", start):
            start += 1
        end = self.text.find(closing, start) if quote == "'" else self.end_of_basic(start, closing)
        while is_long and self.text.startswith(quote, end + 3):  # up to two quotes may stand before the end
            end += 1
        self.at = end + len(closing)
        if quote == "'" or self.text.find("\\", start, end) < 0:
            return MappedText(self.source.path, self.text[start:end], ((0, start),), end)
        return self.unescape(start, end)

    def end_of_basic(self, at: int, closing: str) -> int:
        while True:
            end = self.text.find(closing, at)
            slash = self.text.find("\\", at, end)
            if slash < 0:
                return end
            at = slash + 2

    def unescape(self, at: int, end: int) -> MappedText:
        chars: list[str] = []
        offsets: list[int] = []
        start = at
        while at < end:
            char, after = self.text[at], at + 1
            if char == "\\":
                if match := _CONTINUED.match(self.text, at, end):
                    at = match.end()
                    continue
                char, after = self.escape(at)
            chars.append(char)
            offsets.append(at)
            at = after
        return MappedText(self.source.path, "".join(chars), runs_of(offsets, start), end)

    def escape(self, at: int) -> tuple[str, int]:
        sign = self.text[at + 1]
        if sign in "uUx":
            width = {"u": 4, "U": 8, "x": 2}[sign]
            return chr(int(self.text[at + 2 : at + 2 + width], 16)), at + 2 + width
        return ("\x1b" if sign == "e" else _ESCAPES[sign]), at + 2
