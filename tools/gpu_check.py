"""The checks that need a CUDA device, as one program of a few minutes that prints JSON.

usage: PYTHONPATH=.:runtime python tools/gpu_check.py [--shape llama-3-8b] [--prefix 4000] [--new 200]

Needs torch and nothing else. First correctness: every GPU path against plain products in float32. Then the
shape with random weights in bfloat16: speed-up on a hit against the FLOP bound, and the rate of a cold
prefill against the measured matrix rate. Leaves with 0 if all is well, 1 if not, 3 without a CUDA device.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

import torch

from promptlint.cache.pool import BlockPool
from promptlint_runtime import attention, weights
from promptlint_runtime.adapters.base import batch_of
from promptlint_runtime.adapters.llama import Llama
from promptlint_runtime.graphs import ShortSuffix
from promptlint_runtime.kv import KvStore, Storage, bytes_per_token
from promptlint_runtime.measure import Timer, matmul_rate
from promptlint_runtime.memory import check_room
from promptlint_runtime.sequence import Chunk
from promptlint_runtime.shapes import named, prefill_flops

SPEEDUP = 0.6  # of the bound, at least
COLD = 0.5  # of the measured matrix rate, at least
BLOCK = 16


def attention_error(device: torch.device, heads: int, shared: int, dim: int) -> float:
    """Return the largest deviation of the fused, split attention from plain float32 products."""
    torch.manual_seed(0)
    past, new = 333, 70
    q = torch.randn(new, heads, dim, device=device)
    k, v = (torch.randn(past + new, shared, dim, device=device) for _ in range(2))
    exact = attention.attend_masked(q, k[past:], v[past:], (k[:past], v[:past]), dim**-0.5)
    half = [x.bfloat16() for x in (q, k, v)]
    fused = attention.attend(
        half[0], half[1][past:], half[2][past:], (half[1][:past], half[2][:past]), dim**-0.5
    )
    return (fused.float() - exact).abs().max().item()


def model_errors(device: torch.device) -> dict[str, float]:
    """Return deviations of logits on a small shape: from a CPU, with reuse, as a graph, in eight bits."""
    shape = replace(named("tiny"), head_dim=64, heads=8, kv_heads=2, hidden=512, mlp=1024, layers=4)
    cpu = torch.device("cpu")
    exact = Llama(shape, weights.random(shape, 0, torch.float32, cpu), torch.float32, cpu)
    source = weights.random(shape, 0, torch.float32, cpu)
    model = Llama(shape, source, torch.bfloat16, device)
    tokens = tuple((7 * i) % shape.vocab for i in range(300))

    def logits(adapter: Llama, cached: int, storage: Storage = Storage.MODEL) -> torch.Tensor:
        kv = KvStore(adapter.sizes, 320, adapter.dtype, adapter.device, storage)
        for start, stop in ((0, cached), (cached, 300)) if cached else ((0, 300),):
            past = ((0, start),) if start else ()
            chunk = Chunk(0, tokens[start:stop], start, past, ((start, stop - start),), sample=True)
            found = adapter.forward(batch_of([chunk], adapter.device), kv)
        return found[0].float().cpu()

    def graphed() -> torch.Tensor:
        kv = KvStore(model.sizes, 320, model.dtype, device)
        first = Chunk(0, tokens[:240], 0, (), ((0, 240),), sample=True)
        last = Chunk(0, tokens[240:], 240, ((0, 240),), ((240, 60),), sample=True)
        model.forward(batch_of([first], device), kv)
        short = ShortSuffix(model, kv)
        for _ in range(3):  # plain, captured, replayed
            found = short.forward(last)
        return found[0].float().cpu()

    reference, cold = logits(exact, 0), logits(model, 0)
    scale = reference.abs().max().item()
    tries: dict[str, Callable[[], torch.Tensor]] = {
        "gpu bfloat16 against cpu float32": lambda: cold - reference,
        "with reuse": lambda: logits(model, 240) - reference,
        "with a graph": lambda: graphed() - reference,
        "int8 keys and values": lambda: logits(model, 240, Storage.INT8) - reference,
        "fp8 keys and values": lambda: logits(model, 240, Storage.FP8) - reference,
    }
    return {name: make().abs().max().item() / scale for name, make in tries.items()}


def measure(device: torch.device, name: str, prefix: int, new: int, repeats: int) -> dict[str, Any]:
    """Time one prompt of ``prefix + new`` tokens on the shape."""
    shape, dtype = named(name), torch.bfloat16
    check_room(shape.params * dtype.itemsize, device, f"the weights of {name}")
    model = Llama(shape, weights.random(shape, 0, dtype, device), dtype, device)
    cached, total = prefix // BLOCK * BLOCK, prefix + new
    slots = -(-total // BLOCK) * BLOCK
    kv = KvStore(model.sizes, slots, dtype, device)
    tokens = tuple((31 * i + 7) % shape.vocab for i in range(total))
    timer = Timer(model, kv, lambda: BlockPool(slots // BLOCK, BLOCK), 1 << 20, repeats)
    timing = timer.time(0, tokens, cached)
    rate = matmul_rate(shape, dtype, device, rows=total)
    cold_rate = prefill_flops(shape, total) / (timing.cold.median / 1000)
    assert timing.bound is not None
    return {
        "shape": name,
        "dtype": "bfloat16",
        **asdict(timing),
        "speedup": timing.speedup,
        "speedup_of_bound": timing.speedup / timing.bound,
        "token_ratio": timing.token_ratio,
        "matmul_flops": rate,
        "cold_flops": cold_rate,
        "cold_of_matmul": cold_rate / rate,
        "kv_bytes_per_token": bytes_per_token(model.sizes, dtype, Storage.MODEL),
    }


def main() -> int:
    """Run everything; print one JSON object."""
    parser = argparse.ArgumentParser(description="Check the GPU paths and measure the saving.")
    parser.add_argument("--shape", default="llama-3-8b")
    parser.add_argument("--prefix", type=int, default=4000)
    parser.add_argument("--new", type=int, default=200)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--device", default="cuda", help="cpu tries the program itself, with a small --shape")
    options = parser.parse_args()
    if options.device == "cuda" and not torch.cuda.is_available():
        print("no CUDA device here: nothing was checked", file=sys.stderr)
        return 3
    begun, device = time.monotonic(), torch.device(options.device)
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu"
    found: dict[str, Any] = {"device": name, "torch": torch.__version__}
    found["attention_error"] = {
        f"{heads} heads, {shared} shared, size {dim}": attention_error(device, heads, shared, dim)
        for heads, shared, dim in ((32, 8, 128), (9, 3, 64), (4, 4, 256))
    }
    found["logit_errors"] = model_errors(device)
    found["timing"] = measure(device, options.shape, options.prefix, options.new, options.repeats)
    checks = {
        "attention": max(found["attention_error"].values()) < 0.03,
        "logits": max(found["logit_errors"].values()) < 0.1,
        f"speed-up at least {SPEEDUP} of the bound": found["timing"]["speedup_of_bound"] >= SPEEDUP,
        f"cold prefill at least {COLD} of the matrix rate": found["timing"]["cold_of_matmul"] >= COLD,
    }
    found["checks"] = checks
    found["seconds"] = time.monotonic() - begun
    print(json.dumps(found, indent=2))
    return 0 if all(checks.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
