"""Mutates examples of every kind of file and reads them: ``python tools/fuzz.py [COUNT] [SEED]``.

No input may crash a frontend or a check, take over two seconds of CPU time, or make the process take more than
500 MB. A failing input is printed with its seed. Leaves with 1 if there was one.
"""

from __future__ import annotations

import random
import resource
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

from promptlint.config import Config
from promptlint.discover import Target
from promptlint.engine.judge import Judge
from promptlint.engine.python import check_python
from promptlint.engine.units import Result, check_file
from promptlint.engine.world import World
from promptlint.errors import InputError
from promptlint.filetypes import FileType, type_of
from promptlint.source import decode

ROOT = Path(__file__).resolve().parent.parent
MOST_SECONDS = 2.0
MOST_MB = 500
_BITS = (
    *(
        "{{",
        "}}",
        "{%",
        "%}",
        "{#",
        "#}",
        "{% for x in y %}",
        "{% endfor %}",
        "{% if a %}",
        "{% macro m() %}",
        "{%- raw -%}",
    ),
    *('"', "'", '"""', "\\", "\n", "\r\n", "\t", "\0", "\ufeff", "\u2028", "é", "\U0001f600"),
    *(
        "{",
        "}",
        "[",
        "]",
        "(",
        ")",
        ": ",
        "- ",
        "|\n",
        "&a ",
        "*a",
        "<<: ",
        "---\n",
        "${x}",
        "$x",
        "{x!r:>{w}}",
        "f'",
        "#",
    ),
    *(
        "{{now()}}",
        "{{ user_id }}",
        "{datetime.now()}",
        "cache_control",
        "messages",
        "role: system\n",
        "lambda: ",
        "yield ",
    ),
)


def seeds() -> list[tuple[str, str]]:
    """Return (name, text) of the examples and of the blocks in the rules' pages."""
    found = []
    for path in sorted((ROOT / "examples").rglob("*")):
        if path.is_file() and type_of(path.name):
            found.append((path.name, path.read_text(encoding="utf-8")))
    from promptlint.catalog.catalog import Catalog

    suffix = {
        "python": ".py",
        "jinja": ".j2",
        "yaml": ".yaml",
        "json": ".json",
        "markdown": ".md",
        "toml": ".toml",
    }
    for rule in Catalog().rules.values():
        for number, example in enumerate(rule.examples):
            name = example.filename or f"{rule.code}-{number}{suffix.get(example.language, '.md')}"
            found.append((name, example.text))
    return found


def mutate(text: str, random_: random.Random) -> str:
    """Return a text with up to eight cuts, copies, swaps and foreign bits."""
    for _ in range(random_.randint(1, 8)):
        at, to = sorted(random_.randint(0, len(text)) for _ in range(2))
        to = min(to, at + 200)
        front, part, back = text[:at], text[at:to], text[to:]
        bit = random_.choice(_BITS)
        changed = random_.choice(
            (
                (front, back),
                (front, part * random_.choice((2, 3, 40)), back),
                (front, bit, part, back),
                (front, part[::-1], back),
                (front, bit * random_.choice((1, 3, 300)), back),
            )
        )
        text = "".join(changed)[:20_000]
    return text


def read(name: str, data: bytes, judge: Judge) -> Result:
    """Check the bytes of one file as the engine would."""
    config, cwd = Config(cache=False), ROOT
    try:
        source = decode(data, name)
    except InputError:
        return Result(name)
    world = World(config, cwd, source)
    target = Target(name, cwd / name, type_of(name) or FileType.DOCUMENT, named=True)
    if target.type is FileType.PYTHON:
        ((_, result),) = check_python([target], config, cwd, (name,), world, judge)
        return result
    return check_file(target, world, judge, lambda: (name,), config)


def peak_mb() -> float:
    """Return the most memory of this program; `getrusage` counts that of whoever started it, too."""
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def run(count: int, seed: int) -> Iterator[str]:
    """Yield what went wrong, input by input."""
    warnings.simplefilter("ignore")
    judge, texts = Judge(Config(cache=False)), seeds()
    for number in range(count):
        random_ = random.Random(seed * 1_000_003 + number)
        name, text = random_.choice(texts)
        mutated = bytearray(mutate(text, random_).encode())
        if mutated and random_.random() < 0.1:
            mutated[random_.randrange(len(mutated))] = random_.randrange(256)
        begun = time.process_time()
        try:
            error = read(name, bytes(mutated), judge).error
            fault = error.message if error is not None and error.internal else ""
        except Exception as crash:
            fault = f"{type(crash).__name__}: {crash}"
        if (used := time.process_time() - begun) > MOST_SECONDS:
            fault = f"{used:.1f} s of CPU time; {fault}"
        if fault:
            yield f"input {number} of seed {seed}, made of {name}: {fault}\n{bytes(mutated[:400])!r}"
    peak = peak_mb()
    if peak > MOST_MB:
        yield f"the process took {peak:.0f} MB"


def main() -> int:
    """Print faults and a summary."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    begun = time.process_time()
    faults = 0
    for fault in run(count, seed):
        print(fault, flush=True)
        faults += 1
    peak = peak_mb()
    print(
        f"{count:,} inputs, {faults} faults, {time.process_time() - begun:.0f} s of CPU time, at most {peak:.0f} MB"
    )
    return int(faults > 0)


if __name__ == "__main__":
    sys.exit(main())
