"""A model's own tokenizer, loaded by `transformers`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from promptlint.errors import InputError

_TOKENIZER_FILES = ("tokenizer.json", "tokenizer.model", "vocab.json", "vocab.txt", "tekken.json")


def load_tokenizer(folder: Path, **more: str) -> Any | None:
    """Return the folder's tokenizer, or None where it has none.

    Raises:
        InputError: it has one that cannot be read.
    """
    if not more and not any((folder / name).is_file() for name in _TOKENIZER_FILES):
        return None  # transformers would make an empty one up
    from transformers import AutoTokenizer

    try:
        return AutoTokenizer.from_pretrained(str(folder), trust_remote_code=False, **more)
    except Exception as error:  # noqa: BLE001  of any kind, as its files are read by several libraries
        first = (str(error).splitlines() or [type(error).__name__])[0]
        raise InputError(f"{folder}: its tokenizer cannot be read ({first})", "get the model again") from None
