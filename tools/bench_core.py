"""Measure the caches' bookkeeping, the tokenizers and the measure of a layout; prints Markdown tables.

All figures are CPU time of one thread, so that other work on the machine disturbs them little.

Run: ``python tools/bench_core.py [TEXT_FOLDER]``. The folder's Markdown, text and
template files are the corpus for the tokenizers; without one, this project's own Markdown is.
"""

from __future__ import annotations

import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from promptlint.cache.base import PrefixCache
from promptlint.cache.blocks import Chain, block_keys, vllm_keys
from promptlint.cache.pool import BlockPool
from promptlint.cache.radix import RadixCache

ROOT = Path(__file__).resolve().parent.parent


def best(work: Callable[[], int], repeats: int = 5) -> float:
    """Return units a second of CPU time, the best of several runs; ``work`` returns its units."""
    rates = []
    for _ in range(repeats):
        start = time.process_time()
        units = work()
        rates.append(units / (time.process_time() - start))
    return max(rates)


def prompts(count: int, length: int, shared: int) -> list[list[int]]:
    """Return prompts that share their first tokens."""
    rng = random.Random(7)
    common = [rng.randrange(150_000) for _ in range(shared)]
    return [[*common, *(rng.randrange(150_000) for _ in range(length - shared))] for _ in range(count)]


def serve(cache: PrefixCache, requests: list[list[int]] | list[Chain]) -> int:
    """Run requests one after another; return the number of their full blocks."""
    blocks = 0
    for request in requests:
        live = cache.start(request)
        assert live is not None
        blocks += len(live.keys)
        cache.finish(live)
    return blocks


def cache_figures() -> None:
    """Print blocks a second."""
    size = 16
    requests = prompts(200, 4000, 3800)
    flat = requests[0] * 5
    chains = [Chain(len(tokens), block_keys(tokens, size)) for tokens in requests]
    warm, hashed, churn = BlockPool(20_000, size), BlockPool(20_000, size), BlockPool(300, size)
    tree, fine = RadixCache(320_000, size), RadixCache(320_000, 1)
    different = prompts(200, 4000, 0)
    rows: list[tuple[str, Callable[[], int]]] = [
        ("hash chain alone, blake2b", lambda: len(block_keys(flat, size))),
        ("hash chain alone, vLLM's sha256 over pickle", lambda: len(vllm_keys(flat, size))),
        ("pool: look up, admit, free; tokens hashed, 95 % hits", lambda: serve(warm, requests)),
        ("pool: the same with hashes given", lambda: serve(hashed, chains)),
        ("pool: everything evicted", lambda: serve(churn, different)),
        ("radix tree, page 16, 95 % hits", lambda: serve(tree, requests)),
        ("radix tree, page 1, 95 % hits (pages = tokens)", lambda: serve(fine, requests)),
    ]
    print("| operation | blocks a second |\n|---|---|")
    for name, work in rows:
        work()
        print(f"| {name} | {best(work):,.0f} |")


def corpus(folder: Path) -> list[str]:
    """Return texts of a folder, at most 4 MB."""
    texts, size = [], 0
    for path in sorted(folder.rglob("*")):
        if (
            path.suffix in (".md", ".txt", ".j2", ".jinja", ".prompty")
            and path.is_file()
            and size < 4_000_000
        ):
            text = path.read_text(encoding="utf-8", errors="replace")
            texts.append(text)
            size += len(text)
    return texts


