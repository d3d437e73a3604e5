"""Attention over a cached prefix and a new suffix, computed apart and merged exactly.

::

                 cached prefix      suffix
               ┌────────────────┬───────────┐
    suffix     │ no mask at all │ causal  ◣ │      softmax over both = merge by log-sum-exp
               └────────────────┴───────────┘

Each part is a case the fused kernels are fast at. The query heads that share a key head are rows of
one problem (prefix) or a dimension of stride 0 (suffix), so keys and values are never repeated.

Where a processor multiplies bfloat16 numbers in one instruction and the fused kernel does not use it,
plain products of both parts together are faster; see `_by_products`.
"""

from __future__ import annotations

from functools import cache

import torch
from torch import Tensor
from torch.nn import functional

_FLASH_CUDA_DTYPES = (torch.float16, torch.bfloat16)
_ROWS = 256  # queries at once where scores are held in memory
_PRODUCTS_FROM = 16  # new tokens from which products are worth their set-up
_PRODUCT_ROWS = 320  # queries of one key head at once in `_by_products`: their scores stay in the cache


def attend(q: Tensor, k: Tensor, v: Tensor, past: tuple[Tensor, Tensor] | None, scale: float) -> Tensor:
    """Attend from new tokens to cached ones and, causally, to themselves.

    Args:
        q: queries ``[S, H, D]``.
        k: keys of the same tokens ``[S, KV, D]``; ``H`` is a multiple of ``KV``.
        v: their values ``[S, KV, DV]``.
        past: cached keys ``[P, KV, D]`` and values ``[P, KV, DV]``, P > 0, or None.
        scale: factor on the scores.

    Returns:
        ``[S, H, DV]``.
    """
    length, heads, _ = q.shape
    shared = k.shape[1]
    groups = heads // shared
    if length >= _PRODUCTS_FROM and q.dtype == torch.bfloat16 and q.device.type == "cpu" and _fast_products():
        return _by_products(q, k, v, past, scale)
    # [KV, G, S, D]
    query = q.reshape(length, shared, groups, -1).permute(1, 2, 0, 3).contiguous()
    # One head after the other in memory: worth the copy, the kernel is a tenth faster.
    own_k, own_v = (x.transpose(0, 1).contiguous()[:, None].expand(-1, groups, -1, -1) for x in (k, v))
    out, weight = _kernel(query, own_k, own_v, True, scale)
    if past is not None:
        rows = query.flatten(1, 2)[None]  # [1, KV, G·S, D]
        old, old_weight = _kernel(rows, _heads_first(past[0]), _heads_first(past[1]), False, scale)
        share = torch.sigmoid(old_weight.view_as(weight) - weight)[..., None]
        out = torch.lerp(out.float(), old.view_as(out).float(), share).to(q.dtype)
    return out.permute(2, 0, 1, 3).reshape(length, heads, -1)


@cache
def _fast_products() -> bool:
    """Tell whether bfloat16 products are quick here and the fused kernel is not: it knows tiles alone."""
    known = torch.cpu.get_capabilities()
    return bool(known.get("avx512_bf16")) and not known.get("amx_bf16")


