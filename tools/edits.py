"""Edits a copy of a tree at random and compares what is kept between runs with a run that keeps nothing.

usage: python tools/edits.py TREE [ROUNDS] [SEED]

Each round changes up to four Python files: a comment, values returned, a definition renamed, an assignment emptied, a
clock kept at import. Prints the wall seconds of both runs; ends with 1 where their findings differ.
"""

from __future__ import annotations

import json
import random
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parent.parent
Lines = list[str]


def comment(lines: Lines, rng: random.Random) -> Lines:
    """Put a comment in front."""
    return ["# edited", *lines]


def returns(lines: Lines, rng: random.Random) -> Lines:
    """Change some of the functions."""
    return [
        re.sub(r"^(\s*)return\b", r"\1edited = 1; return", one) if rng.random() < 0.5 else one
        for one in lines
    ]


def renamed(lines: Lines, rng: random.Random) -> Lines:
    """Give a function another name."""
    return _one(lines, rng, r"^(\s*(?:async )?def )(\w+)", r"\1edited_\2")


def emptied(lines: Lines, rng: random.Random) -> Lines:
    """Assign nothing."""
    return _one(lines, rng, r"^(\s+\w+ = ).*", r"\1None")


def clock(lines: Lines, rng: random.Random) -> Lines:
    """Keep a clock at import."""
    return [*lines, "import datetime", 'EDITED = f"{datetime.datetime.now()}"']


EDITS: tuple[Callable[[Lines, random.Random], Lines], ...] = (comment, returns, renamed, emptied, clock)


def _one(lines: Lines, rng: random.Random, pattern: str, new: str) -> Lines:
    at = [number for number, line in enumerate(lines) if re.match(pattern, line)]
    if not at:
        return lines
    chosen = rng.choice(at)
    return [re.sub(pattern, new, line) if number == chosen else line for number, line in enumerate(lines)]


def check(folder: Path, *options: str) -> tuple[list[object], float]:
    """Return the findings of a folder, and the wall seconds it took."""
    command = [sys.executable, "-m", "promptlint", "check", "--isolated", "--exit-zero", "--format", "json"]
    begun = time.perf_counter()
    done = subprocess.run(
        [*command, *options, "."], cwd=folder, env={"PYTHONPATH": str(ROOT)}, capture_output=True, check=True
    )
    findings: list[object] = json.loads(done.stdout)["findings"]
    return findings, time.perf_counter() - begun


def main() -> int:
    """Print a line a round and return the exit code."""
    tree, rounds, seed = [*sys.argv[1:], *("8", "1")[len(sys.argv) - 2 :]][:3]
    rng = random.Random(int(seed))
    with TemporaryDirectory() as scratch:
        work, cache = Path(scratch, "tree"), Path(scratch, "cache")
        shutil.copytree(tree, work, ignore=shutil.ignore_patterns(".git"), symlinks=True)
        files = sorted(p for p in work.rglob("*.py") if "test" not in str(p.relative_to(work)))
        check(work, "--cache-dir", str(cache))
        for number in range(int(rounds)):
            for path in rng.sample(files, rng.randint(1, min(4, len(files)))):
                text = path.read_text(encoding="utf-8", errors="replace")
                path.write_text("\n".join(rng.choice(EDITS)(text.split("\n"), rng)), encoding="utf-8")
            kept, warm = check(work, "--cache-dir", str(cache))
            fresh, cold = check(work, "--no-cache")
            same = kept == fresh
            print(
                f"{number}: {len(fresh)} findings, {warm:.1f} s and {cold:.1f} s, {'equal' if same else 'DIFFERENT'}"
            )
            if not same:
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
