from __future__ import annotations

from pathlib import Path

import pytest

from promptlint.catalog.tokenizers import choose
from promptlint.errors import UsageError
from promptlint.tokens import choose as choosing
from promptlint.tokens.base import count
from promptlint.tokens.choose import open_counter


@pytest.mark.parametrize(
    ("model", "encoding"),
    [
        ("gpt-4o-mini", "o200k_base"),
        ("openai/gpt-5.2", "o200k_base"),
        ("o3-mini", "o200k_base"),
        ("gpt-4-turbo", "cl100k_base"),
        ("GPT-3.5-turbo-0125", "cl100k_base"),
        ("text-davinci-003", "p50k_base"),
        ("gpt2", "r50k_base"),
    ],
)
def test_models_with_a_known_encoding_are_exact(model: str, encoding: str) -> None:
    choice = choose(model)
    assert choice is not None
    assert choice.encoding == encoding


@pytest.mark.parametrize(
    ("model", "family"),
    [
        ("anthropic/claude-opus-4.8", "claude"),
        ("meta-llama/Llama-3.1-8B-Instruct", "llama-3"),
        ("meta-llama/Llama-4-Scout", "llama-4"),
        ("codellama-13b", "llama-2"),
        ("Qwen/Qwen2.5-7B", "qwen-3"),
        ("Qwen/Qwen3.5-9B", "qwen"),
        ("mixtral-8x7b", "mistral"),
        ("deepseek-chat", "deepseek"),
        ("gemini-2.5-pro", "gemma"),
    ],
)
def test_other_families_are_estimated(model: str, family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choosing, "has_splintr", lambda: False)
    choice = choose(model)
    assert choice is not None
    assert choice.family == family
    assert not open_counter(model).exact


def test_an_unknown_model_is_estimated_with_the_default_encoding() -> None:
    for model in ("", "my-own-model"):
        counter = open_counter(model)
        assert (counter.name, counter.exact) == ("o200k_base", False)
    assert open_counter(tokenizer="o200k_base").exact


def test_a_family_scales_the_default_encoding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choosing, "has_splintr", lambda: False)
    text = "A plain sentence about nothing in particular. " * 100
    base, scaled = count(text, open_counter("gpt-4o")), count(text, open_counter("codellama"))
    assert scaled == round(base * 1.254)


def test_without_any_vocabulary_characters_are_weighed(monkeypatch: pytest.MonkeyPatch) -> None:
    text = Path(choosing.__file__).read_text(encoding="utf-8")
    exact = count(text, open_counter("gpt-4o"))
    monkeypatch.setattr(choosing, "is_here", lambda _: False)
    counter = open_counter("gpt-4o")
    assert (counter.name, counter.exact) == ("estimate", False)
    assert count(text, counter) == pytest.approx(exact, rel=0.15)
    assert counter.run(("Answer: ", "what is it?")).stable <= counter.run(("Answer: ", "what is it?")).total


def test_a_tokenizer_that_is_not_there_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no tokenizer 'o300k'"):
        open_counter(tokenizer="o300k")
    with pytest.raises(UsageError, match=r"no tokenizer\.json there"):
        open_counter(tokenizer=str(tmp_path))


def test_a_tokenizer_file_is_exact(folders: dict[str, Path]) -> None:
    counter = open_counter("gpt-4o", tokenizer=str(folders["bytes"]))
    assert counter.exact
    assert counter.name.startswith("bytes@")
    assert (
        counter.run(("You are a care", "ful assistant.")).total
        == counter.run(("You are a careful assistant.",)).total
    )


def test_a_broken_tokenizer_file_is_a_usage_error(tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_text("{}", encoding="utf-8")
    with pytest.raises(UsageError, match="not a tokenizer"):
        count("x", open_counter(tokenizer=str(tmp_path)))
