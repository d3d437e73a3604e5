"""Our caches against recorded runs of vLLM's and SGLang's own classes, operation by operation.

The files under ``tests/data`` were made by driving those classes with token lists. More files of
the same form can be named in ``PROMPTLINT_VECTORS``, separated by ``:``.
"""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

import pytest

from promptlint.cache.base import Admission
from promptlint.cache.blocks import Extra
from promptlint.cache.pool import BlockPool
from promptlint.cache.radix import RadixCache

DATA = Path(__file__).parents[1] / "data"
FILES = sorted(DATA.glob("*_vectors.jsonl.gz"))
FILES += [Path(name) for name in os.environ.get("PROMPTLINT_VECTORS", "").split(":") if name]


def _traces() -> list[Any]:
    params = []
    for file in FILES:
        opener = gzip.open if file.suffix == ".gz" else open
        with opener(file, "rt", encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                if line.strip():
                    trace = json.loads(line)
                    size = trace.get("block", trace.get("page"))
                    params.append(pytest.param(trace, id=f"{file.stem.split('.')[0]}-{number}-of-{size}"))
    return params


def _extra(op: dict[str, Any]) -> Extra:
    return Extra(salt=op.get("salt") or "", lora=op.get("extra_key") or "")


def _replay_pool(trace: dict[str, Any]) -> None:
    pool = BlockPool(trace["num_blocks"] - 1, trace["block"])
    live: dict[int, Admission] = {}
    for number, op in enumerate(trace["ops"]):
        if op["op"] == "start":
            extra = _extra(op)
            foreseen = pool.match(op["tokens"], extra)
            request = pool.start(op["tokens"], extra, compute=op.get("compute"))
            got = None if request is None else request.hit
            assert got == op["hit"], f"op {number}"
            assert got is None or got == foreseen, f"op {number}"
            if request is not None:
                live[op["id"]] = request
        elif op["op"] == "extend":
            assert pool.extend(live[op["id"]], op["tokens"], compute=op["compute"]) == op["fits"], (
                f"op {number}"
            )
        else:
            pool.finish(live.pop(op["id"]))
        assert pool.free_blocks == op["free"], f"op {number}"
        pool.check()


def _replay_radix(trace: dict[str, Any]) -> None:
    cache = RadixCache(trace["capacity_tokens"], trace["page"])
    for number, op in enumerate(trace["ops"]):
        before = cache.stats.evicted_tokens
        foreseen = cache.match(op["tokens"], _extra(op))
        request = cache.start(op["tokens"], _extra(op))
        got = None if request is None else request.hit
        if request is not None:
            assert got == foreseen, f"op {number}"
            cache.check()
            cache.finish(request)
        stats = cache.stats
        mine = {"hit": got, "evicted": stats.evicted_tokens - before, "tree": cache.tree_tokens}
        mine["free"] = stats.free_tokens
        assert mine == {name: op[name] for name in mine}, f"op {number}"
        cache.check()


@pytest.mark.parametrize("trace", _traces())
def test_every_operation_gives_the_engines_numbers(trace: dict[str, Any]) -> None:
    if "block" in trace:
        _replay_pool(trace)
    else:
        _replay_radix(trace)
