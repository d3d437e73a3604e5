"""What a run of `promptlint trace` is asked for."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

from promptlint.errors import InputError, UsageError

DEFAULT_BLOCK = 16
_SIZE = re.compile(r"(?P<number>\d+(?:\.\d+)?)\s*(?P<unit>[kMGT]i?B|B)", re.IGNORECASE)
_UNITS = {"b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12}
_UNITS |= {"kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40}
_WIDTHS = {"float32": 4, "float16": 2, "bfloat16": 2, "float8_e4m3fn": 1, "fp8": 1}


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
    min_lost: int = 64
    max_findings: int = 10_000
    show_text: bool = False
    source: Path | None = None
    jobs: int = 1
    ray: str | None = None


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
            "give --model with a folder or config.json of the model, or --kv-bytes-per-token",
        )
    size = float(match.group("number")) * _UNITS[match.group("unit").lower()]
    return max(1, int(size // (kv_bytes * block)))


def kv_bytes_of(model: str) -> int | None:
    """Return the bytes of keys and values that one token takes, from a model's config.json.

    Returns None if ``model`` is no path. Layers of sliding windows or linear attention count as
    full ones, so the figure is an upper bound for hybrid models.

    Raises:
        InputError: the configuration cannot be read or lacks what is needed.
    """
    path = Path(model)
    path = path / "config.json" if path.is_dir() else path
    if not model or not path.is_file() or path.name == "tokenizer.json":
        return None
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
        config = config.get("text_config", config)
        layers = int(config["num_hidden_layers"])
        width = _WIDTHS.get(str(config.get("torch_dtype") or config.get("dtype") or "bfloat16"), 2)
        if rank := config.get("kv_lora_rank"):  # multi-head latent attention keeps one latent a token
            return layers * (int(rank) + int(config.get("qk_rope_head_dim", 0))) * width
        heads = int(config["num_attention_heads"])
        size = int(config.get("head_dim") or int(config["hidden_size"]) // heads)
        return 2 * layers * int(config.get("num_key_value_heads") or heads) * size * width
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{path}: the size of its cache cannot be worked out ({error!r})",
            "give --kv-bytes-per-token instead",
        ) from None
