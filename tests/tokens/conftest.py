"""A tiny byte-level tokenizer, trained here, and the encodings that the dependencies ship."""

from __future__ import annotations

from pathlib import Path

import pytest

from promptlint.tokens.hf import FileTokenizer

TEXT = """You are a careful assistant. Answer the user's question in the user's language.
If you don't know, say that you don't know; it's better than guessing.

def answer(question: str) -> str:
    return "42 is 4,200 / 100"

Die Antwort lautet: naïve Rückfragen sind erlaubt. 世界 你好 здравствуй
"""


def _train(path: Path, kind: str) -> Path:
    from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

    if kind == "bytes":
        tokenizer = Tokenizer(models.BPE())
        tokenizer.normalizer = normalizers.NFC()
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        alphabet = pre_tokenizers.ByteLevel.alphabet()
    elif kind == "unknown-pattern":
        tokenizer = Tokenizer(models.BPE())
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
            [
                pre_tokenizers.Split(Regex(r"\d{1,3}(?=(?:\d{3})*\b)|\s*\S+|\s+"), "isolated"),
                pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
            ]
        )
        alphabet = pre_tokenizers.ByteLevel.alphabet()
    elif kind in ("wordpiece", "unigram"):
        return _train_other(path, kind)
    else:
        tokenizer = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=False))
        tokenizer.normalizer = normalizers.Replace(" ", "\u2581")
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="never")
        alphabet = []
    trainer = trainers.BpeTrainer(
        vocab_size=600,
        initial_alphabet=alphabet,
        special_tokens=["<unk>", "<|im_start|>", "<|im_end|>"],
        show_progress=False,
    )
    tokenizer.train_from_iterator([TEXT] * 4, trainer)
    if kind == "sentence":
        tokenizer.pre_tokenizer = None
        tokenizer.decoder = decoders.Replace("\u2581", " ")
    path.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(path / "tokenizer.json"))
    return path


def _train_other(path: Path, kind: str) -> Path:
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers

    specials = ["<unk>", "<|im_start|>", "<|im_end|>"]
    if kind == "wordpiece":
        tokenizer = Tokenizer(models.WordPiece(unk_token="<unk>"))
        tokenizer.normalizer = normalizers.BertNormalizer()
        tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        trainer = trainers.WordPieceTrainer(vocab_size=400, special_tokens=specials, show_progress=False)
    else:
        tokenizer = Tokenizer(models.Unigram())
        tokenizer.normalizer = normalizers.NFKC()
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
        trainer = trainers.UnigramTrainer(
            vocab_size=300, special_tokens=specials, unk_token="<unk>", show_progress=False
        )
    tokenizer.train_from_iterator([TEXT] * 4, trainer)
    path.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(path / "tokenizer.json"))
    return path


KINDS = ("bytes", "unknown-pattern", "sentence", "wordpiece", "unigram")


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    pytest.importorskip("tokenizers")
    root = tmp_path_factory.mktemp("tokenizers")
    return {kind: _train(root / kind, kind) for kind in KINDS}


@pytest.fixture(scope="session")
def file_tokenizers(folders: dict[str, Path]) -> dict[str, FileTokenizer]:
    return {kind: FileTokenizer(path) for kind, path in folders.items()}
