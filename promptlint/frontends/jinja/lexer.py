"""Jinja's own lexer, with the character offset of every token.

Jinja keeps only line numbers, and its lexer drops the whitespace that ``-`` and ``lstrip_blocks``
remove. Nothing else is dropped, so walking along the raw text finds every token again::

    raw      Hi   {%- if x %}…       tokens   "Hi"  "{%-" " " "if" …
    offset   0    5                           0      5    (three blanks skipped)
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from jinja2 import Environment, TemplateSyntaxError
from jinja2.lexer import Token, TokenStream

from promptlint.frontends.base import Delimiters

_SPACE = re.compile(r"\s*")
_BEGINS = ("variable_begin", "block_begin", "comment_begin", "raw_begin", "linestatement_begin")
_ENDS = ("variable_end", "block_end", "comment_end", "raw_end", "linestatement_end")

MAX_TAGS = 20_000
MAX_TOKENS = 200_000

#: dialect → (trim_blocks, lstrip_blocks). ``chat`` is what `transformers` sets for chat templates.
DIALECTS = {"jinja": (False, False), "trimmed": (True, True), "chat": (True, True)}


class JinjaError(Exception):
    """A template that cannot be parsed: what is wrong, and at which offset of its text."""

    def __init__(self, message: str, offset: int) -> None:
        super().__init__(message)
        self.offset = offset


class TooManyTagsError(JinjaError):
    """A template that may well be valid, but is too large to read."""


@dataclass(frozen=True, slots=True)
class Tag:
    """One ``{{ … }}``, ``{% … %}`` or comment: the whole of it, and what is between the delimiters."""

    kind: str  # "variable", "block", "comment", "raw"
    start: int
    end: int
    inner_start: int
    inner_end: int


@dataclass(frozen=True, slots=True)
class Tokens:
    """The tokens of a template as (offset, type, raw text), its tags, and its block names."""

    items: tuple[tuple[int, str, str], ...]
    tags: tuple[Tag, ...]
    block_names: frozenset[str]

    def tag_at(self, offset: int) -> Tag | None:
        """Return the tag that contains an offset."""
        index = bisect_right(self.tags, offset, key=lambda tag: tag.start) - 1
        if index >= 0 and offset < self.tags[index].end:
            return self.tags[index]
        return None


class OffsetStream(TokenStream):
    """A token stream whose ``lineno`` is an offset, and which knows where the last token ended."""

    def __init__(self, tokens: Iterator[Token], ends: dict[int, int]) -> None:
        self._token_ends = ends
        self.last_end = 0
        super().__init__(tokens, None, None)

    def __next__(self) -> Token:
        """Return the current token and advance."""
        token = super().__next__()
        self.last_end = self._token_ends.get(token.lineno, self.last_end)
        return token


@lru_cache(maxsize=32)
def environment(dialect: str, delimiters: Delimiters) -> Environment:
    """Return the environment of a dialect. It only ever lexes and parses; nothing is rendered in it."""
    trim, lstrip = DIALECTS[dialect]
    return Environment(
        block_start_string=delimiters.block[0],
        block_end_string=delimiters.block[1],
        variable_start_string=delimiters.variable[0],
        variable_end_string=delimiters.variable[1],
        comment_start_string=delimiters.comment[0],
        comment_end_string=delimiters.comment[1],
        trim_blocks=trim,
        lstrip_blocks=lstrip,
        autoescape=False,
    )


def tokenize(env: Environment, text: str) -> Tokens:
    """Lex a template.

    Raises:
        TooManyTagsError: beyond `MAX_TAGS` or `MAX_TOKENS`.
        JinjaError: the text has an unclosed tag, comment or string, or a stray character.
    """
    items: list[tuple[int, str, str]] = []
    tags: list[Tag] = []
    names: set[str] = set()
    at = 0
    opened: tuple[str, int, int] | None = None
    before = ""
    try:
        for _, kind, value in env.lexer.tokeniter(text, None):
            if not text.startswith(value, at):
                at = _skip_space(text, at)
            if kind in _BEGINS:
                opened = (kind.removesuffix("_begin").removeprefix("line"), at, at + len(value))
                before = ""
            elif kind in _ENDS and opened is not None:
                name, start, inner = opened
                tags.append(Tag(name, start, at + len(value.rstrip()), inner, at))
                opened = None
            elif kind == "name" and not before and opened is not None and opened[0] != "variable":
                names.add(value)
            if kind not in ("whitespace", *_BEGINS):
                before = kind
            items.append((at, kind, value))
            at += len(value)
            if len(tags) > MAX_TAGS or len(items) > MAX_TOKENS:
                raise TooManyTagsError(f"more than {len(tags):,} tags", at)
    except TemplateSyntaxError as error:
        raise JinjaError(error.message or "syntax error", min(at, len(text))) from None
    return Tokens(tuple(items), tuple(tags), frozenset(names))


def _skip_space(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


def stream(env: Environment, tokens: Tokens) -> OffsetStream:
    """Return the parser's view of tokens, with offsets where Jinja expects line numbers."""
    ends = {at: at + len(value) for at, kind, value in tokens.items if kind not in ("whitespace", *_ENDS)}
    return OffsetStream(env.lexer.wrap(iter(tokens.items)), ends)
