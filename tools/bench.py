"""Measures start-up and throughput of the command line: ``python tools/bench.py [--growth] [TREE ...]``.

Every figure is the least of several whole processes, as a user would start them: wall time, and CPU time of all
processes together, which other work on the machine disturbs less. Ratios are of CPU time. Nothing is warmed up
in between but promptlint's own cache, where the row says so. TREE is a folder, ``examples`` by default; a copy of it
is measured, since one of its files is changed. ``--growth`` measures two copies side by side as well.
"""

from __future__ import annotations

import ast
import os
import re
import resource
import shutil
import subprocess
import sys
import time
import warnings
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parent.parent
REPEAT = 7


Times = tuple[float, float]
"""Wall and CPU seconds."""


def least(arguments: list[str], cache: Path, repeat: int = REPEAT) -> Times:
    """Return the least wall and CPU seconds of several runs of this interpreter."""
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache), "PYTHONPYCACHEPREFIX": str(cache / "compiled")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package is compiled once
    walls, cpus = [], []
    for _ in range(repeat):
        begun, used = time.perf_counter(), _children()
        done = subprocess.run([sys.executable, *arguments], env=environment, capture_output=True, check=False)
        walls.append(time.perf_counter() - begun)
        cpus.append(_children() - used)
        if done.returncode not in (0, 1):
            raise SystemExit(done.stderr.decode())
    return min(walls), min(cpus)


def _children() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def startup(cache: Path) -> None:
    """Print the times of single commands beside those of bare imports."""
    file = str(ROOT / "examples/bad/support.j2")
    check = ["-m", "promptlint", "check", "--isolated", "--cache-dir", str(cache), file]
    bare = least(["-c", "pass"], cache)
    imports = least(["-c", "import click, jinja2"], cache)
    version = least(["-m", "promptlint", "--version"], cache)
    warm = least(check, cache)
    cold = least([*check[:-1], "--no-cache", file], cache, 3)
    row("python -c pass", bare)
    row("python -c 'import click, jinja2'", imports)
    row("promptlint --version", version, f"{(version[1] - bare[1]) * 1000:.0f} ms over bare Python")
    row("check of one template, no cache", cold)
    row("check of one template, warm", warm, f"{warm[1] / imports[1]:.2f} times the imports")


def tree(folder: Path, cache: Path, *, growth: bool) -> None:
    """Print cold, warm and changed times of one tree beside `ast.parse` over its Python files."""
    begun, used = time.perf_counter(), time.process_time()
    files = characters = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for path in folder.rglob("*.py"):
            try:
                data = path.read_bytes()
                ast.parse(data)
            except (SyntaxError, ValueError, OSError):
                continue
            files, characters = files + 1, characters + len(data)
    parse = time.perf_counter() - begun, time.process_time() - used
    row(f"{folder.name}: ast.parse of {files:,} files, {characters / 1e6:.1f} MB", parse)
    with TemporaryDirectory() as scratch:
        work = Path(scratch, "one", folder.name)
        shutil.copytree(folder, work, ignore=shutil.ignore_patterns(".git"), symlinks=True)
        check = [
            "-m",
            "promptlint",
            "check",
            "--isolated",
            "--cache-dir",
            str(cache / folder.name),
            str(work),
        ]
        cold = least(check, cache, 1)
        row(f"{folder.name}: check, cold", cold, f"{cold[1] / parse[1]:.2f} times ast.parse")
        warm = least(check, cache, 3)
        row(f"{folder.name}: check, warm", warm, f"{warm[1] / cold[1]:.3f} of cold")
        for path in (smallest(work), most_imported(work)):
            for what, change in (("a comment", comment), ("every function", in_functions)):
                text = path.read_text(encoding="utf-8")
                path.write_text(change(text), encoding="utf-8")
                row(f"{folder.name}: {what} of {path.relative_to(work)} changed", least(check, cache, 1))
                path.write_text(text, encoding="utf-8")
                least(check, cache, 1)
        if growth:
            shutil.copytree(work, Path(scratch, "one", "again"), symlinks=True)
            twice = least([*check[:3], "--isolated", "--no-cache", str(Path(scratch, "one"))], cache, 1)
            row(f"{folder.name}: twice the files, cold", twice, f"{twice[1] / cold[1]:.2f} times once")
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(f"\nLargest process so far: {peak:,.0f} MB\n")


def sources(folder: Path) -> dict[Path, str]:
    """Return the text of each Python file that imports something, tests left out."""
    found = sorted(path for path in folder.rglob("*.py") if "test" not in str(path.relative_to(folder)))
    texts = {path: path.read_text(encoding="utf-8", errors="replace") for path in found}
    return {path: text for path, text in texts.items() if "import " in text}


def smallest(folder: Path) -> Path:
    """Return the smallest Python file that imports something and is no package."""
    texts = {path: text for path, text in sources(folder).items() if path.name != "__init__.py"}
    return min(texts, key=lambda path: (len(texts[path]), path))


def most_imported(folder: Path) -> Path:
    """Return the Python file that is named in the most ``from … import``."""
    texts = sources(folder)
    named = Counter(
        name for text in texts.values() for name in re.findall(r"^from ([\w.]+) import", text, re.MULTILINE)
    )
    return max(texts, key=lambda path: named[".".join(path.relative_to(folder).with_suffix("").parts)])


def comment(text: str) -> str:
    """Add a comment."""
    return f"{text}\n# changed\n"


def in_functions(text: str) -> str:
    """Change the body of every function."""
    return re.sub(r"^(\s*)return\b", r"\1changed = 1; return", text, flags=re.MULTILINE)


def row(what: str, times: Times, remark: str = "") -> None:
    """Print one line of a Markdown table."""
    print(f"| {what} | {times[0] * 1000:,.0f} ms | {times[1] * 1000:,.0f} ms | {remark} |", flush=True)


def main() -> None:
    """Print a table."""
    arguments = sys.argv[1:]
    growth = "--growth" in arguments
    trees = [a for a in arguments if a != "--growth"] or [str(ROOT / "examples")]
    with TemporaryDirectory() as folder:
        cache = Path(folder)
        print("| what | wall | CPU | |\n|---|---|---|---|")
        startup(cache)
        for argument in trees:
            tree(Path(argument).resolve(), cache, growth=growth)


if __name__ == "__main__":
    main()
