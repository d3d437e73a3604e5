"""Mustache, Handlebars and Go templates, with the helpers of dotprompt and Semantic Kernel's ``$names``.

::

    {{#if premium}}      a block: everything inside gets a guard
    Hi {{ user.name }},  a hole
    {{else}}             the other branch of the same guard
    {{! note }}          nothing
    {{/if}}
    {{role "user"}}      the role of what follows
    {{- if .x }}…{{ end }}   a block as Go writes it
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from promptlint.frontends.base import MAX_PIECES
from promptlint.frontends.mapped import MappedText
from promptlint.layout import LITERAL, Guard, Origin, OriginKind, Section, Segment

_TAG = re.compile(r"\{\{\{([^{}]*)\}\}\}|\{\{([^{}]*)\}\}")
_WORD = re.compile(r"\w+=|\"[^\"\n]*\"|'[^'\n]*'|[^\s()=\"']+|[()]")
_PATH = re.compile(r"(?:@|\$|\.\./|\.)*[^\W\d][\w.\-/\[\]$@]*|\.")
_VALUE = re.compile(r"\w+=|\"[^\"\n]*\"|'[^'\n]*'|-?\d[\d.]*|[()]|\|\w+\|?|\w+\|")
_LOOPS = frozenset({"each", "for", "foreach", "range"})
_GO_BLOCKS = frozenset({"if", "range", "with"})
_CONDITIONS = frozenset({"if", "unless", "with"})


@dataclass(frozen=True, slots=True)
class _Tag:
    """One ``{{…}}``. ``sigil`` is its first mark (``#``, ``/``, …) or "" for a value."""

    start: int
    end: int
    sigil: str
    body: str
    trim_left: bool = False
    trim_right: bool = False

    @property
    def is_alone(self) -> bool:
        """Tell whether the tag takes its whole line away when nothing else stands there."""
        return self.sigil in ("#", "^", "/", "!", "=", ">") or self.body.split(" ", 1)[0] == "else"


def segments(text: MappedText) -> tuple[Segment, ...]:
    """Cut a Mustache or Handlebars text into literal segments and holes, with guards and roles.

    Behind `MAX_PIECES` the rest is left out.
    """
    reader = _Reader(text)
    at = 0
    for tag in _tags(text.text):
        if len(reader.result) > MAX_PIECES:
            return tuple(reader.result)
        first, last = _extent(text.text, tag, at)
        reader.add(at, first)
        reader.take(tag)
        at = last
    reader.add(at, len(text.text))
    return tuple(reader.result)


def _tags(text: str) -> Iterator[_Tag]:
    at = 0
    last_comment = text.rfind("--}}")
    while (at := text.find("{{", at)) >= 0:
        if text.startswith(("{{!--", "{{~!--"), at) and at < last_comment:
            end = text.find("--}}", at) + 4
            yield _Tag(at, end, "!", "")
            at = end
        elif (match := _TAG.match(text, at)) and (tag := _parse(match)):
            yield tag
            at = match.end()
        else:
            at += 1


def _parse(match: re.Match[str]) -> _Tag | None:
    """Return the tag of a match, or None where the braces hold something else (JSON, prose)."""
    start, end = match.span()
    body = match[1] if match[2] is None else match[2]
    left, right = body.startswith(("~", "- ")), body.endswith(("~", " -"))
    body = body.strip("~").removeprefix("- ").removesuffix(" -").strip()
    sigil = ""
    if len(body) > 2 and body[0] == body[-1] == "#":  # Dify: {{#node.variable#}}
        return _Tag(start, end, "", body, left, right)
    if match[1] is None and body[:1] in ("#", "^", "/", "!", "=", ">", "&"):
        sigil, body = body[0], body[1:].strip()
    if sigil in ("!", "="):
        return _Tag(start, end, sigil, body, left, right)
    words = _WORD.findall(body)
    if "".join(words) != "".join(body.split()) and '"' not in body and "'" not in body:
        return None
    if not words and sigil != "^":
        return None
    if words and not (_PATH.fullmatch(words[0]) or (sigil == ">" and words[0] == "(")):
        return None
    if not all(_PATH.fullmatch(word) or _VALUE.fullmatch(word) for word in words[1:]):
        return None
    return _Tag(start, end, "" if sigil == "&" else sigil, body, left, right)


def _extent(text: str, tag: _Tag, floor: int) -> tuple[int, int]:
    """Return what a tag takes out of the text: itself, trimmed whitespace, or its whole line."""
    first, last = tag.start, tag.end
    if tag.trim_left:
        while first > floor and text[first - 1].isspace():
            first -= 1
    if tag.trim_right:
        while last < len(text) and text[last].isspace():
            last += 1
    if not tag.is_alone or tag.trim_left or tag.trim_right:
        return first, last
    while first > floor and text[first - 1] in " \t":
        first -= 1
    while last < len(text) and text[last] in " \t":
        last += 1
    opens_line = first == 0 or text[first - 1] == "\n"
    if opens_line and last == len(text):
        return first, last
    if opens_line and text[last] == "\n":
        return first, last + 1
    return tag.start, tag.end


@dataclass(slots=True)
class _Reader:
    """What is known at a place: the open blocks, the role in force, the pieces so far."""

    text: MappedText
    result: list[Segment] = field(default_factory=list)
    blocks: list[Guard | None] = field(default_factory=list)  # None: a block that sets a role
    role: str = ""
    message: int = 0
    counts: dict[Section, int] = field(default_factory=dict)

    @property
    def section(self) -> Section:
        return Section.SYSTEM if self.role == "system" else Section.MESSAGES

    def add(self, start: int, end: int, origin: Origin = LITERAL) -> None:
        """Append a hole, or the literal text of a range that is not empty."""
        if start >= end:
            return
        self.counts.setdefault(self.section, 1)
        self.result.append(
            Segment(
                self.text.place(start, end),
                self.text.text[start:end] if origin is LITERAL else None,
                origin,
                self.section,
                self.role,
                self.message,
                guards=tuple(guard for guard in self.blocks if guard),
            )
        )

    def take(self, tag: _Tag) -> None:
        """Apply one tag."""
        words = _WORD.findall(tag.body.strip("#"))
        is_go_block = tag.sigil == "" and len(words) > 1 and words[0] in _GO_BLOCKS
        if tag.sigil == "#" or (tag.sigil == "^" and words) or is_go_block:
            self._open(tag, words)
        elif tag.sigil == "/" or (words == ["end"] and self.blocks):
            if self.blocks and self.blocks.pop() is None:
                self.role = ""
        elif tag.sigil == "^" or words[:1] == ["else"]:
            self._other_branch(tag, words[1:])
        elif tag.sigil == ">":
            name = words[0].strip("\"'")
            self.add(tag.start, tag.end, Origin(OriginKind.INCLUDE, tag.body, name))
        elif words[:1] == ["role"] and len(words) == 2:
            self._speak(words[1].strip("\"'"))
        elif tag.sigil == "":
            self.add(tag.start, tag.end, self._hole(tag.body, words))

    def _open(self, tag: _Tag, words: list[str]) -> None:
        helper, rest = words[0], words[1:]
        if helper == "message" and "role=" in rest[:-1]:
            self.blocks.append(None)
            self._speak(rest[rest.index("role=") + 1].strip("\"'"))
            return
        kind = "for" if helper in _LOOPS else "if"
        names = rest if helper in _LOOPS or helper in _CONDITIONS else rest or words
        expression = tag.body.removeprefix("if ").removeprefix("each ").removeprefix("range ")
        if tag.sigil == "^":
            expression = f"not {expression}"
        place = self.text.place(tag.start, tag.end)
        self.blocks.append(Guard(kind, expression, place, name=_first_name(names)))

    def _other_branch(self, tag: _Tag, condition: list[str]) -> None:
        guard = self.blocks[-1] if self.blocks else None
        if guard is None:
            return
        guard = replace(guard, branch=guard.branch + 1)
        if condition:
            place = self.text.place(tag.start, tag.end)
            names = condition[1:] or condition
            guard = replace(guard, expression=" ".join(names), place=place, name=_first_name(names))
        self.blocks[-1] = guard

    def _speak(self, role: str) -> None:
        self.role = role
        self.message = self.counts.get(self.section, 0)
        self.counts[self.section] = self.message + 1

    def _hole(self, expression: str, words: list[str]) -> Origin:
        if len(words) == 1:
            return Origin(OriginKind.VARIABLE, expression, self._of_loop(_bare(words[0])))
        if len(words) > 3 and all(word.isalpha() for word in words):
            return Origin(OriginKind.VARIABLE, expression, expression)  # words, not a helper with arguments
        if name := _first_name(words[1:]):
            return Origin(OriginKind.VARIABLE, expression, self._of_loop(name))
        return Origin(OriginKind.CALL, expression, _bare(words[0]))

    def _of_loop(self, name: str) -> str:
        """Name the collection where the text says only ``this``."""
        if name not in (".", "this") and not name.startswith("this."):
            return name
        loops = [guard.name for guard in self.blocks if guard and guard.name]
        return loops[-1] + name.removeprefix(".").removeprefix("this") if loops else name


def _first_name(words: list[str]) -> str:
    """Return the first path among the words of a tag, without keywords and literals."""
    return next((_bare(word) for word in words if _PATH.fullmatch(word)), "")


def _bare(path: str) -> str:
    """Strip what only says where to look: ``$x``, ``@root.x``, ``../x``."""
    if path == ".":
        return path
    return path.replace("../", "").lstrip("@$.").removeprefix("root.")
