"""The curve of many caches on many cores or machines: one kernel, four ways to run it.

Caches that share nothing can be counted apart, and their histograms add up::

    rows ──split by cache──▶ buckets ──kernel──▶ histograms ──merge──▶ curve
            (any order)     (whole caches, oldest request first)

Run in this process, in a pool of processes, on Ray, or by Spark's ``mapInArrow``, the kernel and the
sums are the same, and so are the counts.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any
from zlib import crc32

import numpy as np

from promptlint import workers
from promptlint.errors import UsageError
from promptlint.trace.arrow import columns_of, load_pyarrow, read_group, row_groups
from promptlint.trace.columns import Columns
from promptlint.trace.curve.capacity import CapacityCurve, separate_curves

if TYPE_CHECKING:
    import pyarrow


_WORTH_A_POOL = 20_000_000  # block references, about two seconds of one core


def bucket_of(namespace: str, buckets: int) -> int:
    """Return the bucket of a cache; the same in every process and on every machine."""
    return crc32(namespace.encode("utf-8", "surrogatepass")) % buckets


def split(columns: Columns, buckets: int) -> list[Columns]:
    """Return the requests of each bucket, empty buckets left out."""
    where = np.array([bucket_of(name, buckets) for name in columns.namespaces], dtype=np.int64)
    chosen = where[columns.namespace]
    parts = [columns.take(np.flatnonzero(chosen == number)) for number in range(buckets)]
    return [part for part in parts if part.requests]


def kernel(columns: Columns) -> CapacityCurve:
    """Return the summed curve of all caches in ``columns``."""
    return separate_curves(columns)


def merged(curves: Iterable[CapacityCurve]) -> CapacityCurve:
    """Return the sum of curves."""
    total = CapacityCurve(0)
    for curve in curves:
        total.merge(curve)
    return total


def on_pool(columns: Columns, jobs: int) -> CapacityCurve:
    """Return the curve, counted by ``jobs`` processes; 0 takes all cores where that is worth starting them."""
    jobs = jobs or (os.cpu_count() or 1 if columns.references > _WORTH_A_POOL else 1)
    if jobs < 2:
        return kernel(columns)
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn"), initializer=workers.begin) as pool:
        return merged(pool.map(kernel, split(columns, 4 * jobs)))


def on_ray(place: str, address: str, buckets: int = 0) -> CapacityCurve:
    """Return the curve of a log in Parquet, counted on a Ray cluster.

    ``address`` is that of a cluster, or ``local`` for one on this machine. Workers read the row
    groups themselves; only histograms come back. One bucket must fit into one worker's memory.

    Raises:
        UsageError: Ray is not installed.
        InputError: the log cannot be read.
    """
    try:
        import ray
    except ImportError:
        raise UsageError("--ray needs Ray", "install promptlint-cache[ray]") from None
    pieces = row_groups(place)
    ray.init(address=address, ignore_reinit_error=True, log_to_driver=False)
    count = buckets or max(1, min(len(pieces), 4 * int(ray.cluster_resources().get("CPU", 1))))
    scatter = ray.remote(num_returns=count)(_scatter)
    gather = ray.remote(_gather)
    parts = [scatter.remote(piece, count) for piece in pieces]
    rows = [[part] if count == 1 else part for part in parts]
    return merged(ray.get([gather.remote(*(row[number] for row in rows)) for number in range(count)]))


def _scatter(piece: tuple[str, int], buckets: int) -> Any:
    """Read one row group and cut it by bucket."""
    arrow = load_pyarrow()
    table = read_group(piece)
    where = np.array([bucket_of(name, buckets) for name in table["namespace"].to_pylist()], dtype=np.int64)
    parts = [table.take(arrow.array(np.flatnonzero(where == number))) for number in range(buckets)]
    return parts[0] if buckets == 1 else tuple(parts)


def _gather(*parts: pyarrow.Table) -> CapacityCurve:
    """Count one bucket."""
    table = load_pyarrow().concat_tables(parts)
    return kernel(columns_of(table)) if table.num_rows else CapacityCurve(0)


def spark_kernel(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
    """Count one partition, for ``DataFrame.mapInArrow``; docs/trace-at-scale.md shows the call.

    All requests of a cache must lie in one partition. Yields one row with the histograms as bytes.
    """
    arrow = load_pyarrow()
    found = [batch for batch in batches if batch.num_rows]
    if found:
        curve = kernel(columns_of(arrow.Table.from_batches(found)))
        yield arrow.RecordBatch.from_pydict({"curve": [to_bytes(curve)]})


def to_bytes(curve: CapacityCurve) -> bytes:
    """Return a curve as bytes, readable by `from_bytes` in any version that knows the same arrays."""
    buffer = io.BytesIO()
    arrays: dict[str, Any] = dict(curve.arrays())
    np.savez_compressed(buffer, **arrays)
    return buffer.getvalue()


def from_bytes(rows: Sequence[bytes]) -> CapacityCurve:
    """Return the sum of curves that were made bytes."""
    curves = []
    for row in rows:
        with np.load(io.BytesIO(row), allow_pickle=False) as arrays:
            curves.append(CapacityCurve.from_arrays(dict(arrays)))
    return merged(curves)
