"""From a model name or a `--tokenizer` option to a counter."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from promptlint.catalog.tokenizers import choose, encodings
from promptlint.errors import UsageError
from promptlint.tokens.cached import CachedCounter
from promptlint.tokens.estimate import CharacterEstimator, FamilyEstimator
from promptlint.tokens.store import CountStore
from promptlint.tokens.vocabulary import has_splintr, is_here, load_splintr, load_tiktoken

if TYPE_CHECKING:
    from promptlint.tokens.bpe import BytePairTokenizer

DEFAULT_ENCODING = "o200k_base"


def open_counter(model: str = "", tokenizer: str = "", cache: Path | None = None) -> CachedCounter:
    """Return the counter for a model.

    Args:
        model: name as the program writes it; "" or an unknown one is estimated with o200k_base.
        tokenizer: overrides the model: an encoding (``cl100k_base``), ``estimate``, or the path of a
            ``tokenizer.json`` or of a folder that holds one.
        cache: folder for counts between runs.

    Raises:
        UsageError: ``tokenizer`` names nothing known.
    """
    if tokenizer:
        return _named(tokenizer, cache)
    choice = choose(model) if model else None
    if choice is None:
        return _encoding(DEFAULT_ENCODING, False, cache)
    if choice.encoding:
        return _encoding(choice.encoding, True, cache)
    name = choice.exact
    if name and has_splintr():
        return CachedCounter(name, True, lambda: _load_family(name), _store(cache, name))
    base = _encoding(DEFAULT_ENCODING, False, cache)
    if choice.factor == 1.0:
        return base
    estimator = FamilyEstimator(choice.family, base, choice.factor)
    return CachedCounter(estimator.name, False, lambda: estimator)


def _named(tokenizer: str, cache: Path | None) -> CachedCounter:
    if tokenizer == CharacterEstimator.name:
        return CachedCounter(tokenizer, False, CharacterEstimator)
    if tokenizer in encodings():
        return _encoding(tokenizer, True, cache, needed=True)
    path = Path(tokenizer)
    if not path.exists():
        raise UsageError(
            f"no tokenizer {tokenizer!r}",
            f"give {', '.join(sorted(encodings()))}, estimate, or the path of a tokenizer.json",
        )
    from promptlint.tokens.hf import FileTokenizer, file_name

    name = file_name(path)
    return CachedCounter(name, True, lambda: FileTokenizer(path), _store(cache, name))


def _encoding(name: str, exact: bool, cache: Path | None, needed: bool = False) -> CachedCounter:
    """Return an encoding, or the plain estimator where its vocabulary is not on this machine."""
    if not needed and not is_here(name):
        return CachedCounter(CharacterEstimator.name, False, CharacterEstimator)
    return CachedCounter(name, exact, lambda: load_encoding(name), _store(cache, name))


@cache
def load_encoding(name: str) -> BytePairTokenizer:
    """Load an encoding, through the quicker package where it is installed and proven.

    Raises:
        UsageError: unknown name, or its vocabulary is not on this machine.
    """
    from promptlint.tokens.bpe import BytePairTokenizer

    return BytePairTokenizer(name, *(load_splintr(name) or load_tiktoken(name)))


def _load_family(name: str) -> BytePairTokenizer:
    """Load a vocabulary that only ``splintr-rs`` has.

    Raises:
        UsageError: that package does not give the ids that are known for it.
    """
    from promptlint.tokens.bpe import BytePairTokenizer

    functions = load_splintr(name)
    if functions is None:
        raise UsageError(
            f"the installed splintr-rs does not give the known ids of {name}",
            "install another version of it, none, or give --tokenizer a tokenizer.json",
        )
    return BytePairTokenizer(name, *functions)


def _store(folder: Path | None, name: str) -> CountStore | None:
    return None if folder is None else CountStore(folder, name)
