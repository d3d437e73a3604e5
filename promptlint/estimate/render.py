"""The ledgers as text for a terminal."""

from __future__ import annotations

from promptlint.estimate.money import Money, rounded
from promptlint.estimate.report import Estimate
from promptlint.words import counted

_SHOWN_USES = (1, 2, 3, 4, 5, 10, 20)


def size(count: float) -> str:
    """Return bytes with a binary unit, large ones in GB as well.

    >>> size(131072), size(524288000), size(1310720000)
    ('128 KiB', '500 MiB', '1.22 GiB (1.31 GB)')
    """
    decimal = count / 1e9
    for unit in ("B", "KiB", "MiB"):
        if count < 1024:
            return f"{count:.4g} {unit}"
        count /= 1024
    return f"{count:.2f} GiB ({decimal:.3g} GB)"


def text(estimate: Estimate) -> str:
    """Return the whole report."""
    lines = [*_compute(estimate), *_memory(estimate), *_time(estimate), *_money(estimate.money, estimate)]
    lines += ["assumptions", *(f"  {line}" for line in estimate.assumptions), "", *estimate.advice]
    return "\n".join(lines)


def _compute(estimate: Estimate) -> list[str]:
    c = estimate.compute
    lines = [
        "compute",
        f"  reusable ratio r   {rounded(100 * c.reusable_ratio, 2)} %   (P = {c.prefix:,}, Q = {c.new:,})",
    ]
    speed = f"  prefill on a hit   {c.linear_speedup:.3g} times less work in linear layers"
    if (
        c.flop_speedup is not None
        and c.linear_miss
        and c.linear_hit
        and c.attention_share
        and c.attention_share_last
    ):
        lines.append(f"{speed}; {c.flop_speedup:.3g} times with attention, which is what to expect")
        lines.append(f"  linear FLOPs       {c.linear_miss:.3g} without, {c.linear_hit:.3g} with the cache")
        lines.append(
            f"  attention          {rounded(100 * c.attention_share)} % of the linear work over the prompt, "
            f"{rounded(100 * c.attention_share_last)} % at its last token"
        )
    else:
        lines.append(speed)
    if estimate.open_holes:
        lines.append(
            f"  at most: {counted(estimate.open_holes, 'hole')} counted as 1 token each; --new says how many they hold"
        )
    if len(estimate.breaks) > 1:
        lines.append("  if the first change stood at token")
        lines += [
            f"    {b.at:>9,}   r = {rounded(100 * b.reusable_ratio)} %   {b.speedup:.3g} times less linear work"
            for b in estimate.breaks
        ]
    return [*lines, ""]


def _memory(estimate: Estimate) -> list[str]:
    m = estimate.memory
    if m is None:
        return []
    lines = [
        "memory",
        f"  keys and values    {size(m.kv_bytes_per_token)} a token, {size(m.prefix_bytes)} for the prefix",
    ]
    if m.prefixes_that_fit is not None and m.memory_bytes:
        lines.append(
            f"  that fit           {counted(m.prefixes_that_fit, 'prefix', 'prefixes')} in {m.memory_bytes / 1e9:,.4g} GB "
            f"beside {m.weight_bytes / 1e9:,.3g} GB of weights"
        )
    return [*lines, ""]


def _time(estimate: Estimate) -> list[str]:
    t, a = estimate.time, estimate.with_attention
    if t is None:
        return []
    lines = [
        "time",
        f"  prefill            {t.prefill_miss_ms:,.0f} ms without, {t.prefill_hit_ms:,.0f} ms with the cache",
    ]
    if a is not None:
        lines.append(f"    with attention   {a.prefill_miss_ms:,.0f} ms and {a.prefill_hit_ms:,.0f} ms")
    lines.append(
        f"  first token        {t.ttft_miss_ms:,.0f} ms and {t.ttft_hit_ms:,.0f} ms ({t.speedup:.2g} times) "
        f"with {t.fixed_ms:,.0f} ms fixed"
    )
    return [*lines, ""]


def _money(money: Money, estimate: Estimate) -> list[str]:
    even = (
        "never"
        if money.break_even_reuses is None
        else f"from {rounded(money.break_even_reuses, 2)} reuses on"
        if money.break_even_reuses
        else "from the first reuse on"
    )
    head = (
        f"  {money.profile}{f', {money.model}' if money.model else ''}: write {money.write_multiplier:g}, "
        f"read {money.read_multiplier:g} times the ordinary price"
    )
    if money.below_minimum:
        other = "".join(f" or {alt:,}" for alt in money.minimum_alternatives)
        short = (
            f"  the prefix is under the minimum of {money.below_minimum:,}{other} tokens: nothing is cached"
        )
        return ["money", head, short, ""]
    if money.read_multiplier == money.write_multiplier == 1 and money.price is None:
        return [
            "money",
            f"  {money.profile}: no token has a price of its own; a hit saves compute and time",
            "",
        ]
    lines = ["money", f"{head}; it pays {even}"]
    lines.append("  the prefix alone, against no cache:")
    shown = {*_SHOWN_USES, estimate.reuses + 1 if estimate.reuses is not None else 1}
    for row in money.table:
        if row.uses in shown:
            usd = "" if row.usd is None else f", costs ${row.usd:.4g}"
            chosen = "  <- stated" if estimate.reuses is not None and row.uses == estimate.reuses + 1 else ""
            lines.append(
                f"    {row.uses:>3} {'use ' if row.uses == 1 else 'uses'}   {rounded(abs(row.saving_percent)):>6} % {'more' if row.saving_percent < 0 else 'saved'}{usd}{chosen}"
            )
    lines += _traffic(money)
    return [*lines, ""]


def _traffic(money: Money) -> list[str]:
    traffic = money.traffic
    if traffic is None:
        return []
    said = (
        f"  one request in {traffic.interval:,.0f} s against a lifetime of {traffic.lifetime:,.0f} s: "
        f"{traffic.hit_rate:.0%} hit if they come at random; costs {traffic.relative_cost:.3g} times what no cache would"
    )
    lines = [said]
    if not traffic.regular:
        lines.append("  low traffic: at that interval exactly, every request writes anew and none reads")
    if traffic.pays_up_to is not None:
        lines.append(f"  on average it pays up to one request in {traffic.pays_up_to:,.0f} s")
    return lines
