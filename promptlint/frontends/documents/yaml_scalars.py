"""From a YAML scalar's value back to the characters of the file, for each of the five styles.

The parser says where a scalar begins and what it means; how each character got there is worked out
here and checked against that value. Where the two disagree (line separators other than ``\\n``) the
value is aligned character by character, so that a place may be a little off but never missing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from promptlint.frontends.documents.nodes import runs_of
from promptlint.frontends.mapped import MappedText
from promptlint.source import SourceFile

_HEADER = re.compile(r"[|>](?:[-+]?(\d)?|(\d)[-+]?)[ \t]*(?:#[^\n]*)?(?:\n|\Z)")
_FIRST_LINE = re.compile(r"(?: *\n)*( *)")
_ESCAPES = {
    "0": "\0",
    "a": "\a",
    "b": "\b",
    "t": "\t",
    "\t": "\t",
    "n": "\n",
    "v": "\v",
    "f": "\f",
    "r": "\r",
    "e": "\x1b",
    "N": "\x85",
    "_": "\xa0",
    "L": "\u2028",
    "P": "\u2029",
}
_HEX = {"x": 2, "u": 4, "U": 8}
_MAX_ALIGNED = 200_000

# A character of the value, and the offset in the file that it comes from.
_Pairs = Iterator[tuple[str, int]]


def mapped(source: SourceFile, start: int, end: int, value: str, style: str) -> MappedText:
    """Map a scalar that begins at ``start``; ``style`` is ``|``, ``>``, a quote, or "" for plain."""
    text = source.text
    if style in ("|", ">"):
        return _from_block(source, start, value, style)
    inner = start + len(style)
    closing = end - len(style)
    if text.startswith(value, inner) and (not style or inner + len(value) == closing):
        return MappedText(source.path, value, ((0, inner),), inner + len(value))
    scan = {"'": _single, '"': _double}.get(style, _plain)
    pairs = list(scan(text, inner, closing))
    if "".join(char for char, _ in pairs) != value:
        return _aligned(source, inner, closing, value)
    return MappedText(source.path, value, runs_of([at for _, at in pairs], inner), closing)


def _fold(text: str, at: int, end: int) -> tuple[list[tuple[str, int]], int]:
    """Read a line break with the blanks and empty lines around it; one break means a space."""
    breaks: list[int] = []
    while at < end and text[at] in " \t\n":
        if text[at] == "\n":
            breaks.append(at)
        at += 1
    if len(breaks) == 1:
        return [(" ", breaks[0])], at
    return [("\n", offset) for offset in breaks[1:]], at


def _ends_line(text: str, at: int, end: int) -> bool:
    """Tell whether only blanks stand between here and the end of the line."""
    while at < end and text[at] in " \t":
        at += 1
    return at < end and text[at] == "\n"


def _plain(text: str, at: int, end: int) -> _Pairs:
    while at < end:
        if text[at] in " \t\n" and _ends_line(text, at, end):
            folded, at = _fold(text, at, end)
            yield from folded
        else:
            yield text[at], at
            at += 1


def _single(text: str, at: int, end: int) -> _Pairs:
    while at < end:
        if text.startswith("''", at):
            yield "'", at
            at += 2
        elif text[at] in " \t\n" and _ends_line(text, at, end):
            folded, at = _fold(text, at, end)
            yield from folded
        else:
            yield text[at], at
            at += 1


def _double(text: str, at: int, end: int) -> _Pairs:
    while at < end:
        if text[at] == "\\":
            char, after = _escape(text, at, end)
            if char:
                yield char, at
            at = after
        elif text[at] in " \t\n" and _ends_line(text, at, end):
            folded, at = _fold(text, at, end)
            yield from folded
        else:
            yield text[at], at
            at += 1


def _escape(text: str, at: int, end: int) -> tuple[str, int]:
    """Return what a backslash stands for, and the offset behind it; nothing for an escaped break."""
    sign = text[at + 1 : at + 2]
    if sign in _HEX and sign:
        digits = text[at + 2 : at + 2 + _HEX[sign]]
        return chr(int(digits, 16)), at + 2 + _HEX[sign]
    if sign == "\n":
        after = at + 2
        breaks = ""
        while after < end and text[after] in " \t\n":
            breaks += "\n" if text[after] == "\n" else ""
            after += 1
        return breaks, after
    return _ESCAPES.get(sign, sign), at + 2


def _from_block(source: SourceFile, start: int, value: str, style: str) -> MappedText:
    header = _HEADER.match(source.text, start)
    if header is not None:
        for indentation in _indentations(source.text, header):
            offsets = _block_offsets(source.text, header.end(), indentation, value, style)
            if offsets is not None:
                end = offsets[-1] + 1 if offsets else header.end()
                return MappedText(
                    source.path, value, runs_of(offsets, header.end()), min(end, len(source.text))
                )
    return _aligned(source, start, len(source.text), value)


def _indentations(text: str, header: re.Match[str]) -> Iterator[int]:
    """Yield the possible indentations of a block, the likeliest first.

    That of its first line; fewer if the header names one; more if no line belongs to it.
    """
    first = _FIRST_LINE.match(text, header.end())
    spaces = len(first[1]) if first else 0
    yield spaces
    if header[1] or header[2]:
        yield from range(spaces - 1, -1, -1)
    yield spaces + 1


def _block_offsets(text: str, at: int, indentation: int, value: str, style: str) -> list[int] | None:
    """Return the file offset of each character of a block scalar, or None if the value does not fit.

    Each line gives its text behind the indentation. Between two lines stand the breaks of the first
    and of the empty lines behind it; a folded block drops one of them, or makes it a space.
    """
    offsets: list[int] = []
    breaks: list[int] = []
    first, was_deeper = True, True
    margin = " " * indentation
    while at < len(text) and len(offsets) < len(value):
        stop = text.find("\n", at)
        stop = len(text) if stop < 0 else stop
        line = text[at:stop]
        if len(line) <= indentation and not line.strip(" "):
            breaks.append(stop)
        elif not line.startswith(margin):
            break
        else:
            is_deeper = line[indentation] in " \t"
            if style == ">" and not first and not was_deeper and not is_deeper:
                offsets += breaks[:1] if len(breaks) == 1 else breaks[1:]
            else:
                offsets += breaks
            offsets += range(at + indentation, stop)
            breaks, first, was_deeper = [stop], False, is_deeper
        at = stop + 1
    offsets += breaks[: max(0, len(value) - len(offsets))]
    return offsets if len(offsets) == len(value) and _fits(text, offsets, value) else None


def _fits(text: str, offsets: list[int], value: str) -> bool:
    """Tell whether each character is the one in the file; breaks may have become spaces."""
    return all(
        text[at] == char or (text[at] == "\n" and char == " ") if at < len(text) else char == "\n"
        for at, char in zip(offsets, value, strict=True)
    )


def _aligned(source: SourceFile, start: int, end: int, value: str) -> MappedText:
    """Align value and file greedily: the same characters in the same order, blanks where they fall."""
    end = max(start, end)
    if len(value) > _MAX_ALIGNED:
        return MappedText(source.path, value, ((0, start),), end)
    offsets: list[int] = []
    at = start
    for char in value:
        if not char.isspace() and (found := source.text.find(char, at, min(end, at + 1000))) >= 0:
            at = found
        offsets.append(min(at, max(start, end - 1)))
        at = min(at + 1, end)
    return MappedText(source.path, value, runs_of(offsets, start), end)
