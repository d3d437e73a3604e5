"""The curve against a cache that is nothing but a list."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from promptlint.trace.columns import Builder, Columns
from promptlint.trace.curve.capacity import CapacityCurve, capacity_curve, chunks, separate_curves
from promptlint.trace.curve.lifetime import lifetime_curve
from promptlint.trace.curve.sample import sampled_curve

BLOCK = 4


def columns_of(
    requests: list[list[int]], lengths: list[int] | None = None, times: list[float] | None = None
) -> Columns:
    builder = Builder(BLOCK)
    for number, blocks in enumerate(requests):
        builder.add(
            blocks,
            time=times[number] if times else float(number),
            length=lengths[number] if lengths else None,
        )
    return builder.build()


def naive_lru(
    requests: list[list[int]], lengths: list[int], capacity: int
) -> tuple[float, float, float, float]:
    """Return block, token, mean and any ratio of a list that holds the newest block last."""
    cache: list[int] = []
    blocks = tokens = anyhit = 0
    share = 0.0
    for request, length in zip(requests, lengths, strict=True):
        hit = 0
        while hit < len(request) and request[hit] in cache:
            hit += 1
        for block in reversed(request):
            if block in cache:
                cache.remove(block)
            cache.append(block)
        del cache[: max(0, len(cache) - capacity)]
        blocks += hit
        tokens += min(hit * BLOCK, length)
        share += hit / len(request)
        anyhit += hit > 0
    return (
        blocks / sum(map(len, requests)),
        tokens / sum(lengths),
        share / len(requests),
        anyhit / len(requests),
    )


@st.composite
def chain_logs(draw: st.DrawFn) -> tuple[list[list[int]], list[int]]:
    """Draw requests whose blocks are paths of a small tree: equal id, equal prefix."""
    known: dict[tuple[int, ...], int] = {}
    requests, lengths = [], []
    for _ in range(draw(st.integers(1, 25))):
        path = draw(st.lists(st.integers(0, 2), min_size=1, max_size=7))
        ids = [known.setdefault(tuple(path[: end + 1]), len(known)) for end in range(len(path))]
        requests.append(ids)
        lengths.append(draw(st.integers((len(ids) - 1) * BLOCK + 1, len(ids) * BLOCK)))
    return requests, lengths


@settings(max_examples=150, deadline=None)
@given(chain_logs())
def test_every_capacity_equals_the_list(log: tuple[list[list[int]], list[int]]) -> None:
    requests, lengths = log
    curve = capacity_curve(columns_of(requests, lengths))
    for point in curve.points(range(1, 21)):
        expected = naive_lru(requests, lengths, int(point.at))
        got = (point.cold.block, point.cold.token, point.cold.request_mean, point.cold.request_any)
        assert got == pytest.approx(expected, abs=1e-12), point.at


@settings(max_examples=60, deadline=None)
@given(chain_logs(), st.integers(1, 9))
def test_chunks_change_nothing(log: tuple[list[list[int]], list[int]], size: int) -> None:
    columns = columns_of(*log)
    whole = capacity_curve(columns)
    pieces = CapacityCurve(columns.requests // 2)
    for chunk in chunks(columns, size):
        pieces.add(chunk)
    for one, other in zip(whole.points(range(1, 21)), pieces.points(range(1, 21)), strict=True):
        for ratios, others in ((one.cold, other.cold), (one.warm, other.warm)):
            assert (ratios.block, ratios.token) == pytest.approx((others.block, others.token), abs=1e-12)
            assert ratios.request_mean == pytest.approx(others.request_mean, abs=1e-12)
    assert whole.unique_blocks == pieces.unique_blocks


@settings(max_examples=60, deadline=None)
@given(chain_logs(), st.lists(st.floats(0, 10), min_size=25, max_size=25))
def test_lifetimes_equal_a_table_of_last_touches(
    log: tuple[list[list[int]], list[int]], gaps: list[float]
) -> None:
    requests, lengths = log
    times = np.cumsum(gaps[: len(requests)]).tolist()
    for point in lifetime_curve(columns_of(requests, lengths, times), [0.5, 3.0, 20.0]):
        touched: dict[int, float] = {}
        hits = 0
        for blocks, now in zip(requests, times, strict=True):
            for block in blocks:
                if block not in touched or now - touched[block] > point.at:
                    break
                hits += 1
            touched.update(dict.fromkeys(blocks, now))
        assert point.cold.block == pytest.approx(hits / sum(map(len, requests)), abs=1e-12)


def test_worked_example() -> None:
    # a b c | a b d | a b c: the third request finds c at distance 4 (below a, b, d)
    curve = capacity_curve(columns_of([[1, 2, 3], [1, 2, 4], [1, 2, 3]]))
    ratios = {int(point.at): point.cold.block for point in curve.points([1, 2, 3, 4])}
    assert ratios == {1: 2 / 9, 2: 4 / 9, 3: 4 / 9, 4: 5 / 9}


def test_blocks_hashed_one_by_one_are_chained() -> None:
    # The same second block behind another first one is another prefix.
    columns = columns_of([[1, 2], [3, 2], [1, 2]])
    assert not columns.is_chained()
    chained = columns.chained()
    assert chained.is_chained()
    assert len(set(chained.ids.tolist())) == 4
    assert capacity_curve(chained).points([100])[0].cold.block == pytest.approx(2 / 6)


def test_separate_caches_add_up() -> None:
    builder = Builder(BLOCK)
    for name in ("a", "b", "a", "b"):
        builder.add([1, 2, 3], namespace=name)
    columns = builder.build().separated()
    assert len(set(columns.ids.tolist())) == 6
    apart = separate_curves(columns)
    assert apart.points([3])[0].cold.block == pytest.approx(0.5)
    assert capacity_curve(columns).points([3])[0].cold.block == 0  # one cache of three holds only one of them


def test_sample_is_near_and_says_how_near() -> None:
    rng = np.random.default_rng(5)
    known: dict[tuple[int, ...], int] = {}
    requests = []
    for _ in range(3000):
        path = (int(rng.zipf(1.5)) % 400, *rng.integers(0, 3, size=int(rng.integers(5, 30))).tolist())
        requests.append([known.setdefault(path[: end + 1], len(known)) for end in range(len(path))])
    columns = columns_of(requests)
    exact = capacity_curve(columns)
    capacities = [200, 1000, 5000]
    rows = sampled_curve(columns, 0.5).rows(capacities)
    for truth, (point, error) in zip(exact.points(capacities), rows, strict=True):
        assert 0 < error.block < 0.1
        assert abs(truth.cold.block - point.cold.block) < 5 * error.block + 0.01


@settings(max_examples=60, deadline=None)
@given(chain_logs(), st.lists(st.integers(0, 3), min_size=25, max_size=25))
def test_caches_counted_in_a_row_equal_caches_counted_apart(
    log: tuple[list[list[int]], list[int]], rooms: list[int]
) -> None:
    builder = Builder(BLOCK)
    for (blocks, length), room in zip(zip(*log, strict=True), rooms, strict=False):
        builder.add(blocks, length=length, namespace=str(room))
    columns = builder.build().separated()
    apart = CapacityCurve(0)
    for number in range(len(columns.namespaces)):
        apart.merge(capacity_curve(columns.take(np.flatnonzero(columns.namespace == number))))
    for one, other in zip(
        separate_curves(columns).points(range(1, 15)), apart.points(range(1, 15)), strict=True
    ):
        assert one.cold.block == pytest.approx(other.cold.block, abs=1e-12)
        assert one.warm.token == pytest.approx(other.warm.token, abs=1e-12)
        assert one.warm.request_mean == pytest.approx(other.warm.request_mean, abs=1e-12)
