"""Ids on disk: the same numbers as from memory."""

from __future__ import annotations

import numpy as np
import pytest

from promptlint.trace import columns as columns_module
from promptlint.trace import spill
from promptlint.trace.columns import Builder, Columns
from promptlint.trace.options import Options
from promptlint.trace.simulation import simulate


def log() -> Columns:
    """Return 300 requests of six conversations in three namespaces, hashes a block, times out of order."""
    rng = np.random.default_rng(5)
    builder = Builder(16)
    for _ in range(300):
        talk = int(rng.integers(0, 6))
        ids = [talk % 2, *rng.integers(0, 3, size=int(rng.integers(0, 20))).tolist()]
        length = max(0, len(ids) * 16 - int(rng.integers(0, 16)))
        builder.add(
            ids, time=float(rng.integers(0, 900)), length=length, namespace=f"n{talk % 3}", session=f"s{talk}"
        )
    return builder.build()


@pytest.mark.parametrize(
    "options",
    [
        Options(
            capacities=("5", "40"),
            policies=("lru", "fifo", "belady"),
            engines=("vllm", "sglang"),
            replicas=(2,),
        ),
        Options(caches="namespace"),
        Options(caches="session"),
        Options(sample=0.5),
    ],
    ids=["shared", "namespace", "session", "sample"],
)
def test_the_numbers_are_those_of_a_log_in_memory(options: Options, monkeypatch: pytest.MonkeyPatch) -> None:
    def numbers() -> tuple[Columns, dict[str, object]]:
        columns = log().separated().chained()
        return columns, simulate(columns, options, "tokens")

    held, expected = numbers()
    monkeypatch.setattr(spill, "SPILL", 50)
    whole = columns_module.pieces
    monkeypatch.setattr(
        columns_module, "pieces", lambda start, references=64: whole(start, min(references, 64))
    )
    monkeypatch.setattr("promptlint.trace.curve.capacity.pieces", columns_module.pieces)
    spilled, found = numbers()
    assert not spill.is_spilled(held.ids)
    assert spill.is_spilled(spilled.ids)
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        if options.sample and name in ("curve", "unique_blocks", "first_use_ratio"):
            continue  # which blocks are drawn depends on their ids, and those are mixed another way
        assert _near(found[name], value), name


def _near(one: object, other: object) -> bool:
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_near(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_near, one, other))
    return one == (pytest.approx(other) if isinstance(other, float) else other)
