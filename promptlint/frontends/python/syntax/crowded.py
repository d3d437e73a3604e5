"""F-strings with thousands of fields, made cheap to parse without moving anything.

Before 3.12 the parser goes through the whole literal again for each of its fields. Where that would
take longer than `_BUDGET` characters, the braces behind are overwritten::

    f"{a} {b} … {y} {z}"        f"{a} {b} … _y_ _z_"

No text is lost: pieces of strings are read from the source itself (`strings.scan`), the tree only
tells where the string stands.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from promptlint.frontends.python.syntax.strings import closing_quote, skip_field

_WORTH_LOOKING = 1000  # opening braces in a file, below which no literal can be expensive
_BUDGET = 100_000_000  # characters that the parser may go through again, about a tenth of a second
_TOKEN = re.compile(r"#[^\n]*|([A-Za-z]{0,3})('''|\"\"\"|'|\")")
_BRACE = re.compile(r"\\N\{[^}]*\}|[{}]")


def thinned(text: str) -> str:
    """Return a text of equal length in which no f-string is expensive to parse."""
    if text.count("{") < _WORTH_LOOKING:
        return text
    parts: list[str] = []
    at = 0
    for start, end in _expensive(text):
        parts += (text[at:start], _BRACE.sub(_overwritten, text[start:end]))
        at = end
    return "".join((*parts, text[at:])) if parts else text


def _overwritten(match: re.Match[str]) -> str:
    return "_" if match.group() in "{}" else match.group()


def _expensive(text: str) -> Iterator[tuple[int, int]]:
    """Yield the tails of f-strings behind the budget."""
    at = 0
    while token := _TOKEN.search(text, at):
        at = token.end()
        if token.group(2) is None:
            continue
        prefix, quote = token.group(1).lower(), token.group(2)
        formatted, raw = "f" in prefix or "t" in prefix, "r" in prefix
        close = closing_quote(text, at, len(text), quote, formatted, raw)
        if formatted and (tail := _tail(text, at, close)) < close:
            yield tail, close
        at = close + len(quote)


def _tail(text: str, start: int, end: int) -> int:
    """Return where the fields of a literal have used up the budget; ``end`` if they do not."""
    at, left = start, _BUDGET
    while (at := text.find("{", at, end)) >= 0:
        if text.startswith("{{", at):
            at += 2
            continue
        left -= at - start
        if left < 0:
            return at
        at = skip_field(text, at + 1, end)
    return end
