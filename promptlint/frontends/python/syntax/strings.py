"""String tokens: decoded text, and where each character stands in the file.

``ast`` gives a string's value but not its pieces: implicit concatenation and escapes move offsets, and
before Python 3.12 nodes inside f-strings have wrong positions. This scanner reads the source again::

    f"Hi {user.name!r:>8}\\n" "bye"
       ~~~ ~~~~~~~~~      ~~   ~~~     literal, hole (expression, conversion, spec), literal …
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from promptlint.frontends.mapped import MappedText

_TOKEN = re.compile(r"([A-Za-z]{0,3})('''|\"\"\"|'|\")")
_GAP = re.compile(r"(?:[\s\\()]|#[^\n]*)*")
_ESCAPE = re.compile(
    r"\\(\n|[0-7]{1,3}|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|N\{[^}]*\}|.)", re.DOTALL
)
_SIMPLE = {
    "n": "\n",
    "t": "\t",
    "r": "\r",
    "\\": "\\",
    "'": "'",
    '"': '"',
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "v": "\v",
    "\n": "",
}
_OPEN, _CLOSE = "([{", ")]}"
_SPECIAL = re.compile(r"[\\{}]")
_IN_FIELD = re.compile(r"[#'\"(\[{)\]}:!=]")
_IN_SPEC = re.compile(r"[{}'\"]")
_LABELLED = re.compile(r"=\s*[!:}]")
_QUOTE = re.compile("'''|\"\"\"|'|\"")
_FORMATTED = re.compile(r"(?<!\w)(?:[fFtT][rR]?|[rR][fFtT])\Z")
_DEEPEST = 150  # f-strings in each other, which no interpreter exceeds
_PLAIN = {quote: re.compile(rf"[^\\{quote}]*+") for quote in "'\""}
_PLAIN_FIELDS = {quote: re.compile(rf"(?:[^\\{quote}{{]++|\{{\{{|\{{[\w.]++\}})*+") for quote in "'\""}
"""What a string and an f-string go through without a closer look; simple fields stand in most."""


@dataclass(frozen=True, slots=True)
class Field:
    """A replacement field of an f-string, as offsets in the file."""

    start: int  # of the expression
    end: int
    conversion: str = ""
    spec: tuple[MappedText | Field, ...] = ()
    outer: tuple[int, int] = (0, 0)  # with the braces
    debug: bool = False  # {x=}
    label_end: int = 0  # of ``x=`` with the space behind it, where `debug` is set


class _Builder:
    """Collects decoded characters and the runs that map them."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.text: list[str] = []
        self.runs: list[tuple[int, int]] = []
        self.length = 0
        self.end = 0

    def add(self, text: str, start: int, end: int) -> None:
        if text:
            self.runs.append((self.length, start))
            self.text.append(text)
            self.length += len(text)
        self.end = end

    def take(self) -> MappedText | None:
        if not self.length:
            return None
        mapped = MappedText(self.path, "".join(self.text), tuple(self.runs), self.end)
        self.text, self.runs, self.length = [], [], 0
        return mapped

    def rest(self) -> list[MappedText | Field]:
        mapped = self.take()
        return [] if mapped is None else [mapped]


def _unescape(match: re.Match[str]) -> str:
    body = match.group(1)
    if body in _SIMPLE:
        return _SIMPLE[body]
    try:
        if body[0] in "xuU":
            return chr(int(body[1:], 16))
        if body[0] == "N" and len(body) > 2:
            return unicodedata.lookup(body[2:-1])
        if body[0] in "01234567":
            return chr(int(body, 8))
    except (KeyError, ValueError, OverflowError):
        pass
    return match.group(0)


def _literal(out: _Builder, source: str, start: int, end: int, raw: bool) -> None:
    """Decode a stretch of literal source."""
    if raw or "\\" not in source[start:end]:
        out.add(source[start:end], start, end)
        return
    at = start
    for match in _ESCAPE.finditer(source, start, end):
        if match.start() > at:
            out.add(source[at : match.start()], at, match.start())
        text = _unescape(match)
        out.add(text, match.start(), match.end())
        at = match.end()
    if at < end:
        out.add(source[at:end], at, end)
    out.end = end


def _expression_end(source: str, start: int, limit: int, depth: int = 0) -> int:
    """Return the offset of the ``!``, ``:``, ``=`` or ``}`` that ends a field's expression."""
    level, at = 0, start
    while found := _IN_FIELD.search(source, at, limit):
        at, char = found.start(), found.group()
        if char in "'\"":
            at = _behind_string(source, at, limit, depth)
            continue
        if char == "#":
            at = source.find("\n", at, limit)
            at = limit if at < 0 else at
            continue
        if level == 0:
            if char in ":}":
                return at
            if char == "!" and source[at + 1 : at + 2] != "=":
                return at
            if char == "=" and _LABELLED.match(source, at, limit) and source[at - 1] not in "=!<>":
                return at
        if char in _OPEN:
            level += 1
        elif char in _CLOSE:
            level -= 1
        at += 1
    return limit


