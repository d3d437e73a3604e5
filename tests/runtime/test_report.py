"""Rates with their denominators, the text of a report, and what must not need torch."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace

import pytest

from promptlint_runtime.report import Deviation, Row, Run, Setting, Spread, Step, Timing
from promptlint_runtime.text import render, render_steps

SETTING = Setting("m", "e", "cpu", "float32", "block", 10, 1000, "model", 512, 1, 0)


def row(number: int, prompt: int, predicted: int | None, measured: int | None, **more: object) -> Row:
    return replace(
        Row(number, f"r{number}", prompt, predicted, measured, 1, 2.5, "t.j2", 3, 1, 12, "differs"), **more
    )


RUN = Run("as written", SETTING, (row(0, 100, 0, 0), row(1, 105, 90, 90), row(2, 45, 40, 30)))


def test_rates_have_denominators() -> None:
    rates = RUN.rates()
    assert (rates["token"]["part"], rates["token"]["whole"]) == (120, 250)
    assert rates["token"]["value"] == pytest.approx(0.48)
    assert (rates["block"]["part"], rates["block"]["whole"]) == (12, 24)
    assert (rates["request"]["part"], rates["request"]["whole"]) == (2, 3)
    assert (rates["token_warm"]["part"], rates["token_warm"]["whole"]) == (120, 150)
    assert all("of" in rate for rate in rates.values())


def test_refused_and_unknown_rows_are_left_out_of_the_rates() -> None:
    rows = (row(0, 100, 0, None, refused=True), row(1, 50, None, None), row(2, 50, None, 20))
    run = replace(RUN, rows=rows)
    assert (run.rates()["token"]["part"], run.rates()["token"]["whole"]) == (20, 50)
    assert run.mismatches == ()


def test_an_empty_run_has_rates_of_zero() -> None:
    assert replace(RUN, rows=()).rates()["token"]["value"] == 0
    assert "PARTIAL" in render([replace(RUN, rows=(), partial=True)])


def test_text_marks_a_mismatch_and_shows_it_even_in_a_long_run() -> None:
    many = tuple(row(n, 10, 0, 0) for n in range(100))
    text = render([replace(RUN, rows=(*many, row(100, 45, 40, 30)))])
    assert "predicted ≠ measured in 1 of 101 requests" in text
    assert "!1 t.j2:3" in text
    assert "100 more rows" in text
    assert "predicted = measured in all 100" in render([replace(RUN, rows=many)])


def test_text_of_times_and_comparison() -> None:
    spread = Spread.of([0.010, 0.012, 0.030])
    assert (spread.median, spread.least, spread.most) == pytest.approx((12, 10, 30))
    cold = Spread.of([0.12])
    timing = Timing(1, 90, 10, cold, cold, spread, 8.0, 0.001, True)
    timed = replace(RUN, timings=(timing,), matmul_flops=2e11)
    assert timing.speedup == pytest.approx(10)
    assert timed.summary()["speedup"] == pytest.approx(10)
    assert timed.summary()["bound"] == 8.0
    assert timed.summary()["token_ratio"] == 10
    text = render([timed, replace(RUN, title="modules", deviations=(Deviation(0, 0.5, False),))])
    assert "10.00x   8.00   125%" in text
    assert "not a promise" in text
    assert "200 GFLOP/s" in text
    assert "exact" in text
    assert "0 of 1" in text


def test_steps() -> None:
    assert render_steps([]) == ""
    assert (
        render_steps([Step("1", "seen", True), Step("2", "wrong", False)])
        == "ok   1: seen\nFAIL 2: wrong\n\n"
    )


def test_servers_and_reports_need_no_torch() -> None:
    code = (
        "import sys, promptlint_runtime.endpoint.client, promptlint_runtime.text, promptlint_runtime.variants, "
        "promptlint_runtime.render, promptlint_runtime.vary, promptlint_runtime.inprocess, promptlint_runtime.engine, "
        "promptlint.cli.replay; sys.exit('torch' in sys.modules or 'transformers' in sys.modules)"
    )
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    assert subprocess.run([sys.executable, "-c", code], check=False, env=env).returncode == 0
