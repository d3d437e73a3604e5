"""A model's own tokenizer, loaded by `transformers`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

_TOKENIZER_FILES = ("tokenizer.json", "tokenizer.model", "vocab.json", "vocab.txt", "tekken.json")


def load_tokenizer(folder: Path, **more: str) -> Any | None:
    """Return the folder's tokenizer, or None where it has none (the prompts must be token ids then)."""
    if not more and not any((folder / name).is_file() for name in _TOKENIZER_FILES):
        return None  # transformers would make an empty one up
    from transformers import AutoTokenizer

    try:
        return AutoTokenizer.from_pretrained(str(folder), trust_remote_code=False, **more)
    except (OSError, ValueError, ImportError):
        return None
