"""Attention against its definition, worked out in float64 with the whole matrix of scores."""

from __future__ import annotations

import math

import pytest

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch


def made(length: int, before: int, heads: int, shared: int, size: int, dtype: object) -> tuple[object, ...]:
    generator = torch.Generator().manual_seed(length)
    shapes = [(length, heads, size), *[(length, shared, size)] * 2, *[(before, shared, size)] * 2]
    q, k, v, old_k, old_v = (torch.randn(shape, generator=generator).to(dtype) for shape in shapes)
    return q, k, v, (old_k, old_v) if before else None


def by_definition(q: object, k: object, v: object, past: object, scale: float) -> object:
    if past is not None:
        k, v = torch.cat((past[0], k)), torch.cat((past[1], v))
    length, heads, _ = q.shape
    groups, total = heads // k.shape[1], len(k)
    k, v = (x.double().repeat_interleave(groups, dim=1) for x in (k, v))
    scores = torch.einsum("shd,thd->hst", q.double(), k) * scale
    later = torch.arange(total)[None] > torch.arange(total - length, total)[:, None]
    weights = scores.masked_fill(later, -math.inf).softmax(-1)
    return torch.einsum("hst,thd->shd", weights, v)


@pytest.mark.parametrize(
    ("length", "before", "heads", "shared"), [(16, 0, 4, 4), (37, 0, 6, 2), (20, 33, 9, 3), (700, 5, 2, 1)]
)
@pytest.mark.parametrize("way", ["attend", "_by_products"])
def test_both_ways_are_attention(length: int, before: int, heads: int, shared: int, way: str) -> None:
    from promptlint_runtime import attention

    compute = getattr(attention, way)
    for dtype, tolerance in ((torch.float32, 2e-6), (torch.bfloat16, 0.02)):
        inputs = made(length, before, heads, shared, 16, dtype)
        wanted = by_definition(*inputs, 0.25)
        got = compute(*inputs, 0.25)
        assert got.dtype == dtype
        assert got.shape == (length, heads, 16)
        torch.testing.assert_close(got.double(), wanted, atol=tolerance, rtol=0)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_rms_norm_leaves_its_input_alone(dtype: str) -> None:
    from promptlint_runtime.attention import rms_norm

    x, weight = torch.tensor([[3.0, -4.0], [0.0, 0.0]]).to(getattr(torch, dtype)), torch.tensor([1.0, 2.0])
    before = x.clone()
    found = rms_norm(x, weight.to(x.dtype), 1e-6).float()
    # The mean square of 3 and 4 is 12.5.
    wanted = torch.tensor([[3 / 12.5**0.5, -8 / 12.5**0.5], [0.0, 0.0]])
    torch.testing.assert_close(found, wanted, atol=1e-6 if dtype == "float32" else 0.01, rtol=0)
    assert torch.equal(x, before)
