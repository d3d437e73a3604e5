"""The numbers of a simulation, as one structure for every output."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from promptlint.trace.curve.capacity import DEFINITIONS, CapacityCurve, Point, capacity_curve
from promptlint.trace.curve.lifetime import DEFAULT_LIFETIMES, lifetime_curve
from promptlint.trace.options import Options, capacity_blocks
from promptlint.trace.simulate.continuity import continuity

if TYPE_CHECKING:
    from promptlint.trace.columns import Columns

__all__ = ["DEFINITIONS", "simulate"]


def simulate(columns: Columns, options: Options, unit: str) -> dict[str, Any]:
    """Run everything that was asked for over the columns of a log.

    Raises:
        UsageError: a capacity, engine, policy or router that does not exist.
    """
    asked = asked_capacities(options, columns.block_tokens)
    if options.caches == "session":
        columns = by_session(columns)
    curve, unique = _curve(columns, options, asked)
    result: dict[str, Any] = {
        "unit": unit,
        "block_size": columns.block_tokens,
        "requests": columns.requests,
        "input_tokens": columns.tokens,
        "block_references": columns.references,
        "unique_blocks": unique,
        "first_use_ratio": unique / columns.references if columns.references else 0.0,
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
    if (found := continuity(columns)) is not None:
        result["continuity"] = found.data()
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
                **_ratios(run(columns, POLICIES[name](columns, size), size)),
            }
            for name in options.policies
            for size in sizes
        ]
    if options.replicas:
        from promptlint.trace.simulate.routing import ROUTERS, what_if

        known = len(set(columns.session.tolist())) > 1
        routers = [router for router in ROUTERS if router != "session" or known]
        result["routing"] = [
            {
                "router": router,
                "replicas": count,
                "capacity_blocks_per_replica": size,
                "busiest_share": routed.busiest_share,
                **_ratios(routed.point),
            }
            for count in options.replicas
            for router in routers
            for size in sizes
            for routed in [what_if(columns, router, count, size)]
        ]
    return result


def asked_capacities(options: Options, block: int) -> list[int]:
    """Return the capacities that were asked for, in blocks.

    Raises:
        UsageError: a capacity that cannot be understood.
    """
    return [capacity_blocks(text, block, options.kv_bytes) for text in options.capacities]


def _curve(columns: Columns, options: Options, asked: list[int]) -> tuple[list[dict[str, Any]], int]:
    """Return the rows of the capacity curve, and the number of distinct blocks."""
    if options.sample is not None:
        from promptlint.trace.curve.sample import sampled_curve

        sampled = sampled_curve(columns, options.sample)
        rows = sampled.rows(sorted({*asked, *sampled.knees()}))
        return [
            {**_point(point, columns.block_tokens, options.kv_bytes), "standard_error": asdict(error)}
            for point, error in rows
        ], sampled.unique_blocks
    if options.caches == "shared":
        whole = capacity_curve(columns)
    else:
        from promptlint.trace.cluster import on_pool

        whole = on_pool(columns, options.jobs)
    return curve_rows(whole, asked, columns.block_tokens, options.kv_bytes), whole.unique_blocks


def curve_rows(
    curve: CapacityCurve, asked: list[int], block: int, kv_bytes: int | None
) -> list[dict[str, Any]]:
    """Return the ratios at the capacities asked for and at some more, for a plot."""
    return [_point(point, block, kv_bytes) for point in curve.points(sorted({*asked, *curve.knees()}))]


def from_cluster(curve: CapacityCurve, block: int, options: Options) -> dict[str, Any]:
    """Return the numbers of a curve that a cluster has counted."""
    asked = asked_capacities(options, block)
    return {
        "unit": "tokens",
        "block_size": block,
        "requests": curve.totals.requests,
        "input_tokens": curve.totals.tokens,
        "block_references": curve.totals.blocks,
        "unique_blocks": curve.unique_blocks,
        "first_use_ratio": curve.unique_blocks / max(1, curve.totals.blocks),
        "caches": "namespace",
        "sampled": None,
        "asked": asked,
        "curve": curve_rows(curve, asked, block, options.kv_bytes),
        "ttl": [],
    }


def by_session(columns: Columns) -> Columns:
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
