"""Time other tools on text logs beside `promptlint trace`: CPU seconds of the work, imports left out.

usage: PYTHONPATH=.:FOLDER_OF_THE_PEER python tools/bench_peers.py LOG.jsonl[.gz] TOKENIZER_FOLDER

The peer is ``prefix_analysis.py`` of LMCache/lmcache-agent-trace, which tokenizes the prompts of such a log and
gives the prefix hit rate for pools of twelve sizes. Its substring method is left out: promptlint has none.
"""

from __future__ import annotations

import gzip
import shutil
import sys
import tempfile
import time
from pathlib import Path


def peer(log: Path, tokenizer: str) -> None:
    """Run the published script's own functions."""
    import prefix_analysis as published

    started = time.process_time()
    sequences, _ = published.load_and_tokenize_inputs(str(log), tokenizer)
    read = time.process_time()
    rates = []
    for size in published.DEFAULT_POOL_SIZES_GB:
        limit = None if size == "unlimited" else int(size * published.DEFAULT_TOKENS_PER_GB)
        rates.append(published.calculate_hit_rate(sequences, limit))
    ended = time.process_time()
    print(f"prefix_analysis: {read - started:.2f} s read and tokenized, {ended - read:.2f} s twelve pools")
    print(f"  unlimited: {rates[-1]:.6f} of tokens hit")


def ours(log: Path, tokenizer: str) -> None:
    """Run the whole analysis: every request explained, the exact curve, the lifetime curve."""
    from promptlint.trace.analyze import analyze
    from promptlint.trace.options import Options
    from promptlint.trace.simulation import simulate

    options = Options(tokenizer=tokenizer, block=1, jobs=1, order="log")
    started = time.process_time()
    found = analyze([log], [], options)
    read = time.process_time()
    assert found.columns is not None
    data = simulate(found.columns, options, found.unit)
    ended = time.process_time()
    print(
        f"promptlint: {read - started:.2f} s read, tokenized, explained; {ended - read:.2f} s all capacities"
    )
    print(f"  unlimited: {data['curve'][-1]['token_hit_ratio']:.6f} of {data['input_tokens']:,} tokens hit")


if __name__ == "__main__":
    given, folder = Path(sys.argv[1]), sys.argv[2]
    with tempfile.TemporaryDirectory() as place:
        plain = Path(place) / "log.jsonl"
        if given.suffix == ".gz":
            with gzip.open(given) as packed, plain.open("wb") as out:
                shutil.copyfileobj(packed, out)
        else:
            shutil.copyfile(given, plain)
        ours(plain, folder)
        peer(plain, folder)
