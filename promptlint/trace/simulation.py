"""The numbers of a simulation, as one structure for every output."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from promptlint.trace.curve.capacity import DEFINITIONS, Point, capacity_curve, separate_curves
from promptlint.trace.curve.lifetime import DEFAULT_LIFETIMES, lifetime_curve
from promptlint.trace.options import Options, capacity_blocks

if TYPE_CHECKING:
    from promptlint.trace.columns import Columns

__all__ = ["DEFINITIONS", "simulate"]


def simulate(columns: Columns, options: Options, unit: str) -> dict[str, Any]:
    """Run everything that was asked for over the columns of a log.

    Raises:
        UsageError: a capacity, engine, policy or router that does not exist.
    """
    asked = [capacity_blocks(text, columns.block_tokens, options.kv_bytes) for text in options.capacities]
    if options.caches == "session":
        columns = _by_session(columns)
    sampled = None
    if options.sample is not None:
        from promptlint.trace.curve.sample import sampled_curve

        sampled = sampled_curve(columns, options.sample)
        capacities = sorted({*asked, *sampled.knees()})
        rows = sampled.rows(capacities)
        curve: list[dict[str, Any]] = [
            {**_point(point, columns.block_tokens, options.kv_bytes), "standard_error": asdict(error)}
            for point, error in rows
        ]
        unique = sampled.unique_blocks
    else:
        whole = separate_curves(columns) if options.caches != "shared" else capacity_curve(columns)
        capacities = sorted({*asked, *whole.knees()})
        curve = [_point(p, columns.block_tokens, options.kv_bytes) for p in whole.points(capacities)]
        unique = whole.unique_blocks
    result: dict[str, Any] = {
        "unit": unit,
        "block_size": columns.block_tokens,
        "requests": columns.requests,
        "input_tokens": columns.tokens,
        "block_references": columns.references,
        "unique_blocks": unique,
        "namespaces": len(columns.namespaces),
        "caches": options.caches,
        "sampled": options.sample,
        "asked": asked,
        "curve": curve,
        "ttl": [
            {"ttl_seconds": point.at, **_ratios(point)}
            for point in lifetime_curve(columns, options.lifetimes or DEFAULT_LIFETIMES)
        ],
    }
    sizes: list[int | None] = list(asked) or [None]
    if options.engines:
        from promptlint.trace.simulate.engines import run_engine

        result["engines"] = [
            {**asdict(found), "token_hit_ratio": found.token_hit_ratio}
            for engine in options.engines
            for size in sizes
            for found in [run_engine(columns, engine, size)]
        ]
    if options.policies:
        from promptlint.trace.simulate.policies import POLICIES, run

        result["policies"] = [
            {
                "policy": name,
                "capacity_blocks": size,
                **_named(asdict(run(columns, POLICIES[name](columns, size)))),
            }
            for name in options.policies
            for size in sizes
        ]
    if options.replicas:
        from promptlint.trace.simulate.routing import ROUTERS, what_if

        result["routing"] = [
            {
                "router": router,
                "replicas": count,
                "capacity_blocks_per_replica": size,
                "busiest_share": routed.busiest_share,
                **_ratios(routed.point),
            }
            for count in options.replicas
            for router in ROUTERS
            for size in sizes
            for routed in [what_if(columns, router, count, size)]
        ]
    return result


def _by_session(columns: Columns) -> Columns:
    """Give every conversation a cache of its own."""
    count = int(columns.session.max(initial=0)) + 1
    return replace(
        columns, namespace=columns.session, namespaces=tuple(str(number) for number in range(count))
    ).separated()


def _named(ratios: dict[str, float]) -> dict[str, float]:
    return {f"{name}_hit_ratio": value for name, value in ratios.items()}


def _ratios(point: Point) -> dict[str, Any]:
    return {**_named(asdict(point.cold)), "warm": _named(asdict(point.warm))}


def _point(point: Point, block: int, kv_bytes: int | None) -> dict[str, Any]:
    row: dict[str, Any] = {"capacity_blocks": int(point.at), "capacity_tokens": int(point.at) * block}
    if kv_bytes:
        row["capacity_gib"] = point.at * block * kv_bytes / 2**30
    return {**row, **_ratios(point)}