def _by_products(q: Tensor, k: Tensor, v: Tensor, past: tuple[Tensor, Tensor] | None, scale: float) -> Tensor:
    """Do as `attend`, a key head and a block of queries at a time; scores are rounded to the dtype of ``q``."""
    length, heads, _ = q.shape
    shared, before = k.shape[1], 0 if past is None else len(past[0])
    groups = heads // shared
    # Queries that share a key head stand behind each other, token by token: [KV, S·G, D]
    query = (q * scale).view(length, shared, groups, -1).transpose(0, 1).reshape(shared, length * groups, -1)
    keys, values = (_joined(old, new) for old, new in zip(past or (None, None), (k, v), strict=True))
    out = q.new_empty(shared, length * groups, v.shape[-1])
    step = max(1, _PRODUCT_ROWS // groups)
    room = min(step, length) * groups * (before + length)
    scores, weights = q.new_empty(room), q.new_empty(room)
    for start in range(0, length, step):
        stop = min(length, start + step)
        rows, seen = slice(start * groups, stop * groups), before + stop
        later = torch.ones(stop - start, stop - start, dtype=torch.bool).triu_(1).repeat_interleave(groups, 0)
        shape = ((stop - start) * groups, seen)
        score, weight = (x[: shape[0] * seen].view(shape) for x in (scores, weights))
        for head in range(shared):
            torch.mm(query[head, rows], keys[head, :seen].t(), out=score)
            score[:, before + start :].masked_fill_(later, float("-inf"))
            torch.softmax(score, dim=-1, out=weight)
            torch.mm(weight, values[head, :seen], out=out[head, rows])
    return out.view(shared, length, groups, -1).transpose(0, 1).reshape(length, heads, -1)


def _joined(old: Tensor | None, new: Tensor) -> Tensor:
    """Return ``[P, KV, D]`` and ``[S, KV, D]`` as ``[KV, P + S, D]``."""
    parts = (new,) if old is None else (old, new)
    return torch.cat([part.transpose(0, 1) for part in parts], dim=1).contiguous()


def attend_masked(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    past: tuple[Tensor, Tensor] | None,
    scale: float,
    *,
    window: int | None = None,
    softcap: float | None = None,
    sinks: Tensor | None = None,
) -> Tensor:
    """Do as `attend`, with a sliding window, a cap on the scores, or sinks, by plain matrix products.

    Args:
        window: positions that a token sees, its own included. ``past`` may hold more.
        softcap: scores become ``cap · tanh(score / cap)``.
        sinks: one logit a head ``[H]`` that takes part in the softmax and has no value.
    """
    if past is not None:
        k, v = torch.cat((past[0], k)), torch.cat((past[1], v))
    length = len(q)
    before = len(k) - length
    out = []
    for start in range(0, length, _ROWS):
        rows = q[start : start + _ROWS]
        stop = before + start + len(rows)
        first = 0 if window is None else max(0, before + start - window + 1)
        out.append(_masked_rows(rows, k[first:stop], v[first:stop], scale, window, softcap, sinks))
    return torch.cat(out)


def _masked_rows(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    scale: float,
    window: int | None,
    softcap: float | None,
    sinks: Tensor | None,
) -> Tensor:
    """Attend from the last ``len(q)`` of ``len(k)`` positions."""
    length, heads, _ = q.shape
    total, shared = k.shape[:2]
    query = q.reshape(length, shared, heads // shared, -1).permute(1, 2, 0, 3)
    scores = torch.matmul(query, k.permute(1, 2, 0)[:, None]).float() * scale  # [KV, G, S, T]
    if softcap is not None:
        scores = softcap * torch.tanh(scores / softcap)
    at = torch.arange(total - length, total, device=q.device)[:, None]
    key_at = torch.arange(total, device=q.device)[None]
    hidden = key_at > at
    if window is not None:
        hidden |= key_at <= at - window
    scores.masked_fill_(hidden, float("-inf"))
    if sinks is not None:
        extra = sinks.float().view(shared, -1, 1, 1).expand(-1, -1, length, 1)
        weights = torch.softmax(torch.cat((scores, extra), dim=-1), dim=-1)[..., :-1]
    else:
        weights = torch.softmax(scores, dim=-1)
    out = torch.matmul(weights.to(v.dtype), v.permute(1, 0, 2)[:, None])
    return out.permute(2, 0, 1, 3).reshape(length, heads, -1)


def _heads_first(x: Tensor) -> Tensor:
    """``[P, KV, D]`` to ``[1, KV, P, D]`` without a copy."""
    return x.transpose(0, 1)[None]


def _kernel(q: Tensor, k: Tensor, v: Tensor, causal: bool, scale: float) -> tuple[Tensor, Tensor]:
    """Return the output ``[N, M, S, DV]`` and its log-sum-exp ``[N, M, S]`` (float32, natural)."""
    same_size = q.shape[-1] == v.shape[-1]
    aten = torch.ops.aten
    if same_size and q.device.type == "cpu":
        out, weight = aten._scaled_dot_product_flash_attention_for_cpu(q, k, v, 0.0, causal, scale=scale)
        return out, weight
    if same_size and q.device.type == "cuda" and q.dtype in _FLASH_CUDA_DTYPES and q.shape[-1] % 8 == 0:
        out, weight, *_ = aten._scaled_dot_product_flash_attention(q, k, v, 0.0, causal, scale=scale)
        return out, weight[..., : q.shape[-2]]
    return _plain(q, k, v, causal, scale)


def _plain(q: Tensor, k: Tensor, v: Tensor, causal: bool, scale: float) -> tuple[Tensor, Tensor]:
    scores = torch.matmul(q, k.transpose(-1, -2)).float() * scale
    if causal:
        length = q.shape[-2]
        later = torch.ones(length, length, dtype=torch.bool, device=q.device).triu_(1)
        scores.masked_fill_(later, float("-inf"))
    weight = torch.logsumexp(scores, dim=-1)
    out = torch.matmul(torch.exp(scores - weight[..., None]).to(v.dtype), v)
    return out, weight


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Turn queries or keys ``[T, heads, D]`` to their positions; ``cos`` and ``sin`` are ``[T, 1, D/2]``."""
    first, second = x.chunk(2, dim=-1)
    out = torch.empty_like(x)
    low, high = out.chunk(2, dim=-1)
    torch.mul(first, cos, out=low)
    low.addcmul_(second, sin, value=-1)
    torch.mul(second, cos, out=high)
    high.addcmul_(first, sin)
    return out


def rms_norm(x: Tensor, weight: Tensor, eps: float) -> Tensor:
    """Scale the last dimension to unit mean square, then by ``weight``."""
    size = x.shape[-1]
    if x.device.type != "cpu":
        return functional.rms_norm(x, (size,), weight, eps)
    # One widening copy, and the rest in place on it: what a CPU has for `rms_norm` takes three times as long.
    wide = x.float()
    square: Tensor = torch.linalg.vector_norm(wide, dim=-1, keepdim=True).square_()
    return (wide * square.div_(size).add_(eps).rsqrt_()).mul_(weight).to(x.dtype)
