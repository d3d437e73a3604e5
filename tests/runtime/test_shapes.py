"""Work formula and sizes against numbers worked out apart."""

from __future__ import annotations

import pytest

from promptlint.errors import UsageError
from promptlint_runtime.shapes import named, prefill_flops, speedup_bound

SMOLLM2 = named("smollm2-135m")


def test_smollm2_sizes() -> None:
    assert SMOLLM2.params == pytest.approx(134_515_008, rel=1e-3)  # norms apart
    assert SMOLLM2.kv_bytes(2) == 23_040
    assert 2 * SMOLLM2.linear_params == pytest.approx(212.3e6, rel=1e-3)


@pytest.mark.parametrize(
    ("total", "cached", "flops", "ratio"),
    [(2248, 2048, 72e9, 9.03), (4040, 3840, 97e9, 14.67)],
)
def test_bound_of_a_hit(total: int, cached: int, flops: float, ratio: float) -> None:
    assert prefill_flops(SMOLLM2, total - cached, cached) == pytest.approx(flops, rel=0.01)
    assert speedup_bound(SMOLLM2, total, cached) == pytest.approx(ratio, abs=0.01)


def test_bound_is_the_formula_with_hit_rate() -> None:
    n, layers, width, s, h = SMOLLM2.linear_params, 30, 9 * 64, 4000, 0.9
    cold = 2 * n * s + 2 * layers * width * s**2
    warm = 2 * n * (1 - h) * s + 2 * layers * width * s**2 * (1 - h**2)
    assert speedup_bound(SMOLLM2, s, 3600) == pytest.approx(cold / warm)
    assert speedup_bound(SMOLLM2, s, 0) == 1


def test_eight_billion() -> None:
    assert named("llama-3-8b").params == pytest.approx(8.03e9, rel=0.001)
    with pytest.raises(UsageError):
        named("llama-9")