def _behind_string(source: str, at: int, limit: int, depth: int) -> int:
    """Return the offset behind a string within a field; its own fields may hold the same quotes again."""
    match = _QUOTE.match(source, at)
    quote = match.group() if match else source[at]
    prefix = _FORMATTED.search(source, max(0, at - 2), at) if depth < _DEEPEST else None
    raw = prefix is not None and "r" in prefix.group().lower()
    body = at + len(quote)
    return closing_quote(source, body, limit, quote, prefix is not None, raw, depth + 1) + len(quote)


def _fields(
    out: _Builder, source: str, start: int, end: int, raw: bool, depth: int, most: int = 1000
) -> list[MappedText | Field]:
    """Split the inside of an f-string, or of a format spec at any ``depth`` but 0, into literals and fields.

    The literal at its end stays in ``out``: what follows in the source may go on with it.
    """
    pieces: list[MappedText | Field] = []
    at = begin = start
    while len(pieces) <= most and (special := _SPECIAL.search(source, at, end)):
        at, char = special.start(), special.group()
        if char == "\\":
            at = at + 1 if raw else _behind_escape(source, at, end)
            continue
        if char in "{}" and not depth and source[at : at + 2] == char * 2:
            _literal(out, source, begin, at, raw)
            out.add(char, at, at + 2)
            at = begin = at + 2
            continue
        if char == "}" and depth:
            break
        if char == "}":
            at += 1
            continue
        _literal(out, source, begin, at, raw)
        if (done := out.take()) is not None:
            pieces.append(done)
        opened = at
        stop = _expression_end(source, at + 1, end)
        first, at = at + 1, stop
        debug = source[at : at + 1] == "="
        if debug:
            at += 1
            while at < end and source[at].isspace():
                at += 1
        label_end = at if debug else 0
        conversion = ""
        if source[at : at + 1] == "!":
            conversion = source[at + 1 : at + 2]
            at += 2
        spec: list[MappedText | Field] = []
        if source[at : at + 1] == ":" and depth == _DEEPEST:
            at = skip_field(source, first, end) - 1
        elif source[at : at + 1] == ":":
            inner = _Builder(out.path)
            spec = _fields(inner, source, at + 1, end, raw, depth + 1)
            spec += inner.rest()
            at = inner.end
        at = min(at + 1, end)
        pieces.append(Field(first, stop, conversion, tuple(spec), (opened, at), debug, label_end))
        begin = at
    else:
        at = end
    if begin < at:
        _literal(out, source, begin, at, raw)
    out.end = at
    return pieces


def scan(path: str, source: str, start: int, end: int, most: int = 100_000) -> list[MappedText | Field]:
    """Return the pieces of the string expression at ``start..end``: literals and f-string fields.

    Adjacent literals of an implicit concatenation become one piece. Behind ``most`` pieces the rest of an
    f-string is one literal.
    """
    pieces: list[MappedText | Field] = []
    out = _Builder(path)
    at = start
    while at < end:
        gap = _GAP.match(source, at)
        at = gap.end() if gap else at
        token = _TOKEN.match(source, at, end)
        if token is None:
            break
        prefix, quote = token.group(1).lower(), token.group(2)
        body = token.end()
        raw = "r" in prefix
        formatted = "f" in prefix or "t" in prefix
        close = closing_quote(source, body, end, quote, formatted, raw)
        if formatted:
            pieces.extend(_fields(out, source, body, close, raw, 0, most - len(pieces)))
        else:
            _literal(out, source, body, close, raw)
        at = close + len(quote)
    return pieces + out.rest()


def _behind_escape(source: str, at: int, end: int, raw: bool = False) -> int:
    """Return the offset behind a backslash of an f-string and what it escapes: a name, or never a brace."""
    if source.startswith("\\N{", at) and not raw:
        close = source.find("}", at, end)
        return end if close < 0 else close + 1
    return at + (1 if source[at + 1 : at + 2] in ("{", "}") else 2)


def closing_quote(
    source: str, start: int, end: int, quote: str, formatted: bool, raw: bool, depth: int = 0
) -> int:
    """Return the offset of the closing quote."""
    plain = (_PLAIN_FIELDS if formatted else _PLAIN)[quote[0]]
    at = start
    while at < end:
        if match := plain.match(source, at, end):
            at = match.end()
        if at >= end or source.startswith(quote, at):
            break
        if source[at] == "\\":
            at = at + 2 if not formatted else _behind_escape(source, at, end, raw)
        elif source[at] == "{":
            at = skip_field(source, at + 1, end, depth)
        else:
            at += 1
    return min(at, end)


def skip_field(source: str, start: int, end: int, depth: int = 0) -> int:
    """Return the offset behind the brace that closes a field."""
    at = _expression_end(source, start, end, depth)
    while found := _IN_SPEC.search(source, at, end):
        at, char = found.start(), found.group()
        if char == "}":
            return at + 1
        if char != "{":
            return at
        at = skip_field(source, at + 1, end, depth + 1) if depth < _DEEPEST else at + 1
    return end
