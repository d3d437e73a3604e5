"""The report for people: summary, the worst causes, the curve."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from promptlint.trace.report.plot import plot
from promptlint.words import counted

Style = Callable[..., str]
_WORST = 5


def render(data: dict[str, Any], style: Style, width: int, *, ascii_: bool = False) -> str:
    """Return the report; ``style`` colours a text as `click.style` does, or leaves it."""
    lines = [*_summary(data, style), *_causes(data, style)]
    if data["simulation"]:
        lines += _simulation(data["simulation"], style, width, ascii_)
    lines += _notes(data["summary"], style)
    return "\n".join(lines) + "\n"


def _percent(value: float) -> str:
    return f"{value * 100:.1f} %"


def _summary(data: dict[str, Any], style: Style) -> list[str]:
    summary = data["summary"]
    logs = ", ".join(f"{name} ({form})" for name, form in summary["logs"].items())
    lines = [style(logs, bold=True)]
    when = f", {summary['first']} to {summary['last']}" if summary["first"] else ""
    lines.append(f"{counted(summary['requests'], 'request')}{when}")
    if rates := summary["hit_rates"]:
        usage, token = summary["usage"], rates["token"]
        lines.append(
            f"counted by the provider: {_percent(token['value'])} of {counted(usage['input_tokens'], 'input token')} read, "
            f"{usage['written_tokens']:,} written; mean of requests {_percent(rates['request_mean']['value'])}; "
            f"{rates['request_any']['numerator']:,} of {counted(rates['request_any']['denominator'], 'request')} read something"
        )
        agree = data["reconciliation"]["requests_that_agree"]
        lines.append(
            f"the rules ({', '.join(summary['profiles'])}) predict {agree['numerator']:,} of "
            f"{counted(agree['denominator'], 'count')} within 16 tokens or 2 %"
        )
    reasons = [
        f"{reason} {row['requests']:,}" for reason, row in summary["reasons"].items() if row["requests"]
    ]
    if reasons:
        lines.append("what became of them: " + ", ".join(reasons))
    return [*lines, ""]


def _causes(data: dict[str, Any], style: Style) -> list[str]:
    causes, summary = data["causes"], data["summary"]
    if not causes:
        return [style("No miss that somebody could mend.", fg="green"), ""] if summary["reasons"] else []
    lost = counted(summary["lost_tokens"], "token")
    if summary["lost_usd"] is not None:
        lost += f", ${summary['lost_usd']:,.2f}"
    listed = "One cause" if len(causes) == 1 else f"The worst of {len(causes)} causes"
    lines = [style(f"Lost: {lost}. {listed}:", bold=True)]
    for number, row in enumerate(causes[:_WORST], 1):
        money = f", ${row['usd']:,.2f}" if row["usd"] is not None else ""
        lines.append(
            f"{number}. {style(row['kind'], fg='yellow')} ({row['reason']}): {counted(row['lost_tokens'], 'token')}{money} "
            f"in {counted(row['requests'], 'request')}"
        )
        lines.append(f"   {row['example']['file']}:{row['example']['line']}: {row['message']}")
        if row["source"]:
            found = row["source"]
            lines.append(
                f"   {style('source:', bold=True)} {found['code']} at {found['file']}:{found['line']}"
            )
    if not summary["texts_shown"] and any("'" in row["message"] for row in causes[:_WORST]):
        lines.append("   texts are shown as shapes, digits as 9 and letters as a; --show-text shows them")
    return [*lines, ""]


def _simulation(data: dict[str, Any], style: Style, width: int, ascii_: bool) -> list[str]:
    curve = data["curve"]
    size = f"{data['block_size']} {data['unit']}"
    kind = "LRU, one cache" if data["caches"] == "shared" else f"LRU, one cache for each {data['caches']}"
    sampled = f", sample of {data['sampled']:g} of the blocks" if data["sampled"] else ", exact"
    lines = [
        style(f"Hit ratio by capacity ({kind}, blocks of {size}{sampled})", bold=True),
        f"{counted(data['block_references'], 'block reference')}, {data['unique_blocks']:,} distinct,"
        + f" {data['input_tokens']:,} {data['unit']}; {_percent(data['first_use_ratio'])} of the references"
        + " came for the first time, which no cache hits",
    ]
    points = [
        (float(row["capacity_blocks"]), row["token_hit_ratio"]) for row in curve if row["capacity_blocks"] > 0
    ]
    if any(ratio for _, ratio in points):  # a line along the bottom says nothing
        lines += plot(points, max(20, min(72, width - 12)), ascii_=ascii_)
    asked = [row for row in curve if row["capacity_blocks"] in data["asked"]] or [curve[-1]]
    for row in asked:
        gib = f" ({row['capacity_gib']:.2f} GiB)" if "capacity_gib" in row else ""
        error = row.get("standard_error")
        around = f" ± {_percent(error['token'])}" if error else ""
        lines.append(
            f"{counted(row['capacity_blocks'], 'block')}{gib}: {_percent(row['token_hit_ratio'])}{around} of {data['unit']}, "
            f"{_percent(row['block_hit_ratio'])} of blocks, {_percent(row['request_mean_hit_ratio'])} mean of requests; "
            f"warm {_percent(row['warm']['token_hit_ratio'])} of {data['unit']}"
        )
    if not data["ttl"]:
        return [*lines, ""]
    ttl = ", ".join(f"{_span(row['ttl_seconds'])} {_percent(row['token_hit_ratio'])}" for row in data["ttl"])
    lines += [f"by lifetime, no limit of capacity (of {data['unit']}): {ttl}"]
    if talk := data.get("continuity"):
        again = ""
        if talk["changed"]:
            again = (
                f", {talk['changed']:,} change its prefix (at {_percent(talk['shared'])} of it, median):"
                f" {talk['again_tokens']:,} {data['unit']} to compute again, unless another request left them in the cache"
            )
        lines.append(
            f"{counted(talk['followers'], 'request')} behind another one of the same conversation: {talk['continued']:,} continue"
            f" it{again}"
        )
    for row in data.get("engines", ()):
        limit = counted(row["capacity_tokens"], "token") if row["capacity_tokens"] else "no limit"
        lines.append(
            f"{row['engine']}, {limit}: {_percent(row['token_hit_ratio'])} of {counted(row['input_tokens'], 'input token')}, "
            f"{counted(row['refused'], 'request')} too large"
        )
    for row in data.get("policies", ()):
        size = counted(row["capacity_blocks"], "block") if row["capacity_blocks"] else "no limit"
        lines.append(f"{row['policy']}, {size}: {_percent(row['token_hit_ratio'])} of {data['unit']}")
    for row in data.get("routing", ()):
        size = row["capacity_blocks_per_replica"]
        each = f"{counted(size, 'block')} each" if size else "no limit"
        lines.append(
            f"{counted(row['replicas'], 'replica')}, {row['router']}, {each}: {_percent(row['token_hit_ratio'])} of {data['unit']}; "
            f"the busiest has {row['busiest_share']:.2f} times the mean"
        )
    return [*lines, ""]


def _span(seconds: float) -> str:
    for unit, name in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= unit and seconds % unit == 0:
            return f"{seconds / unit:g} {name}"
    return f"{seconds:g} s"


def _notes(summary: dict[str, Any], style: Style) -> list[str]:
    lines, skipped = [], summary["skipped"]
    if skipped["lines"]:
        lines.append(style(f"{counted(skipped['lines'], 'line')} could not be read:", fg="yellow"))
        lines += [f"  {row['file']}:{row['line']}: {row['why']}" for row in skipped["examples"][:5]]
    if skipped["duplicates"]:
        lines.append(f"left out: {counted(skipped['duplicates'], 'duplicate')}")
    if skipped["out_of_order"]:
        lines.append(f"{counted(skipped['out_of_order'], 'request')} came too late to be put in order")
    if summary["findings_left_out"]:
        lines.append(f"counted and not listed: {counted(summary['findings_left_out'], 'finding')}")
    if summary["interrupted"]:
        lines.append(style("interrupted: this is what had been read until then", fg="yellow"))
    return lines
