"""Arithmetic on usage, and the interval between calls, as Python programs state them."""

from __future__ import annotations

import textwrap
from collections.abc import Callable

import pytest

from promptlint.catalog import Catalog
from promptlint.frontends import python
from promptlint.frontends.base import Context
from promptlint.layout import Observation
from promptlint.source import SourceFile
from tests.frontends.python.build import Program


def seen(code: str, what: str) -> list[Observation]:
    source = SourceFile("app.py", "import anthropic\n" + textwrap.dedent(code))
    context = Context(load=lambda path: source if path == "app.py" else None)
    units = python.analyze(["app.py"], context, Catalog())
    return [o for unit in units for layout in unit.layouts for o in layout.observations if o.what == what]


def miscounted(body: str) -> list[str]:
    code = f"def f(usage, reply, messages):\n{textwrap.indent(textwrap.dedent(body), '    ')}\n"
    return [observation.detail for observation in seen(code, "usage-miscounted")]


@pytest.mark.parametrize(
    "body",
    [
        "return usage.prompt_tokens + usage.prompt_tokens_details.cached_tokens",
        "return usage['prompt_tokens'] + usage['prompt_tokens_details']['cached_tokens']",
        "return usage.completion_tokens + usage.prompt_tokens + usage.prompt_tokens_details.cached_tokens",
        "cached = usage.input_tokens_details.cached_tokens or 0\nreturn usage.input_tokens + cached",
        "d = usage.prompt_tokens_details\nn = getattr(usage.prompt_tokens_details, 'cached_tokens', 0)\nreturn usage.prompt_tokens + n",
        "return usage.prompt_token_count + usage.cached_content_token_count",
        "return usage.cache_read_input_tokens / usage.input_tokens",
        "read = usage.get('cache_read_input_tokens', 0)\nreturn read / usage['input_tokens']",
        "return usage.input_tokens - usage.cache_read_input_tokens",
        "return usage['inputTokens'] - usage['cacheReadInputTokens']",
    ],
)
def test_miscounted(body: str) -> None:
    assert len(miscounted(body)) == 1


@pytest.mark.parametrize(
    "body",
    [
        "return usage.input_tokens + usage.cache_read_input_tokens + usage.cache_creation_input_tokens",
        "return usage.prompt_tokens - usage.prompt_tokens_details.cached_tokens",
        "return usage.prompt_tokens_details.cached_tokens / usage.prompt_tokens",
        "total = usage.input_tokens + usage.cache_read_input_tokens\nreturn usage.cache_read_input_tokens / total",
        "return usage['totals']['input_tokens'] + usage['totals']['cached_tokens']",  # a program's own figures
        "return usage.prompt_tokens + usage.completion_tokens",
        "cached_tokens = 3\nreturn cached_tokens + 4",
    ],
)
def test_counted_right(body: str) -> None:
    assert miscounted(body) == []


CALL = """
    client.messages.create(
        model="claude-opus-5",
        max_tokens=9,
        system=[{"type": "text", "text": "Check the order.", "cache_control": {"type": "ephemeral"}}],
        messages=[{"role": "user", "content": text}],
    )
"""


def intervals(code: str) -> list[float]:
    return [float(o.data["interval_seconds"]) for o in seen(code, "ttl-short")]


def program(loop: str) -> str:
    return f"import time\nclient = anthropic.Anthropic()\nPAUSE = 15 * 60\n\ndef ask(text):{CALL}\n{loop}"


@pytest.mark.parametrize(
    ("loop", "seconds"),
    [
        ("def run(read):\n    while True:\n        ask(read())\n        time.sleep(900)\n", 900),
        ("def run(read):\n    while True:\n        ask(read())\n        time.sleep(PAUSE)\n", 900),
        (
            "async def run(read):\n    async for text in read:\n        ask(text)\n        await asyncio.sleep(2 * 60)\n",
            120,
        ),
        (
            "def one(text):\n    return ask(text)\n\ndef run(read):\n    while True:\n        one(read())\n        time.sleep(900)\n",
            900,
        ),
        ("schedule.every(10).minutes.do(ask)\n", 600),
        ("schedule.every().hour.do(ask)\n", 3600),
        ("scheduler.add_job(ask, 'interval', hours=1, minutes=30)\n", 5400),
        ("scheduler.add_job(ask, IntervalTrigger(minutes=20))\n", 1200),
        ("scheduler.add_job(func=ask, trigger='interval', minutes=20)\n", 1200),
        (f"@scheduler.scheduled_job('interval', minutes=20)\ndef job(text):{CALL}", 1200),
        (f"@tasks.loop(hours=2)\nasync def job(text):{CALL}", 7200),
        ("def run(read):\n    while True:\n        ask(read())\n" + "        time.sleep(9)\n" * 2_000, 9),
    ],
)
def test_stated_interval(loop: str, seconds: float) -> None:
    assert set(intervals(program(loop))) == {seconds}


@pytest.mark.parametrize(
    "loop",
    [
        "def run(read):\n    while True:\n        ask(read())\n",
        "def run(read, n):\n    while True:\n        ask(read())\n        time.sleep(n)\n",  # not known
        "def run(read):\n    while True:\n        try:\n            ask(read())\n        except OSError:\n            time.sleep(900)\n",
        "def run(read):\n    while True:\n        if not read():\n            time.sleep(900)\n        ask(read())\n",
        "def other():\n    while True:\n        time.sleep(900)\n",
        # All but the first of a round come soon after another.
        "def run(read):\n    while True:\n        for text in read():\n            ask(text)\n        time.sleep(900)\n",
        "def all(texts):\n    return [ask(t) for t in texts]\n\ndef run(read):\n    while True:\n        all(read())\n        time.sleep(900)\n",
        "scheduler.add_job(other, 'interval', hours=1)\n",
        f"def run(read):\n    while True:\n        ask(read())\n        time.sleep(1{'0' * 400})\n",
        "X0 = 2\n"
        + "".join(f"X{n + 1} = X{n} * X{n}\n" for n in range(60))
        + "def run(read):\n    while True:\n        ask(read())\n        time.sleep(X60)\n",
    ],
)
def test_no_interval_is_stated(loop: str) -> None:
    assert intervals(program(loop)) == []


def test_calls_without_marks_have_no_lifetime() -> None:
    code = program("schedule.every(10).minutes.do(ask)\n").replace(
        ', "cache_control": {"type": "ephemeral"}', ""
    )
    assert intervals(code) == []


MARKS = """
def mark():
    return {"type": "ephemeral"}
"""
ASKING = """
import anthropic
from marks import mark
def ask(messages, text):
    messages.append({"role": "user", "content": text})
    anthropic.Anthropic().messages.create(
        model="claude-opus-5",
        system=[{"type": "text", "text": "Check the order.", "cache_control": mark()}],
        messages=messages,
    )
"""
WAITING = """
import time
from asking import ask
def run(messages, read):
    while True:
        ask(messages, read())
        time.sleep(%s)
"""


@pytest.mark.parametrize(
    ("pause", "told"), [("PAUSE", False), ("600", True), ("10 * 60", True), ("60", False)]
)
def test_a_mark_and_a_loop_in_other_files(program: Callable[..., Program], pause: str, told: bool) -> None:
    found = program({"marks.py": MARKS, "asking.py": ASKING, "main.py": WAITING % pause})
    said = [(f.primary.path, f.origin.path) for f in found.findings if f.code == "PL610" and f.origin]
    assert said == ([("marks.py", "main.py")] if told else [])
