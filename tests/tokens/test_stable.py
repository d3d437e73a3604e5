"""No continuation changes a stable token, and few tokens are given away."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from promptlint.catalog.tokenizers import probe
from promptlint.tokens.base import Tokenizer, stable_prefix_tokens
from promptlint.tokens.borders import borders, word_borders
from promptlint.tokens.bpe import BytePairTokenizer
from promptlint.tokens.hf import FileTokenizer
from promptlint.tokens.vocabulary import has_splintr, load_splintr, load_tiktoken

ATOMS = [
    *"aAbZzé你世Я019 \n\t\r'’!?.,;:/-_()[]<>|=\"",
    *("'s", "'ll", "\r\n", "  ", "\n\n", "//", "!\n", "/\n", "HTML", "Parser", " the", "ing", "12345"),
    *("\u0301", "\u0327", "\u200d", "\u00a0", "\u2028", "\u3000", "ſ", "İ", "ʰ", "한", "\u1100", "\u1161"),
    *("👍🏽", "\x1c", "\x85", "\x00", "½", "٣", "\u0378", "\ue000", "<|im_start|>", "<|im", "<|"),
]
TEXTS = st.lists(st.sampled_from(ATOMS), max_size=14).map("".join)


def tokenizers() -> list[object]:
    found: list[object] = ["o200k_base", "cl100k_base"]
    found += ["bytes", "unknown-pattern", "sentence", "wordpiece", "unigram"]
    for name in ("llama3", "qwen3"):
        mark = pytest.mark.skipif(not has_splintr(), reason="splintr-rs is not installed")
        found.append(pytest.param(name, marks=mark))
    return found


@pytest.fixture(params=tokenizers(), scope="module")
def tokenizer(request: pytest.FixtureRequest) -> Tokenizer:
    name: str = request.param
    if name.endswith("_base"):
        return BytePairTokenizer(name, *load_tiktoken(name))
    if probe(name):
        functions = load_splintr(name)
        assert functions is not None
        return BytePairTokenizer(name, *functions)
    files: dict[str, FileTokenizer] = request.getfixturevalue("file_tokenizers")
    return files[name]


@settings(max_examples=400, deadline=None)
@given(text=TEXTS, more=TEXTS)
@example(text="foo'", more="s")  # o200k makes one piece of it
@example(text="你好A", more="b")
@example(text="!\n/", more="/")
@example(text="a \n ", more="\n")
@example(text="see <|im", more="_start|>")
@example(text="x!!\u0301", more="\u0301")
@example(text="cafe", more="\u0301")
def test_no_continuation_changes_a_stable_token(tokenizer: Tokenizer, text: str, more: str) -> None:
    stable = stable_prefix_tokens(text, tokenizer)
    ids = tokenizer.encode(text)
    assert 0 <= stable <= len(ids)
    assert tokenizer.encode(text + more)[:stable] == ids[:stable]


@pytest.mark.parametrize(
    ("text", "given_away"),
    [
        ("You are a helpful assistant.\nThe time is ", 1),
        ("You are a helpful assistant.\nToday: ", 1),
        ("# Rules\n\n- Be brief.\n\n", 1),
        ("Answer the question", 1),
        ("Context:\n", 1),
        ("<document>", 1),
        ("用户的问题是：", 1),
    ],
)
def test_few_tokens_are_given_away(text: str, given_away: int) -> None:
    for name in ("o200k_base", "cl100k_base"):
        tokenizer = BytePairTokenizer(name, *load_tiktoken(name))
        run = tokenizer.run((text,))
        assert run.total - run.stable <= given_away, name


@pytest.mark.parametrize("kind", ["bytes", "unknown-pattern", "sentence", "wordpiece", "unigram"])
def test_a_tokenizer_file_gives_away_the_last_word(
    kind: str, file_tokenizers: dict[str, FileTokenizer]
) -> None:
    tokenizer = file_tokenizers[kind]
    head, tail = "You are a careful assistant. Answer the user's", " question"
    run = tokenizer.run((head + tail,))
    assert run.stable >= tokenizer.run((head,)).total


def test_borders_come_from_the_end_once_each() -> None:
    text = "It is: 42!\n\nSo what? "
    found = list(borders(text))
    assert found == sorted(set(found), reverse=True)
    assert [text[:at] for at in found[:3]] == [
        "It is: 42!\n\nSo what?",
        "It is: 42!\n\nSo what",
        "It is: 42!\n\nSo",
    ]
    assert list(word_borders("a  b c")) == [4, 1]
    assert list(word_borders("<a> b é c x", frozenset(">\ufffd"))) == [9, 5]
    assert list(borders("")) == list(word_borders(" ")) == []


def _file(path: Path, pieces: list[str], *, byte_level: bool) -> FileTokenizer:
    """Return a tokenizer without any pattern, whose vocabulary joins blanks to characters."""
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers

    vocabulary: dict[str, int] = {}
    merges: list[tuple[str, str]] = []
    for piece in [*pre_tokenizers.ByteLevel.alphabet(), "\u2581", *pieces]:
        for end in range(1, len(piece) + 1):
            if piece[:end] not in vocabulary:
                if end > 1:
                    merges.append((piece[: end - 1], piece[end - 1]))
                vocabulary[piece[:end]] = len(vocabulary)
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=merges))
    if byte_level:
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
        tokenizer.decoder = decoders.ByteLevel()
    else:
        tokenizer.normalizer = normalizers.Replace(" ", "\u2581")
    tokenizer.save(str(path / "tokenizer.json"))
    return FileTokenizer(path)


@pytest.mark.parametrize(
    ("piece", "byte_level", "text", "more", "stable"),
    [
        (">\u2581</", False, "a <b> ", "</b>", 1),  # the blank behind ">" is not settled, that behind "a" is
        ("a\u0120b", True, "x a ", "b", 1),
        ("\u00c2\u0142\u0120", True, "x a\u00a0 y ", "z", 5),  # a no-break space is a blank itself
        ("\u0142\u0120", True, "x à ", "z", 1),  # half of "à" and a blank
    ],
)
def test_blanks_that_a_vocabulary_joins_are_not_settled(
    tmp_path: Path, piece: str, byte_level: bool, text: str, more: str, stable: int
) -> None:
    pytest.importorskip("tokenizers")
    tokenizer = _file(tmp_path, [piece], byte_level=byte_level)
    assert stable_prefix_tokens(text, tokenizer) == stable
    assert tokenizer.encode(text + more)[:stable] == tokenizer.encode(text)[:stable]
