"""What counts tokens, and what a count consists of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Run:
    """The tokens of one text that was given in parts.

    Attributes:
        ends: per part, the tokens that end within it or before; a token across a border counts to
            the part in which it ends. The last entry is the whole.
        stable: leading tokens that no continuation of the text can change.
    """

    ends: tuple[int, ...]
    stable: int

    @property
    def total(self) -> int:
        """Return the tokens of the whole text."""
        return self.ends[-1] if self.ends else 0


class Counter(Protocol):
    """Counts tokens, exactly or by estimate. Never reads from a network."""

    @property
    def name(self) -> str:
        """Return the name for reports and the key of cached counts; it names one vocabulary."""
        ...

    @property
    def exact(self) -> bool:
        """Tell whether the counts are the model's own; if not, reports say `estimated`."""
        ...

    def run(self, parts: Sequence[str]) -> Run:
        """Count the joined parts as one text."""
        ...


class Tokenizer(Counter, Protocol):
    """A counter that knows the ids too."""

    def encode(self, text: str) -> list[int]:
        """Return the token ids of a text, without special tokens."""
        ...


def count(text: str, counter: Counter) -> int:
    """Return the tokens of a text."""
    return counter.run((text,)).total


def stable_prefix_tokens(text: str, counter: Counter) -> int:
    """Return the leading tokens of a text that stay the same whatever is appended to it.

    A word at the end may still grow, and a vocabulary joins across the end of the text: only what
    lies before the last border that no continuation can move is counted.
    """
    return counter.run((text,)).stable


def well_formed(text: str) -> str:
    """Return a text with lone surrogates replaced by U+FFFD; tokenizers take UTF-8 only."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
