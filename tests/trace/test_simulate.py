"""Simulators against each other, and against logs small enough to work out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from promptlint.errors import UsageError
from promptlint.trace.columns import Builder, Columns
from promptlint.trace.simulate.continuity import continuity
from promptlint.trace.simulate.engines import run_engine
from promptlint.trace.simulate.policies import POLICIES, run
from promptlint.trace.simulate.routing import assign, what_if


def log(*rows: tuple[str, list[int], int]) -> Columns:
    builder = Builder(4)
    for number, (session, ids, length) in enumerate(rows):
        builder.add(ids, time=float(number), length=length, session=session)
    return builder.build()


def test_continuity() -> None:
    columns = log(
        ("a", [1, 2, 3], 12),
        ("b", [9], 4),
        ("a", [1, 2, 3, 4], 14),  # continues
        ("a", [1, 2, 3, 5, 6], 20),  # continues: block 4 was not full
        ("a", [1, 7, 8], 12),  # agrees in one of five blocks, eight tokens again
    )
    found = continuity(columns)
    assert found is not None
    assert (found.followers, found.continued, found.changed, found.again_tokens) == (3, 2, 1, 8)
    assert found.shared == pytest.approx(0.2)


def test_continuity_of_requests_without_a_full_block() -> None:
    # The last ones stand behind the end of all ids.
    columns = log(("b", [1], 4), ("b", [1], 5), ("a", [2], 5), ("a", [], 3), ("a", [], 3))
    found = continuity(columns)
    assert found is not None
    assert (found.followers, found.continued, found.changed) == (3, 3, 0)


def test_continuity_needs_conversations() -> None:
    assert continuity(log(("", [1], 4), ("", [1], 4))) is None
    assert continuity(log(("a", [1], 4), ("b", [1], 4))) is None


def test_engines_compute_the_last_token() -> None:
    # Twice the same twelve tokens: vLLM finds two of three blocks, SGLang with pages of four too.
    columns = log(("", [1, 2, 3], 12), ("", [1, 2, 3], 12), ("", [1, 2, 3, 4], 16))
    for engine in ("vllm", "sglang"):
        result = run_engine(columns, engine, None)
        assert (result.requests, result.refused, result.input_tokens, result.hit_tokens) == (3, 0, 40, 8 + 12)


def test_engines_refuse_what_does_not_fit() -> None:
    result = run_engine(log(("", [1, 2, 3], 12), ("", [4], 4)), "vllm", 2)
    assert (result.requests, result.refused) == (1, 1)


def test_belady_is_never_beaten() -> None:
    rng = np.random.default_rng(3)
    known: dict[tuple[int, ...], int] = {}
    rows = []
    for _ in range(300):
        path = rng.integers(0, 3, size=int(rng.integers(1, 8))).tolist()
        rows.append(
            (
                "",
                [known.setdefault(tuple(path[: n + 1]), len(known)) for n in range(len(path))],
                4 * len(path),
            )
        )
    columns = log(*rows)
    for capacity in (5, 20, 100):
        ratios = {name: run(columns, make(columns, capacity)).cold.block for name, make in POLICIES.items()}
        assert ratios["belady"] >= max(ratios["lru"], ratios["fifo"])


def test_routers() -> None:
    columns = log(*((name, [ord(name), 1000 * ord(name) + turn], 8) for turn in range(4) for name in "abc"))
    assert assign(columns, "round-robin", 2).tolist() == [0, 1] * 6
    for router in ("session", "prefix"):
        where = assign(columns, router, 2)
        assert all(len(set(where[n::3].tolist())) == 1 for n in range(3))
        # Each conversation finds its first block again in all but its first request.
        assert what_if(columns, router, 2, None).point.cold.block == pytest.approx(9 / 24)
    assert what_if(columns, "round-robin", 2, None).point.cold.block == pytest.approx(6 / 24)
    with pytest.raises(UsageError):
        assign(columns, "luck", 2)
