"""What a server tells of itself: which engine, which blocks, how large a cache, its counters."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

from promptlint.cache.base import PrefixCache
from promptlint.cache.pool import BlockPool
from promptlint.cache.radix import RadixCache
from promptlint_runtime.endpoint.http import Http

COUNTERS = (
    "vllm:prefix_cache_queries_total",
    "vllm:prefix_cache_hits_total",
    "vllm:prompt_tokens_total",
    "vllm:prompt_tokens_cached_total",
    "sglang:prompt_tokens_total",
    "sglang:cached_tokens_total",
    "llamacpp:prompt_tokens_total",
)
_LINE = re.compile(r"^([A-Za-z_:][\w:]*)(?:\{(.*)\})?\s+(\S+)$")
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


@dataclass(frozen=True, slots=True)
class Server:
    """An engine and its cache; None for what it does not say."""

    engine: str  # "vllm", "sglang", "llama.cpp", "" for others
    block_tokens: int | None = None
    capacity_tokens: int | None = None
    replicas: int = 1  # engines behind one address, each with a cache of its own

    def make_cache(self) -> PrefixCache | None:
        """Return an empty cache with this server's rules; None where they are not known."""
        if self.block_tokens is None or self.replicas > 1:
            return None
        if self.engine == "vllm":
            blocks = self.capacity_tokens // self.block_tokens - 1 if self.capacity_tokens else None
            return BlockPool(blocks, self.block_tokens)  # one block of vLLM's is never used
        if self.engine == "sglang":
            return RadixCache(self.capacity_tokens, self.block_tokens)
        return None


def describe(http: Http, block_tokens: int | None = None) -> Server:
    """Ask a server what it is; ``block_tokens`` overrides its answer."""
    found_labels = [
        labels for name, labels, _ in samples(http.get("/metrics") or "") if name == "vllm:cache_config_info"
    ]
    if found_labels:
        first = found_labels[0]
        block = block_tokens or _number(first.get("block_size"))
        blocks = _number(first.get("num_gpu_blocks"))
        replicas = len({labels.get("engine") for labels in found_labels})
        return Server("vllm", block, blocks * block if blocks and block else None, replicas)
    for path in ("/server_info", "/get_server_info"):
        found = _object(http.get(path))
        if "page_size" in found:
            room = found.get("max_total_num_tokens")
            return Server(
                "sglang",
                block_tokens or int(str(found["page_size"])),
                room if isinstance(room, int) else None,
            )
    if "total_slots" in _object(http.get("/props")):
        return Server("llama.cpp", block_tokens)
    return Server("", block_tokens)


def counters(http: Http) -> dict[str, float]:
    """Return the server's own counts of prompt and cached tokens, summed over labels."""
    found: dict[str, float] = {}
    for name, _, value in samples(http.get("/metrics") or ""):
        if name in COUNTERS:
            found[name] = found.get(name, 0.0) + value
    return found


def samples(text: str) -> list[tuple[str, Mapping[str, str], float]]:
    """Read Prometheus text: name, labels and value of each sample; other lines are passed over."""
    found: list[tuple[str, Mapping[str, str], float]] = []
    for line in text.splitlines():
        match = _LINE.match(line)
        if match:
            try:
                value = float(match[3])
            except ValueError:
                continue
            found.append((match[1], dict(_LABEL.findall(match[2] or "")), value))
    return found


def reset(http: Http, server: Server) -> bool:
    """Empty the server's cache, where it lets us; tell whether it did."""
    path = {"vllm": "/reset_prefix_cache", "sglang": "/flush_cache"}.get(server.engine)
    return path is not None and http.post(path, {}) is not None


def _object(text: str | None) -> Mapping[str, object]:
    try:
        value = json.loads(text or "")
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _number(text: str | None) -> int | None:
    return int(text) if text and text.isdigit() else None
