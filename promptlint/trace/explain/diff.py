"""The first difference between two requests: where it is, both texts, and what is equal behind it."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import StrEnum

from promptlint.layout import Section
from promptlint.trace.explain.history import Entry, common_prefix, common_suffix
from promptlint.trace.model import Part

_WORD = re.compile(r"[\w.:@/+\-]+|\s+|[^\w\s]")
_GLUE = re.compile(r"[\w.:@/+\-]*\Z")
_LINES = 400
_LINE = 2000
_WORDS = 400  # of a line that are compared one by one
_PIECE = 12  # characters from which on equal text in two lines is no chance
_ABOVE = 3  # lines before the difference that are looked at: the heading of a list
_HEADING = re.compile(r"#+ |[^-*\d].{0,60}:$|<\w+>$")
_READ = 8000  # characters before a difference in which the heading of its block is looked for


class Shape(StrEnum):
    """How the sequence of parts changed."""

    EDITED = "edited"  # one part has another text
    INSERTED = "inserted"  # new parts stand before old ones
    REMOVED = "removed"  # old parts are gone
    REPLACED = "replaced"  # other parts stand there
    SHORTER = "shorter"  # the request is a beginning of the earlier one


@dataclass(frozen=True, slots=True)
class Difference:
    """The first difference of a request against an earlier one.

    ``part`` is the index of the part, ``char`` the offset in its text, ``byte`` the offset in the
    UTF-8 text of the whole prompt, ``token`` the position in tokens (rounded where interpolated).
    ``old`` and ``new`` are the differing texts, ``before`` what stands before them on their line.
    ``behind`` counts tokens that both requests have behind the difference.
    """

    shape: Shape
    part: int
    char: int
    byte: int
    token: int
    old: str
    new: str
    before: str
    after: str
    old_part: Part | None
    new_part: Part | None
    behind: int

    def heading(self, *, near: bool = False) -> str:
        """Return the last line before the change that announces a block; ``near`` if no blank line stands between.

        Of what the block holds, any of the first lines may be as they were.
        """
        part = self.old_part
        lines = part.text[max(0, self.char - _READ) : self.char].splitlines() if part is not None else []
        for line in reversed(lines):
            if _HEADING.match(line.strip()):
                return line.strip()
            if near and not line.strip():
                break
        return ""

    @property
    def section(self) -> Section:
        """Return the section in which the difference stands."""
        part = self.new_part or self.old_part
        return part.section if part else Section.MESSAGES


@dataclass(frozen=True, slots=True)
class Spot:
    """Where two requests part: cheap to find, so that most requests need no closer look."""

    shape: Shape
    part: int
    char: int
    token: float
    scale: float  # tokens a character of the newer part


def locate(old: Entry, new: Entry) -> Spot | None:
    """Return where a request leaves an earlier one, or None if it only appends to it."""
    at = old.shared(new)
    if at == len(old.chain):
        return None
    was, now = old.request.parts, new.request.parts
    if at == len(was) - 1 and at < len(now) and _continues(was[at], now[at]):
        return None
    shape, char, scale = _shape(old, new, at), 0, 0.0
    if at < len(now) and now[at].text:
        scale = (new.borders[at + 1] - new.borders[at]) / len(now[at].text)
        char = common_prefix(was[at].text, now[at].text) if shape is Shape.EDITED else 0
    return Spot(shape, at, char, new.borders[min(at, len(new.borders) - 1)] + char * scale, scale)


def difference(old: Entry, new: Entry, spot: Spot) -> Difference:
    """Return everything about the difference at a spot."""
    was, now, at, char = old.request.parts, new.request.parts, spot.part, spot.char
    a, b = was[at], now[at] if at < len(now) else None
    old_text, new_text, before, after = a.text, b.text if b else "", "", ""
    if b and spot.shape is Shape.EDITED:
        old_text, new_text, before, after = _spans(a.text, b.text, char)
    byte = sum(len(part.text.encode("utf-8", "replace")) for part in now[:at])
    byte += len(b.text[:char].encode("utf-8", "replace")) if b else 0
    behind = _behind(old, new, at, char, spot.shape, spot.scale)
    return Difference(
        spot.shape, at, char, byte, round(spot.token), old_text, new_text, before, after, a, b, round(behind)
    )


def _continues(a: Part, b: Part) -> bool:
    """Tell whether a part is another one with more text at its end: a bare prompt that grows."""
    return (a.section, a.role, a.kind) == (b.section, b.role, b.kind) and b.text.startswith(a.text)


def agreed_tokens(old: Entry, new: Entry, spot: Spot | None) -> float:
    """Return the tokens in which two requests agree from their beginning on."""
    if spot is not None:
        return spot.token
    at = old.shared(new)
    if at == len(old.chain):
        return new.borders[at]
    size = len(new.request.parts[at].text) or 1
    share = len(old.request.parts[at].text) / size
    return new.borders[at] + share * (new.borders[at + 1] - new.borders[at])


def _shape(old: Entry, new: Entry, at: int) -> Shape:
    was, now = old.request.parts, new.request.parts
    if at >= len(now):
        return Shape.SHORTER
    a, b = was[at], now[at]
    if any(part.digest == b.digest for part in was[at + 1 :]) and b.section is a.section:
        # What stands here now stood further on. A swap of two parts counts as an edit of order.
        return Shape.REPLACED if any(part.digest == a.digest for part in now[at + 1 :]) else Shape.REMOVED
    if any(part.digest == a.digest for part in now[at + 1 :]):
        return Shape.INSERTED
    if (a.section, a.role, a.kind) == (b.section, b.role, b.kind):
        return Shape.EDITED
    return Shape.REPLACED


def _spans(a: str, b: str, char: int) -> tuple[str, str, str, str]:
    """Return both differing texts, and the text around them; they agree up to ``char``."""
    line = char
    for _ in range(_ABOVE):
        line = max(0, a.rfind("\n", 0, max(0, line - 1)) + 1)
    old_lines, new_lines = _cut(a[line:]), _cut(b[line:])
    matcher = SequenceMatcher(None, old_lines, new_lines, autojunk=False)
    changes = [code for code in matcher.get_opcodes() if code[0] != "equal"]
    if changes:
        _, i1, i2, j1, j2 = changes[0]
        for _, a1, a2, b1, b2 in changes[1:]:
            if a1 > i2 + 1 or b1 > j2 + 1:
                break
            i2, j2 = a2, b2  # with one equal line between them they are one block
        if i2 - i1 == 1 and j2 - j1 == 1:
            old, new, before, after = first_words(old_lines[i1], new_lines[j1])
            return old, new, "".join(old_lines[:i1]) + before, after
        before = "".join(old_lines[:i1])
        after = "".join(old_lines[i2 : i2 + 1])
        return "".join(old_lines[i1:i2]), "".join(new_lines[j1:j2]), before, after
    return a[char : char + 200], b[char : char + 200], a[line:char], ""


def _cut(text: str) -> list[str]:
    return text[: _LINES * _LINE].splitlines(keepends=True)[:_LINES]


def first_words(a: str, b: str, between: int = 3) -> tuple[str, str, str, str]:
    """Return the first differing words of two texts, with what stands before and behind them.

    Differences with no more than ``between`` equal words between them belong together.
    """
    left, right = _WORD.findall(a), _WORD.findall(b)
    codes = _opcodes(left, right)
    first = next((n for n, code in enumerate(codes) if code[0] != "equal"), None)
    if first is None:
        return a, b, "", ""
    last = first
    for n in range(first + 1, len(codes)):
        tag, i1, i2, _, _ = codes[n]
        if tag != "equal":
            last = n
        elif len([word for word in left[i1:i2] if not word.isspace()]) > between:
            break
    _, i1, _, j1, _ = codes[first]
    _, _, i2, _, j2 = codes[last]
    old, new, before = "".join(left[i1:i2]), "".join(right[j1:j2]), "".join(left[:i1])
    return old, new, before, "".join(left[i2:])


def _opcodes(left: list[str], right: list[str]) -> list[tuple[str, int, int, int, int]]:
    """Compare two lists of words; of a long line, what stands around its last change is not looked at."""
    end = 0
    if max(len(left), len(right)) > _WORDS:
        while end < min(len(left), len(right)) and left[-1 - end] == right[-1 - end]:
            end += 1
    a, b = left[: len(left) - end][:_WORDS], right[: len(right) - end][:_WORDS]
    codes = SequenceMatcher(None, a, b, autojunk=False).get_opcodes()
    if len(a) < len(left) or len(b) < len(right):
        codes.append(
            (
                "equal" if left[len(a) :] == right[len(b) :] else "replace",
                len(a),
                len(left),
                len(b),
                len(right),
            )
        )
    return codes  # type: ignore[return-value]


def _behind(old: Entry, new: Entry, at: int, char: int, shape: Shape, scale: float) -> float:
    """Return the tokens that stand behind the difference in both requests."""
    was, now = old.request.parts, new.request.parts
    inside = 0.0
    rest = at
    if shape is Shape.EDITED:
        inside = _shared_lines(was[at].text[char:], now[at].text[char:]) * scale
        rest = at + 1
    left = Counter(part.digest for part in was[rest:])
    tokens = 0.0
    for index in range(rest, len(now)):
        digest = now[index].digest
        if left[digest] > 0:
            left[digest] -= 1
            tokens += new.borders[index + 1] - new.borders[index]
        elif index - at < len(was) - at and was[index].kind == "tool" == now[index].kind:
            size = new.borders[index + 1] - new.borders[index]
            tokens += size * SequenceMatcher(None, was[index].text, now[index].text, autojunk=False).ratio()
    return inside + tokens


def _shared_lines(a: str, b: str) -> int:
    """Return the characters of ``b`` in lines that ``a`` has as well, and at its end."""
    mine = Counter(a.splitlines(keepends=True)[1:])
    shared = 0
    lines = b.splitlines(keepends=True)
    for line in lines[1:]:
        if mine[line] > 0:
            mine[line] -= 1
            shared += len(line)
    if lines and a.splitlines(keepends=True):
        shared += _shared_in_line(a.splitlines(keepends=True)[0], lines[0])
    return shared


def _shared_in_line(a: str, b: str) -> int:
    """Return the characters that two lines share: their common end, and longer pieces near their beginning."""
    end = common_suffix(a, b)
    a, b = a[: len(a) - end][:_LINE], b[: len(b) - end][:_LINE]
    blocks = SequenceMatcher(None, a, b, autojunk=False).get_matching_blocks()
    return (end if end >= _PIECE else 0) + sum(block.size for block in blocks if block.size >= _PIECE)
