"""One kernel in this process, in a pool, as Spark calls it, and on Ray: the same counts."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from promptlint.trace.columns import Builder, Columns
from promptlint.trace.curve.capacity import CapacityCurve

CAPACITIES = [1, 2, 5, 10, 30, 100, 1000]


@pytest.fixture(scope="module")
def columns() -> Columns:
    rng = np.random.default_rng(11)
    builder = Builder(16)
    known: dict[tuple[object, ...], int] = {}
    for request in range(400):
        name = f"cache {rng.integers(0, 9)}"
        path = (name, *rng.integers(0, 2, size=int(rng.integers(1, 12))).tolist())
        ids = [known.setdefault(path[: end + 1], len(known)) for end in range(1, len(path))]
        builder.add(ids, time=float(request), length=len(ids) * 16 - 3, namespace=name, session=name)
    return builder.build()


def same(one: CapacityCurve, other: CapacityCurve) -> bool:
    return one.totals == other.totals and all(
        a.cold.block == pytest.approx(b.cold.block, abs=1e-12)
        and a.cold.token == pytest.approx(b.cold.token, abs=1e-12)
        and a.warm.request_mean == pytest.approx(b.warm.request_mean, abs=1e-12)
        for a, b in zip(one.points(CAPACITIES), other.points(CAPACITIES), strict=True)
    )


def test_buckets_and_bytes(columns: Columns) -> None:
    pytest.importorskip("pyarrow", reason="promptlint-cache[ray] is not installed")
    from promptlint.trace.cluster import from_bytes, kernel, merged, split, to_bytes

    whole = kernel(columns)
    parts = [kernel(part) for part in split(columns, 5)]
    assert len(parts) > 1
    assert same(whole, merged(parts))
    assert same(whole, from_bytes([to_bytes(part) for part in parts]))


@pytest.mark.slow
def test_pool(columns: Columns) -> None:
    from promptlint.trace.cluster import kernel, on_pool

    assert same(kernel(columns), on_pool(columns, 2))


def test_spark_kernel_over_partitions(columns: Columns) -> None:
    pytest.importorskip("pyarrow", reason="promptlint-cache[ray] is not installed")
    from promptlint.trace.arrow import table_of
    from promptlint.trace.cluster import from_bytes, kernel, spark_kernel, split

    rows = []
    for part in split(columns, 4):
        # Spark gives no order within a partition.
        shuffled = part.take(np.random.default_rng(1).permutation(part.requests))
        rows += [
            row
            for batch in spark_kernel(iter(table_of(shuffled).to_batches(50)))
            for row in batch["curve"].to_pylist()
        ]
    assert same(kernel(columns), from_bytes(rows))


def test_parquet_goes_round(columns: Columns, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow", reason="promptlint-cache[ray] is not installed")
    from promptlint.trace.arrow import read_columns, row_groups, write_columns
    from promptlint.trace.cluster import kernel

    path = tmp_path / "log.parquet"
    assert write_columns(columns, str(path), rows=100) == 400
    assert len(row_groups(str(tmp_path))) == 4
    assert same(kernel(columns), kernel(read_columns(path.as_uri())))


@pytest.mark.slow
def test_ray(columns: Columns, tmp_path: Path) -> None:
    if os.environ.get("PROMPTLINT_RAY") != "1":
        pytest.skip("PROMPTLINT_RAY=1 starts a local Ray cluster")
    pytest.importorskip("ray")
    from promptlint.trace.arrow import write_columns
    from promptlint.trace.cluster import kernel, on_ray

    path = tmp_path / "log.parquet"
    write_columns(columns, str(path), rows=90)
    assert same(kernel(columns), on_ray(str(path), "local", buckets=3))