def tokenizer_figures(texts: list[str]) -> None:
    """Print throughput, the cost of the stable cut, and the error of the estimate."""
    from promptlint.tokens.base import Counter
    from promptlint.tokens.bpe import BytePairTokenizer
    from promptlint.tokens.estimate import CharacterEstimator
    from promptlint.tokens.vocabulary import load_splintr, load_tiktoken

    size = sum(len(text.encode()) for text in texts)
    counters: list[tuple[str, Counter]] = [
        ("o200k_base, tiktoken", BytePairTokenizer("o200k_base", *load_tiktoken("o200k_base"))),
        ("cl100k_base, tiktoken", BytePairTokenizer("cl100k_base", *load_tiktoken("cl100k_base"))),
    ]
    quick = load_splintr("o200k_base")
    if quick is not None:
        counters.append(("o200k_base, splintr", BytePairTokenizer("o200k_base", *quick)))
    counters.append(("estimate by characters", CharacterEstimator()))
    print(
        f"\n{len(texts)} texts, {size / 1e6:.2f} MB\n\n| count and stable cut | MB a second | given away, mean |\n|---|---|---|"
    )
    for name, counter in counters:

        def work(counter: Counter = counter) -> int:
            for text in texts:
                counter.run((text,))
            return size

        runs = [counter.run((text,)) for text in texts]
        lost = sum(run.total - run.stable for run in runs) / len(runs)
        print(f"| {name} | {best(work, 3) / 1e6:.1f} | {lost:.2f} |")
    exact, guess = counters[0][1], CharacterEstimator()
    pairs = [(exact.run((text,)).total, guess.run((text,)).total) for text in texts if len(text) > 200]
    errors = sorted(abs(guessed - right) / right for right, guessed in pairs)
    total = sum(guessed for _, guessed in pairs) / sum(right for right, _ in pairs) - 1
    print(
        f"\nEstimate by characters against o200k_base, {len(errors)} texts: median error "
        f"{errors[len(errors) // 2]:.1%}, 95th percentile {errors[int(len(errors) * 0.95)]:.1%}, sum {total:+.1%}"
    )


_START = """
import sys
from pathlib import Path
{hide}
from promptlint.tokens.choose import open_counter
open_counter("gpt-4o", cache=Path(sys.argv[1]) if sys.argv[1:] else None).run((Path(sys.argv[-1]).read_text(),))
"""


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def start_figures() -> None:
    """Print whole-process CPU times for counting one small file."""
    hide = "import promptlint.tokens.vocabulary as v; v.has_splintr = lambda: False"
    file = str(ROOT / "LICENSE")
    with tempfile.TemporaryDirectory() as folder:
        rows = [
            ("python -c pass", ["-c", "pass"]),
            ("counts known from disk", ["-c", _START.format(hide=""), folder, file]),
            ("splintr", ["-c", _START.format(hide=""), file]),
            ("tiktoken", ["-c", _START.format(hide=hide), file]),
        ]
        print("\n| whole process, one file counted in o200k_base | CPU ms |\n|---|---|")
        for name, arguments in rows:
            times = []
            for _ in range(7):
                before = _children()
                environment = {**os.environ, "PYTHONPATH": str(ROOT)}
                subprocess.run([sys.executable, *arguments], check=True, env=environment)
                times.append(_children() - before)
            print(f"| {name} | {min(times) * 1000:.0f} |")


def layout_figures() -> None:
    """Print the time to measure a layout of 5,000 segments."""
    from promptlint.catalog.profiles import get_profile
    from promptlint.layout import Layout, Scope, Segment
    from promptlint.prefix.measure import Measure
    from promptlint.source import Place, Span
    from promptlint.tokens.choose import open_counter

    place, counter = Place("a.j2", Span(0, 0)), open_counter("gpt-4o")
    counter.run(("load the vocabulary",))
    print("\n| segments | count, prefixes of all scopes, loss behind every hole: CPU ms |\n|---|---|")
    for segments in (500, 5000, 50_000):
        row = [
            Segment(
                place,
                None if at % 2 else f"Rule {at}: be brief. ",
                scope=Scope.DAY if at % 2 else Scope.UNKNOWN,
            )
            for at in range(segments)
        ]
        start = time.process_time()
        measure = Measure(Layout("p", place, tuple(row)), get_profile("vllm"), counter)
        for scope in Scope:
            measure.prefix(scope)
        for at in range(1, segments, 2):
            measure.lost_behind(at, Scope.DAY)
        print(f"| {segments:,} | {(time.process_time() - start) * 1000:.0f} |")


def main() -> None:
    """Print all figures."""
    folder = Path(sys.argv[1]) if sys.argv[1:] else ROOT
    cache_figures()
    tokenizer_figures(corpus(folder))
    start_figures()
    layout_figures()


if __name__ == "__main__":
    main()
