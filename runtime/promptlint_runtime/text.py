"""The report as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median

from promptlint.words import counted
from promptlint_runtime.report import Row, Run, Spread, Step, Timing

SHOWN = 40  # rows, unless all are wanted


def render(runs: Sequence[Run], *, every: bool = False) -> str:
    """Return the report of one run, or of several with a comparison behind them."""
    lines: list[str] = []
    for run in runs:
        lines += [*_run(run, every), ""]
    if len(runs) > 1:
        lines += [*compare(runs), ""]
    return "\n".join(lines)


def render_steps(steps: Sequence[Step]) -> str:
    """Return the verdicts of a self-test, nothing if there are none."""
    lines = [f"{'ok  ' if step.passed else 'FAIL'} {step.name}: {step.seen}" for step in steps]
    return "".join(f"{line}\n" for line in [*lines, ""] if lines)


def _run(run: Run, every: bool) -> Iterator[str]:
    setting = run.setting
    room = counted(setting.capacity_tokens, "token") if setting.capacity_tokens else "size not known"
    yield f"{run.title}: {setting.model}, {setting.dtype}, {setting.engine} on {setting.device}"
    yield f"  cache {setting.cache}, blocks of {setting.block_tokens}, {room}, keys and values as {setting.kv_storage}"
    for note in run.notes:
        yield f"  note: {note}"
    if run.partial:
        yield "  PARTIAL: interrupted; what follows covers the requests that were done"
    if run.stopped:
        yield f"  PARTIAL: {run.stopped}; what follows covers the requests that were done"
    yield ""
    yield from _rows(run.rows, every)
    yield ""
    yield from _rates(run)
    if run.timings:
        yield ""
        yield from _times(run)
    for name, value in run.counters.items():
        yield f"  server counter {name}: +{value:,.0f}"


def _rows(rows: Sequence[Row], every: bool) -> Iterator[str]:
    shown = rows if every or len(rows) <= SHOWN else [r for r in rows if not r.equal] or rows[:SHOWN]
    yield f"{'#':>5} {'prompt':>7} {'predicted':>9} {'measured':>8} {'ttft ms':>9}  first differing block"
    for row in shown:
        predicted = "?" if row.predicted_hit_tokens is None else f"{row.predicted_hit_tokens:,}"
        measured = "?" if row.measured_hit_tokens is None else f"{row.measured_hit_tokens:,}"
        ttft = "" if row.ttft_ms is None else f"{row.ttft_ms:,.1f}"
        mark = " " if row.equal else "!"
        yield f"{row.id:>5} {row.prompt_tokens:>7,} {predicted:>9} {measured:>8} {ttft:>9} {mark}{_place(row)}"
    if len(shown) < len(rows):
        yield f"      … {counted(len(rows) - len(shown), 'more row')}; --all or --format json shows all"


def _place(row: Row) -> str:
    block = "-" if row.first_differing_block is None else str(row.first_differing_block)
    where = row.template if row.line is None else f"{row.template}:{row.line}"
    return f"{block} {where}  {row.reason}"


def _rates(run: Run) -> Iterator[str]:
    for name, rate in run.rates().items():
        yield (
            f"  hit rate by {name.replace('_', ', ')}: {float(rate['value']):.1%}"
            f" ({rate['part']:,} of {rate['whole']:,} {rate['of']})"
        )
    both = [r for r in run.rows if r.predicted_hit_tokens is not None and r.measured_hit_tokens is not None]
    compared = [row for row in both if not row.refused]
    if run.mismatches:
        yield f"  predicted ≠ measured in {len(run.mismatches)} of {counted(len(compared), 'request')}"
    elif compared:
        yield f"  predicted = measured in {'all ' if len(compared) > 1 else ''}{counted(len(compared), 'request')}"
    else:
        said = any(row.predicted_hit_tokens is not None for row in run.rows)
        yield (
            "  the engine does not say what was cached: nothing to compare"
            if said
            else "  nothing was predicted"
        )
    refused, preempted = sum(r.refused for r in run.rows), sum(r.preempted for r in run.rows)
    yield f"  evicted {counted(run.evicted_tokens, 'token')} · preempted {preempted} · refused {refused}"
    if run.seconds:
        pace = f"{len(run.rows) / run.seconds:,.2f} a second, {run.setting.concurrency} at a time"
        yield f"  {counted(len(run.rows), 'request')} in {run.seconds:,.1f} s: {pace}"
    if run.kv_bytes is not None:
        yield f"  keys and values: {run.kv_bytes / 2**20:,.1f} MiB, {run.setting.kv_bytes_per_token:,} bytes a token"


def _times(run: Run) -> Iterator[str]:
    yield "  time to first token in ms, median (least to most):"
    yield f"  {'#':>5} {'P':>7} {'Q':>6} {'off':>24} {'cold':>24} {'warm':>24} {'speed-up':>9} {'bound':>6} {'of it':>6}"
    for t in run.timings:
        bound = "?" if t.bound is None else f"{t.bound:.2f}"
        share = "?" if t.bound is None else f"{t.speedup / t.bound:.0%}"
        cached, new = (_count(t.cached), _count(t.new))
        yield (
            f"  {t.request:>5} {cached:>7} {new:>6} {_spread(t.off):>24} {_spread(t.cold):>24}"
            f" {_spread(t.warm):>24} {t.speedup:>8.2f}x {bound:>6} {share:>6}"
        )
    ratios = [f"{t.token_ratio:.2f}" for t in run.timings if t.token_ratio is not None]
    if ratios:
        yield f"  token ratio (P+Q)/Q: {', '.join(ratios)}; not a promise, new tokens still attend to the cached ones"
    yield from _deviation(run.timings)
    if run.matmul_flops:
        yield f"  measured matrix rate: {run.matmul_flops / 1e9:,.0f} GFLOP/s"


def _count(number: int | None) -> str:
    return "?" if number is None else f"{number:,}"


def _spread(spread: Spread | None) -> str:
    if spread is None:
        return "-"
    if spread.least == spread.most:  # one repeat
        return f"{spread.median:,.1f}"
    return f"{spread.median:,.1f} ({spread.least:,.1f}–{spread.most:,.1f})"


def _deviation(timings: Sequence[Timing]) -> Iterator[str]:
    known = [t for t in timings if t.deviation is not None]
    if known:
        same, worst = sum(bool(t.same_token) for t in known), max(t.deviation or 0.0 for t in known)
        seen = f"largest difference {worst:.2g}, same next token in {same} of {len(known)}"
        yield f"  logits warm against off: {seen}"


def compare(runs: Sequence[Run]) -> Iterator[str]:
    """Put several runs of the same prompts side by side."""
    width = max(len(run.title) for run in runs) + 2
    yield f"{'':24}" + "".join(f"{run.title:>{width}}" for run in runs)

    def line(name: str, values: Sequence[str]) -> str:
        return f"{name:24}" + "".join(f"{value:>{width}}" for value in values)

    rates = [run.rates()["token"] for run in runs]
    yield line("hit rate by token", [f"{float(rate['value']):.1%}" for rate in rates])
    yield line("hit tokens", [f"{rate['part']:,}" for rate in rates])
    yield line("prompt tokens", [f"{rate['whole']:,}" for rate in rates])
    times = [[row.ttft_ms for row in run.rows[1:] if row.ttft_ms is not None] for run in runs]
    yield line("ttft ms, median (warm)", [f"{median(some):,.1f}" if some else "-" for some in times])
    if any(run.deviations for run in runs):
        yield line("logits deviate by", [_apart(run) for run in runs])
        yield line("same next token", [_agreeing(run) for run in runs])
    medians = [run.summary()["speedup"] for run in runs]
    if any(medians):
        yield line("speed-up, median", ["-" if m is None else f"{m:.2f}x" for m in medians])


def _apart(run: Run) -> str:
    return f"{max(d.logits for d in run.deviations):.2g}" if run.deviations else "exact"


def _agreeing(run: Run) -> str:
    agreeing = sum(d.same_token for d in run.deviations)
    return f"{agreeing} of {len(run.deviations)}" if run.deviations else "all"
