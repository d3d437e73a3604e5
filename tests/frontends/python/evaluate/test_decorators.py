from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.frontends.python.build import LONG, Program

System = Callable[..., str]
Run = Callable[..., Program]
WRAP = """
import functools
def wrap(f):
    @functools.wraps(f)
    def inner(*args, **kwargs):
        return 'W ' + f(*args, **kwargs)
    return inner
def tag(name):
    def outer(f):
        def inner(*args, **kwargs):
            return f'<{name}>{f(*args, **kwargs)}</{name}>'
        return inner
    return outer
def retry(f):
    def inner(*args, **kwargs):
        for _ in range(3):
            try:
                return f(*args, **kwargs)
            except OSError:
                pass
    return inner
TOOLS = []
def register(f):
    TOOLS.append(f)
    return f
"""


@pytest.mark.parametrize(
    ("decorators", "expected"),
    [
        ("@wrap", "W text a"),
        ("@tag('b')", "<b>text a</b>"),
        ("@tag('b')\n@wrap", "<b>W text a</b>"),
        ("@wrap\n@tag('b')", "W <b>text a</b>"),
        ("@retry", "text a"),
        ("@register", "text a"),
        ("@app.get('/x')", "text a"),
    ],
)
def test_what_is_called(system: System, decorators: str, expected: str) -> None:
    assert system("text('a')", f"{WRAP}\n{decorators}\ndef text(x):\n    return f'text {{x}}'\n") == expected


def test_methods(system: System) -> None:
    head = (
        f"{WRAP}\nclass P:\n    name = 'p'\n    @wrap\n    def text(self, x):\n        return self.name + x\n"
    )
    assert system("P().text('a')", head) == "W pa"


def test_a_decorated_function_is_still_an_entry(program: Callable[..., object]) -> None:
    found = program(
        f"from openai import OpenAI\n{WRAP}\n@wrap\ndef ask(question):\n"
        "    return OpenAI().chat.completions.create(messages=[{'role': 'user', 'content': question}])\n"
    )
    assert found.text == "<user>{question ~request-input/request}"  # type: ignore[attr-defined]


def test_an_agent_reads_what_its_functions_return_one_after_the_other(program: Callable[..., object]) -> None:
    found = program(
        "from datetime import date\nfrom pydantic_ai import Agent\nagent = Agent('m')\nother = Agent('n')\n"
        "@agent.instructions\ndef today():\n    return f'Today is {date.today()}. '\n"
        "@other.instructions\ndef else_where():\n    return 'Not this one.'\n"
        "@agent.instructions()\ndef rules():\n    return 'Be brief and kind in all you say.'\n"
    )
    assert found.named("system prompt of today") == (  # type: ignore[attr-defined]
        "<system>Today is {date.today() ~clock/day}. Be brief and kind in all you say."
    )
    assert found.named("system prompt of rules") == "<system>Be brief and kind in all you say."  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("decorator", "codes"),
    [
        ("agent.instructions", ["PL101"]),
        ("agent.system_prompt(dynamic=True)", ["PL101"]),
        ("agent.system_prompt", []),  # of the first request; the conversation keeps it
    ],
)
def test_instructions_are_made_again_in_front_of_the_turns(
    program: Run, decorator: str, codes: list[str]
) -> None:
    text = f"""
from datetime import datetime
from pydantic_ai import Agent
agent = Agent("openai:gpt-4o", instructions={LONG!r})
@{decorator}
def clock() -> str:
    return f"The time is {{datetime.now():%H:%M:%S}}."
"""
    assert program(text).codes == codes


@pytest.mark.parametrize(
    ("decorator", "codes"), [("@llm.call('openai/gpt-4o')", ["PL101"]), ("@other.call('openai/gpt-4o')", [])]
)
def test_what_a_function_returns_is_sent_by_its_decorator(
    program: Callable[..., Program], decorator: str, codes: list[str]
) -> None:
    found = program(f"""
from datetime import datetime
from mirascope import llm
from acme import other
{decorator}
def answer(text):
    return f"It is {{datetime.now()}}. {LONG} {{text}}"
""")
    assert found.codes == codes
