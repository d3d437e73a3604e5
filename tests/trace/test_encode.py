"""Prompts with a common beginning have common blocks, whatever the tokenizer does at the borders of pieces."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from promptlint.layout import Section
from promptlint.tokens.choose import open_counter
from promptlint.trace.encode import Encoder, _cut
from promptlint.trace.model import Part, Request


def keys(encoder: Encoder, text: str) -> list[int]:
    request = Request("log", 1, (Part(Section.MESSAGES, 0, "user", text),))
    return [int(key) for key in encoder.request(request)[0]]


def marked(text: str) -> list[int]:
    """A tokenizer that puts a token in front of whatever it is given."""
    return [0, *map(ord, text)]


@given(
    st.lists(st.sampled_from(["word ", "x\n", "Line\n\n", "9\n", " - item\n"]), max_size=900),
    st.integers(0, 900),
)
def test_a_growing_prompt_keeps_its_blocks(words: list[str], at: int) -> None:
    encoder = Encoder(1, marked)
    short, whole = "".join(words[:at]), "".join(words)
    first, second = keys(encoder, short), keys(encoder, whole)
    assert second[: len(first)] == first
    assert "".join(_cut(whole)) == whole


def test_pieces_have_the_tokens_of_the_whole() -> None:
    encode = open_counter("").counter.encode
    text = "".join(
        f"Step {n}.\n\nRead the file and say what is in it, {n} words.\nThen go on: {n * 7}\n"
        for n in range(200)
    )
    assert [token for piece in _cut(text) for token in encode(piece)] == list(encode(text))
    assert len(list(_cut(text))) > 5
