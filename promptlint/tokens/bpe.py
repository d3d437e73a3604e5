"""Byte-pair encodings of the tiktoken family."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import accumulate

from promptlint.tokens.base import Run, well_formed
from promptlint.tokens.borders import borders
from promptlint.tokens.vocabulary import Encode, TokenBytes

# tiktoken's pattern engine runs out of stack in blanks of about a million characters.
_LONG_BLANK = 50_000
_BLANKS = re.compile(r"\s{64,}+")


class BytePairTokenizer:
    """A `Tokenizer` over two functions of a vocabulary: ids of a text, bytes of an id.

    Special tokens written in a text are counted as plain text. A run of blanks longer than 50,000
    characters is cut there.
    """

    def __init__(self, name: str, encode: Encode, token_bytes: TokenBytes, exact: bool = True) -> None:
        self._name = name
        self._exact = exact
        self._encode = encode
        self._token_bytes = token_bytes

    @property
    def name(self) -> str:
        """Return the name of the encoding."""
        return self._name

    @property
    def exact(self) -> bool:
        """Tell whether the model in question uses this vocabulary."""
        return self._exact

    def encode(self, text: str) -> list[int]:
        """Return the token ids of a text; lone surrogates count as U+FFFD."""
        if not text.isascii():
            text = well_formed(text)
        if len(text) <= _LONG_BLANK:
            return self._encode(text)
        ids: list[int] = []
        for part in _without_long_blanks(text):
            ids += self._encode(part)
        return ids

    def run(self, parts: Sequence[str]) -> Run:
        """Count the joined parts as one text."""
        text = "".join(parts)
        ids = self.encode(text)
        if len(parts) == 1:
            return Run((len(ids),), self._stable(text, ids))
        return Run(self._ends(parts, ids), self._stable(text, ids))

    def _ends(self, parts: Sequence[str], ids: list[int]) -> tuple[int, ...]:
        ends: list[int] = []
        seen = 0
        token_ends = accumulate(len(self._token_bytes(token)) for token in ids)
        token_end = next(token_ends, None)
        for border in accumulate(len(well_formed(part).encode()) for part in parts):
            while token_end is not None and token_end <= border:
                seen += 1
                token_end = next(token_ends, None)
            ends.append(seen)
        if ends:
            ends[-1] = len(ids)
        return tuple(ends)

    def _stable(self, text: str, ids: list[int]) -> int:
        """Count the tokens before the last settled border that is a border of tokens as well."""
        for at in borders(text):
            tail = self.encode(text[at:])
            if ids[len(ids) - len(tail) :] == tail:
                return len(ids) - len(tail)
        return 0


def _without_long_blanks(text: str) -> Iterator[str]:
    start = 0
    for blank in _BLANKS.finditer(text):
        while blank.end() - max(start, blank.start()) > _LONG_BLANK:
            cut = max(start, blank.start()) + _LONG_BLANK
            yield text[start:cut]
            start = cut
    yield text[start:]
