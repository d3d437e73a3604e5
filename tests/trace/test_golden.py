"""Values that others computed over public traces."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from promptlint.trace.analyze import analyze
from promptlint.trace.columns import Columns
from promptlint.trace.curve.capacity import capacity_curve, separate_curves
from promptlint.trace.curve.lifetime import lifetime_curve
from promptlint.trace.model import Hashed
from promptlint.trace.options import Options
from promptlint.trace.readers import open_log
from promptlint.trace.simulate.policies import lru, run

CLOSE = 1e-6


@pytest.fixture(scope="module")
def expected(traces: Path) -> Any:
    return json.loads((traces / "EXPECTED.json").read_text())


# The first 80 requests of Mooncake's synthetic trace (Apache-2.0), counted with a plain list as cache:
# capacity -> hit blocks, hit tokens, mean of hit blocks / blocks, requests with a hit.
SAMPLE = Path(__file__).parents[1] / "data" / "mooncake_first_80.jsonl"
SAMPLE_COUNTS = {
    100: (28, 14336, 0.011666667, 1),
    500: (90, 46080, 0.033958333, 3),
    1000: (95, 48640, 0.044375, 4),
    10**9: (96, 48832, 0.046458333, 4),
}


def test_committed_sample() -> None:
    columns = columns_of(SAMPLE)
    assert (columns.references, columns.tokens) == (2117, 1057484)
    for point in capacity_curve(columns).points(list(SAMPLE_COUNTS)):
        blocks, tokens, share, requests = SAMPLE_COUNTS[int(point.at)]
        assert point.cold.block * 2117 == pytest.approx(blocks)
        assert point.cold.token * 1057484 == pytest.approx(tokens)
        assert point.cold.request_mean == pytest.approx(share, abs=CLOSE)
        assert point.cold.request_any * 80 == pytest.approx(requests)


def columns_of(path: Path, **options: Any) -> Columns:
    columns = analyze([path], [], Options(**options)).columns
    assert columns is not None
    return columns


@pytest.fixture(scope="module")
def mooncake(traces: Path) -> Columns:
    return columns_of(traces / "mooncake_synthetic_trace.jsonl")


def test_mooncake(mooncake: Columns, expected: Any) -> None:
    want = expected["mooncake_synthetic"]
    curve = capacity_curve(mooncake)
    assert (mooncake.requests, mooncake.references, curve.unique_blocks) == (
        want["requests"],
        want["block_refs"],
        want["unique_blocks"],
    )
    for size in ("1000", "5859", "10000", "30000", "50000", "100000", "None"):
        point = curve.points([10**9 if size == "None" else int(size)])[0]
        row = want[f"lru_{size}"]
        assert point.cold.block == pytest.approx(row["block"], abs=CLOSE)
        assert point.cold.token == pytest.approx(row["token"], abs=CLOSE)
        assert point.cold.request_mean == pytest.approx(row["reqmean"], abs=CLOSE)
        assert point.cold.request_any == pytest.approx(row["reqany"], abs=CLOSE)
        warm = want.get(f"lru_{size}_last50pct_token")
        if warm is not None:
            assert point.warm.token == pytest.approx(warm, abs=CLOSE)
    for point in lifetime_curve(mooncake, [60, 300, 3600]):
        assert point.cold.token == pytest.approx(want[f"ttl_{point.at:.0f}s_token"], abs=CLOSE)


@pytest.mark.slow
def test_one_pass_equals_twenty_simulations(mooncake: Columns) -> None:
    capacities = [
        1,
        3,
        10,
        77,
        200,
        500,
        999,
        1500,
        2500,
        4000,
        5859,
        8000,
        9999,
        12000,
        15000,
        20000,
        25000,
        30000,
    ]
    capacities += [40000, 43924]
    for point in capacity_curve(mooncake).points(capacities):
        direct = run(mooncake, lru(mooncake, int(point.at))).cold
        assert point.cold.block * mooncake.references == pytest.approx(
            direct.block * mooncake.references, abs=1e-6
        )
        assert point.cold.token == pytest.approx(direct.token, abs=1e-12)
        assert point.cold.request_mean == pytest.approx(direct.request_mean, abs=1e-9)


def test_weka(traces: Path, expected: Any) -> None:
    want = expected["weka_60"]
    columns = columns_of(traces / "weka_claude_code_60.jsonl.xz")
    assert (columns.requests, columns.references, columns.tokens, len(columns.namespaces)) == (
        want["requests_incl_subagents"],
        want["block_refs"],
        want["input_tokens"],
        want["traces"],
    )
    apart = separate_curves(columns)
    for size, ratio in want["lru_block_pooled_per_trace_cache"].items():
        assert apart.points([int(size)])[0].cold.block == pytest.approx(ratio, abs=CLOSE)
    assert apart.points([10**9])[0].cold.token == pytest.approx(want["infinite_token_pooled"], abs=CLOSE)
    each = []
    blocks = []
    for number in range(len(columns.namespaces)):
        point = capacity_curve(columns.take((columns.namespace == number).nonzero()[0])).points([10**9])[0]
        each.append(point.cold.token)
        blocks.append(point.cold.block)
    assert sum(each) / len(each) == pytest.approx(want["infinite_token_mean_per_trace"], abs=CLOSE)
    blocks.sort()
    low, *_, high = want["infinite_block_percentiles_0_25_50_75_100"]
    assert (blocks[0], blocks[-1]) == pytest.approx((low, high), abs=6e-5)


def test_weka_lifetimes_of_main_threads(traces: Path, expected: Any) -> None:
    from promptlint.trace.columns import Builder

    builder = Builder(64)
    for entry in open_log(traces / "weka_claude_code_60.jsonl.xz").entries:
        assert isinstance(entry, Hashed)
        if entry.depth == 0:
            builder.add(entry.ids, time=entry.time, length=entry.length, namespace=entry.namespace)
    columns = builder.build().separated()
    for point in lifetime_curve(columns, [300, 3600]):
        want = expected["weka_60"]["ttl_toplevel_token_pooled"][f"{point.at:.0f}"]
        assert point.cold.token == pytest.approx(want, abs=CLOSE)


@pytest.mark.parametrize("name", ["lmcache_taubench_25", "lmcache_miniswe_4"])
def test_text_logs_in_bytes(traces: Path, expected: Any, name: str) -> None:
    want = expected[name]
    path = traces / f"{name}.jsonl.gz"
    shared = columns_of(path, unit="bytes", block=64)
    assert shared.requests == want["requests"]
    assert len(set(shared.session.tolist())) == want["sessions"]
    ratio = capacity_curve(shared).points([10**9])[0].cold.token
    assert ratio == pytest.approx(want["infinite_byte_hit_global_block64B"], abs=CLOSE)
    from promptlint.trace.simulation import by_session

    ratio = separate_curves(by_session(shared)).points([10**9])[0].cold.token
    assert ratio == pytest.approx(want["infinite_byte_hit_session_block64B"], abs=CLOSE)
