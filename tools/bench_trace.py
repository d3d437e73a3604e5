"""Measure `promptlint trace`: curve, text pipeline, explanation. CPU seconds of one process.

usage: PYTHONPATH=. python tools/bench_trace.py FOLDER_WITH_TRACES
       PYTHONPATH=. python tools/bench_trace.py --memory REQUESTS      (one run a process)
       PYTHONPATH=. python tools/bench_trace.py --jobs LOG [TOKENIZER]
"""

from __future__ import annotations

import gzip
import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from promptlint.tokens.choose import open_counter
from promptlint.tokens.vocabulary import load_tiktoken
from promptlint.trace.analyze import analyze
from promptlint.trace.columns import Columns, concatenate
from promptlint.trace.curve.capacity import capacity_curve, separate_curves
from promptlint.trace.curve.sample import sampled_curve
from promptlint.trace.encode import Encoder
from promptlint.trace.options import Options
from promptlint.trace.readers import open_log
from promptlint.trace.simulate.policies import lru, run


def seconds(work: Callable[[], Any], times: int = 3) -> float:
    """Return the best of some runs."""
    best = float("inf")
    for _ in range(times):
        started = time.process_time()
        work()
        best = min(best, time.process_time() - started)
    return best


def copies(columns: Columns, count: int) -> Columns:
    """Return a log that is ``count`` times as long, with new blocks in every copy."""
    from dataclasses import replace

    step = np.uint64(int(columns.ids.max()) + 1)
    span = float(columns.time.max()) + 1
    return concatenate(
        replace(columns, ids=columns.ids + step * np.uint64(n), time=columns.time + span * n)
        for n in range(count)
    )


def curves(folder: Path) -> None:
    """Time the exact curve, the sampled one, and one direct simulation."""
    mooncake = analyze([folder / "mooncake_synthetic_trace.jsonl"], [], Options()).columns
    weka = analyze([folder / "weka_claude_code_60.jsonl.xz"], [], Options()).columns
    assert mooncake is not None
    assert weka is not None
    long = copies(mooncake, 40)
    for name, columns, work in (
        ("mooncake x 1, one cache", mooncake, capacity_curve),
        ("mooncake x 40, one cache", long, capacity_curve),
        ("weka 60, one cache", weka, capacity_curve),
        ("weka 60, a cache each", weka, separate_curves),
    ):
        spent = seconds(lambda columns=columns, work=work: work(columns))
        print(f"{name}: {columns.references:,} references, {columns.references / spent / 1e6:.1f} M/s exact")
    spent = seconds(lambda: sampled_curve(long, 0.05), 1)
    exact = capacity_curve(long)
    sizes = [1000, 10_000, 100_000, 1_000_000]
    for truth, (point, error) in zip(exact.points(sizes), sampled_curve(long, 0.05).rows(sizes), strict=True):
        print(
            f"sample of 5 %, {point.at:,} blocks: {point.cold.token:.4f} +- {error.token:.4f}, exact {truth.cold.token:.4f}"
        )
    print(f"sample of 5 %: {long.references / spent / 1e6:.1f} M/s")
    spent = seconds(lambda: run(mooncake, lru(mooncake, 10_000)), 1)
    print(f"direct LRU, one capacity: {mooncake.references / spent / 1e6:.2f} M/s")


def text(folder: Path) -> None:
    """Time the pipeline over prompts with text, beside bare tokenizers over the same text."""
    rows = []
    for name in ("lmcache_taubench_25", "lmcache_miniswe_4"):
        with gzip.open(folder / f"{name}.jsonl.gz", "rt") as file:
            rows += [json.loads(line) for line in file]
    made = [
        {**row, "input": f"Run {copy}.\n{row['input']}", "session_id": f"{row['session_id']}-{copy}"}
        for copy in range(20)
        for row in rows
    ]
    size = sum(len(row["input"].encode()) for row in made) / 1e6
    quick, plain = open_counter("").counter.encode, load_tiktoken("o200k_base")[0]
    for name, encode in (("splintr-rs", quick), ("tiktoken", plain)):
        bare = seconds(lambda encode=encode: [encode(row["input"]) for row in made], 1)
        print(f"bare {name}: {size:.1f} MB at {size / bare:.1f} MB/s")
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "log.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in made), encoding="utf-8")

        def pipeline(encode: Callable[[str], list[int]]) -> None:
            from promptlint.trace.columns import Builder

            encoder, builder = Encoder(16, encode), Builder(16)
            for request in open_log(path).entries:
                keys, length = encoder.request(request)
                builder.add(keys, length=length, time=request.time or 0.0, session=request.session)
            capacity_curve(builder.build())

        for name, encode in (("splintr-rs", quick), ("tiktoken", plain)):
            spent = seconds(lambda encode=encode: pipeline(encode), 1)
            print(f"parse + tokenize + hash + curve with {name}: {size / spent:.1f} MB/s")
        spent = seconds(lambda: analyze([path], [], Options()), 1)
        print(
            f"the same and every request explained: {size / spent:.1f} MB/s, {len(made) / spent:,.0f} requests/s"
        )


def memory(requests: int) -> None:
    """Count a log of 500 conversations whose 500,000 blocks come again and again: its peak of memory."""
    import resource

    from promptlint.trace.columns import Builder
    from promptlint.trace.simulation import simulate

    rng = np.random.default_rng(1)
    builder = Builder(16)
    known = rng.integers(0, 1 << 62, size=(500, 1000)).astype(np.uint64)
    for request in range(requests):
        size = int(rng.integers(500, 1000))
        ids = known[int(rng.integers(0, 500)), :size]
        builder.add(ids, time=float(request), length=size * 16, session=str(request % 500))
    started = time.process_time()
    columns = builder.build().separated().chained()
    data = simulate(columns, Options(), "tokens")
    spent, peak = time.process_time() - started, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(
        f"{columns.references:,} references, {data['unique_blocks']:,} distinct: {spent:.1f} s, {peak:,} MB"
    )


def jobs(path: Path, tokenizer: str) -> None:
    """Analyze a log with one, two and three processes: CPU seconds of this one and of the others."""
    import resource

    before = 0.0
    for count in (1, 2, 3):
        started = time.process_time()
        found = analyze([path], [], Options(jobs=count, tokenizer=tokenizer))
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        others = used.ru_utime + used.ru_stime
        print(
            f"--jobs {count}: {time.process_time() - started:.2f} s here, {others - before:.2f} s in the others, "
            f"{found.tally.requests:,} requests"
        )
        before = others


if __name__ == "__main__":
    if sys.argv[1] == "--memory":
        memory(int(sys.argv[2]))
    elif sys.argv[1] == "--jobs":
        jobs(Path(sys.argv[2]), "".join(sys.argv[3:4]))
    else:
        curves(Path(sys.argv[1]))
        text(Path(sys.argv[1]))
