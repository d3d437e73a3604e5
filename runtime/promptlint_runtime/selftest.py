"""The three steps by which one checks a prefix cache in the field, each with a verdict on counts.

1. The hit ratio of the prompts as they are, against the prediction.
2. The third call against the first: the same prompt again must hit, and must not with the cache off.
3. The changing lines moved to the end, and the ratio again: it must not fall.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from promptlint.words import counted
from promptlint_runtime.local import Local
from promptlint_runtime.prompts import Prompt
from promptlint_runtime.replay import Options
from promptlint_runtime.report import Advance, Run, Step
from promptlint_runtime.variants import variants


def self_test(
    local: Local, prompts: Sequence[Prompt], options: Options, advance: Advance
) -> tuple[list[Step], list[Run]]:
    """Run the three steps; the runs are those of the first and the third.

    After an interrupt there are no verdicts.
    """
    untimed = replace(options, timed=0)
    runs = local.replay(variants(prompts, as_written=True, reordered=True), untimed, advance)
    if runs[-1].partial:
        return [], runs
    ratio, moved = runs
    longest = max(prompts, key=lambda prompt: len(local.encode(prompt).ids))
    three = [("three calls", [longest] * 3)]
    (calls,) = local.replay(three, replace(options, timed=1, passes=1, order="given"), advance)
    (control,) = local.replay(three, replace(untimed, cache="off", passes=1, order="given"), advance)
    if calls.partial or control.partial:
        return [], [ratio, replace(moved, partial=True)]
    steps = [_ratio(ratio), _third_call(calls, control), _moved(ratio, moved)]
    return steps, [ratio, moved]


def _ratio(run: Run) -> Step:
    rate = run.rates()["token"]
    seen = f"reused {float(rate['value']):.1%} of {counted(int(rate['whole']), 'prompt token')}"
    return Step(
        "1 hit ratio",
        f"{seen}; {counted(len(run.mismatches), 'request')} not as predicted",
        not run.mismatches,
    )


def _third_call(calls: Run, control: Run) -> Step:
    first, _, third = calls.rows
    off = control.rows[2].measured_hit_tokens or 0
    size = calls.setting.block_tokens
    wanted = (third.prompt_tokens - 1) // size * size
    seen = f"third call reused {third.measured_hit_tokens} of {counted(third.prompt_tokens, 'token')}, {off} with the cache off"
    if first.ttft_ms and third.ttft_ms:
        seen += f"; {first.ttft_ms:,.1f} ms became {third.ttft_ms:,.1f} ms"
    return Step("2 third call against first", seen, third.measured_hit_tokens == wanted and off == 0)


def _moved(before: Run, after: Run) -> Step:
    old, new = (float(run.rates()["token"]["value"]) for run in (before, after))
    seen = f"{old:.1%} as written, {new:.1%} with the changing lines last"
    return Step("3 changing lines moved to the end", seen, new >= old)
