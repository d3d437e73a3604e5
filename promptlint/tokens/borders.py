r"""Borders in a text that no continuation can move.

A byte-pair tokenizer first cuts a text into pieces by a pattern and never merges across a cut. The
patterns in use look ahead by one character at most, so a cut is settled once the character behind
it is known::

    The answer:⎵42     cuts  The|⎵answer|:|⎵|42      settled  The|⎵answer|:⎵42
                                                      a next digit, letter or blank can change what is behind

`borders` gives the settled cuts of the families of r50k (GPT-2), cl100k (Llama 3, Qwen) and o200k,
from the last to the first; `word_borders` only those that hold wherever pieces start at a space.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from itertools import pairwise

_SPACE = frozenset("\t\n\x0b\x0c\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000") | {
    chr(code) for code in range(0x2000, 0x200B)
}
_NEWLINE = frozenset("\r\n")
# Apostrophes begin contractions. Marks are letters for some patterns and punctuation for others.
# What this Python does not know may be a letter in a newer Unicode.
_APOSTROPHE = frozenset("'\u2019")
_UNSURE = frozenset(("Mn", "Mc", "Me", "Cn"))


def _kind(char: str) -> str:
    """Return ``s`` space, ``w`` letter or digit, ``?`` unsure, ``p`` everything else."""
    if char in _SPACE:
        return "s"
    if char in _APOSTROPHE:
        return "?"
    category = unicodedata.category(char)
    if category in _UNSURE:
        return "?"
    return "w" if category[0] in "LN" else "p"


def borders(text: str) -> Iterator[int]:
    """Yield the settled cuts of a text from its end, each once, without 0."""
    last = len(text)
    for at in _settled(text):
        if 0 < at < last:
            yield at
            last = at


def _settled(text: str) -> Iterator[int]:
    right = _kind(text[-1]) if text else ""
    for at in range(len(text) - 1, 0, -1):
        before, after = text[at - 1], text[at]
        left = _kind(before)
        if right == "s" and left != "s":
            # "!\n" is one piece, and grows with every further newline
            if left == "w" or after not in _NEWLINE:
                yield at
        elif left == "s" and right != "s":
            if before not in _NEWLINE:
                yield at - 1  # the last blank belongs to the next piece
            elif after != "/":  # o200k: "!\n/" is one piece
                yield at
        elif left == "w" and right == "p":
            yield at
        right = left


def word_borders(text: str, joined: frozenset[str] = frozenset()) -> Iterator[int]:
    """Yield, from the end, the positions of blanks behind something that is not blank.

    ``joined`` are characters that a token may hold together with the blank behind them; U+FFFD in it
    stands for everything that is not ASCII.
    """
    at = len(text)
    while (at := text.rfind(" ", 1, at)) > 0:
        before = text[at - 1]
        if before in _SPACE or before in joined:
            continue
        if "\ufffd" not in joined or before.isascii():
            yield at


def joined_to_blanks(entry: str) -> Iterator[str]:
    """Yield the characters in front of the blanks of a vocabulary entry, if they are not blank."""
    for before, after in pairwise(entry):
        if after == " " and before not in _SPACE:
            yield before
