"""What a run of `promptlint trace` is asked for."""

from __future__ import annotations

import re
from dataclasses import dataclass

from promptlint.errors import UsageError

DEFAULT_BLOCK = 16
_SIZE = re.compile(r"(?P<number>\d+(?:\.\d+)?)\s*(?P<unit>[kMGT]i?B|B)", re.IGNORECASE)
_UNITS = {"b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12}
_UNITS |= {"kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40}


@dataclass(frozen=True, slots=True)
class Options:
    """Settings of a run; see the help of the command for their meaning."""

    profile: str = ""
    model: str = ""
    tokenizer: str = ""
    unit: str = "tokens"  # or "bytes"
    block: int | None = None
    capacities: tuple[str, ...] = ()
    lifetimes: tuple[float, ...] = ()
    kv_bytes: int | None = None
    order: str = "time"  # or "log"
    caches: str = "shared"  # "namespace", "session"
    namespaces: tuple[str, ...] = ("model", "tenant", "salt")
    sample: float | None = None
    engines: tuple[str, ...] = ()
    policies: tuple[str, ...] = ()
    replicas: tuple[int, ...] = ()
    min_lost: int = 32
    max_findings: int = 10_000
    show_text: bool = False
    rows: bool = False
    jobs: int = 0


def capacity_blocks(text: str, block: int, kv_bytes: int | None) -> int:
    """Return a capacity in blocks: ``10000``, or ``8GiB`` where the bytes of a token are known.

    Raises:
        UsageError: neither, or bytes without a model.
    """
    word = text.strip()
    if word.isdigit() and int(word) > 0:
        return int(word)
    match = _SIZE.fullmatch(word)
    if not match:
        raise UsageError(f"no capacity {text!r}", "give blocks (10000) or bytes (8GiB), separated by commas")
    if not kv_bytes:
        raise UsageError(
            f"{word}: how many bytes a token takes is not known",
            "give --model with a known model or its config.json, or --kv-bytes-per-token",
        )
    size = float(match.group("number")) * _UNITS[match.group("unit").lower()]
    return max(1, int(size // (kv_bytes * block)))


def kv_bytes_of(model: str) -> int | None:
    """Return the bytes of keys and values that one token takes, 16 bits a number; None if unknown.

    ``model`` is the name of a known open model, or the path of a ``config.json`` or its folder.
    Windowed layers count as full ones, so the figure is an upper bound for such models.

    Raises:
        InputError: the path is no usable configuration.
    """
    from promptlint.catalog.shapes import find_shape

    shape = find_shape(model) if model else None
    return None if shape is None else 2 * shape.layers * shape.kv_values
