"""One kernel in this process, in a pool, as Spark calls it, and on Ray: the same counts."""

from __future__ import annotations

import os
import sys
import warnings
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
        shuffled = table_of(part).take(np.random.default_rng(1).permutation(part.requests))
        rows += [
            row for batch in spark_kernel(iter(shuffled.to_batches(50))) for row in batch["curve"].to_pylist()
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


def test_parquet_keeps_an_order_that_is_not_that_of_times(tmp_path: Path) -> None:
    """A sub-agent runs beside its main thread: its request stands behind one that was sent later."""
    pytest.importorskip("pyarrow", reason="promptlint-cache[ray] is not installed")
    from promptlint.trace.arrow import read_columns, write_columns

    builder = Builder(16)
    for time, order, ids in ((0.0, 0.0, [1]), (9.0, 9.0, [2]), (3.0, 9.0, [3]), (12.0, 12.0, [4])):
        builder.add(ids, time=time, order=order, namespace="a")
    columns = builder.build()
    write_columns(columns, str(tmp_path / "log.parquet"))
    found = read_columns(str(tmp_path / "log.parquet"))
    assert found.ids.tolist() == [1, 2, 3, 4]
    assert found.time.tolist() == [0.0, 9.0, 3.0, 12.0]


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


@pytest.mark.slow
def test_spark(columns: Columns, tmp_path: Path) -> None:
    """The call of docs/trace-at-scale.md on two local executors; the public WEKA trace too, where it is there."""
    if os.environ.get("PROMPTLINT_SPARK") != "1":
        pytest.skip("PROMPTLINT_SPARK=1 starts a local Spark, which needs Java 17")
    sql = pytest.importorskip("pyspark.sql")
    from promptlint.trace.analyze import analyze
    from promptlint.trace.arrow import write_columns
    from promptlint.trace.cluster import from_bytes, kernel, spark_kernel
    from promptlint.trace.options import Options

    logs = {"made": columns}
    public = Path(os.environ.get("PROMPTLINT_TRACES", "")) / "weka_claude_code_60.jsonl.xz"
    if public.is_file() and (found := analyze([public], [], Options()).columns) is not None:
        logs["weka"] = found
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Spark's own, about pandas and sockets
        os.environ["PYSPARK_PYTHON"] = sys.executable
        settings = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false"}
        spark = sql.SparkSession.builder.master("local[2]").config(map=settings).getOrCreate()
        try:
            for name, log in logs.items():
                path = tmp_path / f"{name}.parquet"
                write_columns(log, str(path), rows=90)
                rows = (
                    spark.read.parquet(str(path))
                    .repartition(8, "namespace")
                    .mapInArrow(spark_kernel, "curve binary")
                    .collect()
                )
                assert len(rows) > 1
                assert same(kernel(log), from_bytes([bytes(row.curve) for row in rows]))
        finally:
            spark.stop()
