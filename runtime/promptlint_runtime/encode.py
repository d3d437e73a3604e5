"""Prompts to token ids, with the piece that each token ends in."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any, Protocol

from jinja2 import TemplateError

from promptlint.errors import InputError, UsageError
from promptlint_runtime.prompts import Encoded, Prompt


class Encoder(Protocol):
    """Turns a whole prompt into the ids that the engine gets."""

    def __call__(self, prompt: Prompt) -> Encoded:
        """Encode.

        Raises:
            InputError: the prompt cannot be encoded, or has no token.
        """
        ...


class PartEncoder(Encoder, Protocol):
    """An encoder that takes parts of a prompt too."""

    def part(self, text: str, *, first: bool) -> tuple[int, ...]:
        """Encode a part by itself; the ids may differ from those it would get within the prompt."""
        ...


class ModelEncoder:
    """Encodes with the model's own tokenizer; messages go through its chat template."""

    def __init__(self, tokenizer: Any, vocab: int) -> None:
        self._tokenizer = tokenizer
        self._vocab = vocab

    def __call__(self, prompt: Prompt) -> Encoded:
        """Encode; see `Encoder`."""
        if prompt.ids is not None:
            return given_ids(prompt, self._vocab)
        text, chat = prompt.text, prompt.body is not None and bool(self._tokenizer.chat_template)
        if chat:
            text = self._chat(prompt)
        fast = bool(getattr(self._tokenizer, "is_fast", False))
        made = self._tokenizer(text, add_special_tokens=not chat, return_offsets_mapping=fast)
        ids = tuple(made["input_ids"])
        if not ids:
            raise InputError(f"{prompt.name}: {prompt.label or 'the prompt'} is empty", "")
        if not fast or chat:
            return Encoded(ids)
        return Encoded(ids, piece_ends(prompt, [end for _, end in made["offset_mapping"]]))

    def part(self, text: str, *, first: bool) -> tuple[int, ...]:
        """Encode a part; see `PartEncoder`. Only the first gets the token that begins a text."""
        return tuple(self._tokenizer(text, add_special_tokens=first)["input_ids"])

    def _chat(self, prompt: Prompt) -> str:
        assert prompt.body is not None
        try:
            text: str = self._tokenizer.apply_chat_template(
                prompt.body["messages"],
                tools=prompt.body.get("tools"),
                tokenize=False,
                add_generation_prompt=True,
            )
        except (TemplateError, ValueError, TypeError, LookupError, AttributeError) as error:
            raise InputError(
                f"{prompt.name}: {prompt.label}: the chat template refuses the messages ({error})",
                "give a model with a chat template that takes them, or prompts as text",
            ) from None
        return text


class RenamedEncoder:
    """Encodes with another vocabulary and renames its ids to fit a small one.

    For random weights, which have no tokenizer: equal tokens keep equal ids and others differ, which
    is all that hits depend on. Names are given in the order in which tokens first appear.
    """

    def __init__(self, load: Callable[[], TextTokenizer], vocab: int) -> None:
        """Take what loads the other vocabulary; it is called for the first prompt that is text."""
        self._load = load
        self._vocab = vocab
        self._names: dict[int, int] = {}

    def __call__(self, prompt: Prompt) -> Encoded:
        """Encode; see `Encoder`."""
        if prompt.ids is not None:
            return given_ids(prompt, self._vocab)
        parts = [piece.text for piece in prompt.pieces]
        renamed = self.part("".join(parts), first=True)
        if not renamed:
            raise InputError(f"{prompt.name}: {prompt.label or 'the prompt'} is empty", "")
        return Encoded(renamed, tuple(self._load().run(parts).ends))

    def part(self, text: str, *, first: bool) -> tuple[int, ...]:
        """Encode a part; see `PartEncoder`."""
        names = self._names
        renamed = tuple(names.setdefault(token, len(names)) for token in self._load().encode(text))
        if len(names) > self._vocab:
            raise UsageError(
                f"the prompts use over {self._vocab} different tokens, more than the model's vocabulary",
                "take a shape with a larger one",
            )
        return renamed


class _Ends(Protocol):
    @property
    def ends(self) -> tuple[int, ...]: ...


class TextTokenizer(Protocol):
    """What `RenamedEncoder` needs of `promptlint.tokens.base.Tokenizer`."""

    def encode(self, text: str) -> list[int]:
        """Return ids."""
        ...

    def run(self, parts: Sequence[str]) -> _Ends:
        """Count tokens by part."""
        ...


def given_ids(prompt: Prompt, vocab: int) -> Encoded:
    """Take ids as they came.

    Raises:
        InputError: one is outside the model's vocabulary.
    """
    assert prompt.ids is not None
    if max(prompt.ids) >= vocab:
        raise InputError(
            f"{prompt.name}: {prompt.label}: token {max(prompt.ids)} is outside the vocabulary of {vocab}",
            "replay with the model whose tokens these are",
        )
    return Encoded(prompt.ids)


def piece_ends(prompt: Prompt, token_ends: Sequence[int]) -> tuple[int, ...]:
    """Return per piece the tokens that end in it or before, from the character at which each ends."""
    characters = accumulate(len(piece.text) for piece in prompt.pieces)
    return tuple(bisect_right(token_ends, end) for end in characters)
