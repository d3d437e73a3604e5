"""Time a prefix hit on the bundled runtime, on plain transformers and on vLLM, in the same run.

usage: PYTHONPATH=.:runtime python tools/bench_replay.py MODEL [--prefix 3840] [--new 200] [--threads 2] [--vllm]

MODEL is a folder with a Hugging Face model. Prints one Markdown row a dtype and runtime: the least of some
repeats, in wall seconds and in CPU seconds (which a busy machine disturbs less), and ratios against the
FLOP bound.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path

import torch

from promptlint_runtime.adapters.base import batch_of
from promptlint_runtime.adapters.llama import Llama
from promptlint_runtime.kv import KvStore
from promptlint_runtime.measure import matmul_rate
from promptlint_runtime.models import load
from promptlint_runtime.sequence import Chunk
from promptlint_runtime.shapes import Shape, speedup_bound

CPU = torch.device("cpu")


Work = Callable[[], object]


def least(works: list[Work], repeats: int) -> list[tuple[float, float]]:
    """Return the least wall and CPU seconds of each, in turn, so that all meet the same disturbances."""
    found = [(float("inf"), float("inf"))] * len(works)
    for _ in range(repeats):
        for number, work in enumerate(works):
            begun, used = time.perf_counter(), time.process_time()
            work()
            took = time.perf_counter() - begun, time.process_time() - used
            found[number] = (min(found[number][0], took[0]), min(found[number][1], took[1]))
    return found


def own(folder: str, dtype: torch.dtype, tokens: tuple[int, ...], prefix: int) -> tuple[Shape, list[Work]]:
    """Return the shape, and what computes the whole prompt and only what follows the prefix."""
    adapter = load(folder, dtype=dtype, device=CPU).adapter
    assert isinstance(adapter, Llama)
    kv = KvStore(adapter.sizes, len(tokens), dtype, CPU)

    def compute(start: int) -> object:
        past = ((0, start),) if start else ()
        own_slots = ((start, len(tokens) - start),)
        chunk = Chunk(0, tokens[start:], start, past, own_slots, sample=True)
        return adapter.forward(batch_of([chunk], CPU), kv)

    return adapter.shape, [lambda: compute(0), lambda: compute(prefix)]


def plain(folder: str, dtype: torch.dtype, tokens: tuple[int, ...], prefix: int) -> list[Work]:
    """Return the same two for transformers with its own cache."""
    from transformers import AutoModelForCausalLM, DynamicCache

    model = AutoModelForCausalLM.from_pretrained(folder, dtype=dtype).eval()
    ids = torch.tensor([tokens])
    cache = DynamicCache(config=model.config)

    @torch.inference_mode()
    def miss() -> object:
        return model(input_ids=ids, use_cache=True, cache=DynamicCache(config=model.config), logits_to_keep=1)

    @torch.inference_mode()
    def hit() -> object:
        if cache.get_seq_length() == 0:
            model(input_ids=ids[:, :prefix], cache=cache, logits_to_keep=1)
        found = model(input_ids=ids[:, prefix:], cache=cache, logits_to_keep=1)
        cache.crop(prefix - len(tokens))  # negative: tokens to drop
        return found

    return [miss, hit]


def vllm(folder: str, dtype: torch.dtype, tokens: tuple[int, ...], prefix: int, threads: int) -> list[Work]:
    """Return the same two for vLLM within this process (its CPU build)."""
    os.environ.update(
        VLLM_ENABLE_V1_MULTIPROCESSING="0",
        VLLM_CPU_KVCACHE_SPACE="2",
        VLLM_CPU_OMP_THREADS_BIND="nobind",
        OMP_NUM_THREADS=str(threads),
    )
    from vllm import LLM, SamplingParams

    name, longest = str(dtype).removeprefix("torch."), len(tokens) + 64
    engine = LLM(folder, dtype=name, max_model_len=longest, enforce_eager=True, block_size=32, max_num_seqs=1)
    one, salts = SamplingParams(max_tokens=1, temperature=0.0), count()

    def generate(ids: tuple[int, ...], salt: str, hit: int) -> object:
        (found,) = engine.generate([{"prompt_token_ids": list(ids), "cache_salt": salt}], one, use_tqdm=False)
        assert found.num_cached_tokens == hit, found.num_cached_tokens
        return found

    def hit() -> object:
        # The last blocks of an earlier answer would hit as well: each run has other new tokens.
        shift = next(salts)
        new = tuple((token + shift) % 40_000 for token in tokens[prefix:])
        return generate(tokens[:prefix] + new, "kept", prefix)

    generate(tokens[:prefix], "kept", 0)
    return [lambda: generate(tokens, f"miss {next(salts)}", 0), hit]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Time a prefix hit.")
    parser.add_argument("model")
    parser.add_argument("--prefix", type=int, default=3840)
    parser.add_argument("--new", type=int, default=200)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--own", action="store_true", help="leave transformers out")
    parser.add_argument("--vllm", action="store_true", help="vLLM too, where it is installed")
    parser.add_argument("--dtype", choices=["float32", "bfloat16"], help="only this one")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    os.environ["OMP_NUM_THREADS"] = str(options.threads)
    generator = torch.Generator().manual_seed(0)
    total = options.prefix + options.new
    tokens = tuple(torch.randint(0, 40_000, (total,), generator=generator).tolist())
    load_average = Path("/proc/loadavg").read_text().split()[0]
    print(
        f"{options.model}, P={options.prefix}, Q={options.new}, {options.threads} threads, load {load_average}"
    )
    print(
        "| runtime | dtype | miss s | hit s | ratio | of bound | miss CPU-s | hit CPU-s | CPU ratio | of bound |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|")
    for dtype in [getattr(torch, options.dtype)] if options.dtype else [torch.float32, torch.bfloat16]:
        name = str(dtype).removeprefix("torch.")
        shape, ours = own(options.model, dtype, tokens, options.prefix)
        bound = speedup_bound(shape, total, options.prefix)
        rows = {"promptlint": ours}
        if not options.own:
            rows["transformers"] = plain(options.model, dtype, tokens, options.prefix)
        if options.vllm:
            rows["vllm"] = vllm(options.model, dtype, tokens, options.prefix, options.threads)
        works = [work for pair in rows.values() for work in pair]
        for _, hit in rows.values():
            hit()
        times = iter(least(works, options.repeats))
        for runtime in rows:
            (miss_wall, miss_cpu), (hit_wall, hit_cpu) = next(times), next(times)
            wall, cpu = miss_wall / hit_wall, miss_cpu / hit_cpu
            print(
                f"| {runtime} | {name} | {miss_wall:.2f} | {hit_wall:.3f} | {wall:.2f} | {wall / bound:.2f}"
                f" | {miss_cpu:.2f} | {hit_cpu:.3f} | {cpu:.2f} | {cpu / bound:.2f} |",
                flush=True,
            )
        print(f"matrix rate {name}: {matmul_rate(shape, dtype, CPU) / 1e9:.0f} GFLOP/s; bound {bound:.2f}")


if __name__ == "__main__":
    main()
