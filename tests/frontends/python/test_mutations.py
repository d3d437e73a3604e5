"""Programs with random damage: no exception, no long run, no growing memory."""

from __future__ import annotations

import gc
import random
import time
import tracemalloc
from pathlib import Path

import pytest

from promptlint.frontends.python.analyze import Unit
from tests.frontends.python.build import analyze, judge
from tests.frontends.python.test_incremental import VERSIONS
from tests.frontends.python.test_programs import PARTS

ROOT = Path(__file__).resolve().parents[3]
SEEDS = [
    *(text for path, versions in VERSIONS.items() if path.endswith(".py") for text in versions),
    PARTS.format(head="h", mid="m"),
    *(
        path.read_text(encoding="utf-8")
        for path in sorted((ROOT / "promptlint/frontends/python/evaluate").glob("[a-m]*.py"))
    ),
]
TOKENS = [
    "\ndef",
    "class",
    "return",
    "yield",
    "await",
    "async",
    "lambda",
    "if",
    "else",
    "elif",
    "for",
    "while",
    "with",
    "try",
    "except",
    "finally",
    "match",
    "case",
    "import",
    "from",
    "as",
    "*",
    "**",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ":",
    "=",
    "+=",
    "|=\n,",
    ".",
    "f'",
    "'",
    '"',
    "'''",
    "{x}",
    "{{",
    "}}",
    "%",
    ".format(",
    ".join(",
    ".append(",
    ".insert(0,",
    ".pop(0)",
    "del",
    "self",
    "super()",
    "__init__",
    "@property",
    "@dataclass",
    "global",
    "nonlocal\nmessages",
    "system_prompt",
    "prompt",
    "{'role':'system','content':",
    "[-5:]",
    "sorted(",
    "set(",
    "{*a}",
    "datetime.now()",
    "uuid.uuid4()",
    "x=x",
    "\\",
    "#",
    "\\N{",
    "\t",
    "é",
    "世\n",
]
SECONDS = 2.0


def mutated(rng: random.Random) -> str:
    """Return a program with a few pieces cut, doubled, swapped or put in."""
    text = rng.choice(SEEDS)
    if len(text) > 3000:
        start = rng.randrange(len(text) - 2000)
        text = text[start : start + 2000].partition("\n")[2]
    for _ in range(rng.randint(1, 6)):
        a, b = sorted(rng.randrange(len(text) + 1) for _ in range(2))
        b = min(b, a + 200)
        kind = rng.randrange(5)
        if kind == 0:
            text = text[:a] + text[b:]
        elif kind == 1:
            text = text[:b] + text[a:b] + text[b:]
        elif kind == 2:
            text = text[:a] + rng.choice(TOKENS) + text[a:]
        elif kind == 3:
            lines = text.split("\n")
            rng.shuffle(lines[: len(lines) // 2])
            at = rng.randrange(len(lines))
            lines[at:at] = rng.sample(lines, min(3, len(lines)))
            text = "\n".join(lines)
        else:
            text = text.replace(
                rng.choice(("self", "text", "name", "messages", "def ")), rng.choice(TOKENS), 3
            )
    return text


def check(seed: int) -> list[Unit]:
    rng = random.Random(seed)
    files = {"app.py": mutated(rng), "parts.py": mutated(rng), "lib/__init__.py": rng.choice(SEEDS)}
    began = time.process_time()
    units = analyze(files)
    taken = time.process_time() - began
    assert taken < SECONDS, f"seed {seed}: {taken:.1f} s"
    for unit in units:
        for layout in unit.layouts:
            judge().annotate(layout)
            for segment in layout.segments:
                span = segment.place.span
                source = files.get(segment.place.path)
                assert source is None or span.end <= len(source.lstrip("\n")) + 1, f"seed {seed}"
    return units


def test_mutated_programs() -> None:
    found = sum(len(unit.layouts) for seed in range(500) for unit in check(seed))
    assert found > 100  # the damage leaves prompts to be found


@pytest.mark.slow
def test_many_mutated_programs() -> None:
    for seed in range(500, 20_500):
        check(seed)


def test_memory_does_not_grow_with_the_number_of_runs() -> None:
    for seed in range(20):
        check(seed)
    tracemalloc.start()
    try:
        for seed in range(20, 40):
            check(seed)
        gc.collect()  # trees and values refer to one another in circles
        first = tracemalloc.get_traced_memory()[0]
        for seed in range(40, 80):
            check(seed)
        gc.collect()
        assert tracemalloc.get_traced_memory()[0] < first + 4_000_000
    finally:
        tracemalloc.stop()


DEEP = {
    "parentheses": "prompt = " + "(" * 180 + "'a'" + ")" * 180,
    "additions": "prompt = " + " + ".join(["'You are here'"] * 3000),
    "attributes": "prompt = a" + ".b" * 3000,
    "calls": "prompt = " + "f(" * 150 + "'x'" + ")" * 150,
    "conditions": "def prompt(x):\n"
    + "".join(f"{' ' * (n + 1)}if x:\n" for n in range(95))
    + " " * 97
    + "return 'You are here to help us.'",
    "branches": "def prompt(x):\n    p = 'You are here to help us. '\n"
    + "    if x:\n        p += 'a'\n" * 1500
    + "    return p\n",
    "elifs": "def prompt(x):\n    if x == 0:\n        p = 'a'\n"
    + "".join(f"    elif x == {n}:\n        p = 'text {n}'\n" for n in range(400))
    + "    return p\n",
    "loops": "def prompt(x):\n    p = 'You are here to help us. '\n"
    + "".join(f"{' ' * 4 * (n + 1)}for v{n} in x:\n" for n in range(18))
    + " " * 80
    + "p += 'a'\n    return p\n",
    "doubling": "prompt = 'You are here to help us. '\n" + "prompt = prompt + prompt\n" * 40,
    "doubling lists": "xs = ['You are here to help']\n" + "xs = xs + xs\n" * 30 + "prompt = ' '.join(xs)\n",
    "repeating": "prompt = 'You are here' * 10 ** 9\nq = f'{1:1000000000d}'\n",
    "calling one another": "".join(
        f"def prompt{n}(x):\n    return prompt{(n + 1) % 60}(x) + prompt{(n * 7) % 60}(x) + 'text {n}'\n"
        for n in range(60)
    ),
    "a list in itself": "messages = []\nmessages.append(messages)\nprompt = f'You are here to help us {messages}'\n",
    "a class of itself": "class prompt(prompt):\n    prompt: prompt = prompt\n",
    "inheriting in a circle": "import app\nclass A(app.B):\n    def prompt(self):\n        return self.prompt()\nclass B(A):\n    pass\n",
    "importing itself": "from app import *\nfrom app import prompt\nprompt = prompt\n",
}


@pytest.mark.parametrize("name", DEEP)
def test_hostile_programs_end(name: str) -> None:
    began = time.process_time()
    analyze({"app.py": DEEP[name]})
    assert time.process_time() - began < 3 * SECONDS
