from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from promptlint.tokens.bpe import BytePairTokenizer
from promptlint.tokens.vocabulary import load_tiktoken


@pytest.fixture(scope="module", params=["o200k_base", "cl100k_base"])
def tokenizer(request: pytest.FixtureRequest) -> BytePairTokenizer:
    return BytePairTokenizer(request.param, *load_tiktoken(request.param))


@settings(max_examples=200, deadline=None)
@given(parts=st.lists(st.text(max_size=8), min_size=1, max_size=6))
def test_parts_add_up_to_the_whole(tokenizer: BytePairTokenizer, parts: list[str]) -> None:
    run = tokenizer.run(parts)
    whole = tokenizer.run(("".join(parts),))
    assert (run.total, run.stable) == (whole.total, whole.stable)
    assert list(run.ends) == sorted(run.ends)


def test_a_token_counts_to_the_part_in_which_it_ends(tokenizer: BytePairTokenizer) -> None:
    assert tokenizer.run(("Hel", "lo world")).ends == (0, 2)
    assert tokenizer.run(("", "Hello", "", " world")).ends == (0, 1, 1, 2)


def test_lone_surrogates_and_special_tokens_are_plain_text(tokenizer: BytePairTokenizer) -> None:
    assert tokenizer.encode("a\ud800b") == tokenizer.encode("a\ufffdb")
    assert tokenizer.run(("a\ud800", "b")).total == len(tokenizer.encode("a\ufffdb"))
    assert len(tokenizer.encode("<|endoftext|>")) > 1


@pytest.mark.parametrize("text", [" " * 1_200_000 + "x", "\n \t" * 400_000, "a" * 300_000, "!" * 300_000])
def test_long_runs_do_not_break_the_pattern_engine(text: str) -> None:
    tokenizer = BytePairTokenizer("o200k_base", *load_tiktoken("o200k_base"))
    run = tokenizer.run((text,))
    assert 0 < run.total < len(text)
    assert run.stable <= run.total
