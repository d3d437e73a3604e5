"""Windows of turns whose beginning is reckoned first, and lists beside a conversation that nobody sends."""

from __future__ import annotations

import ast
from collections.abc import Callable
from textwrap import indent

import pytest

from promptlint.frontends.python.readings.beginnings import beginning
from promptlint.frontends.python.readings.unsent import is_never_sent
from tests.frontends.python.build import Program

Run = Callable[..., Program]

CHAT = """
from openai import OpenAI
STEP = 20
class Chat:
    def __init__(self):
        self.history = []
    def say(self, text, keep=40):
        self.history.append({{"role": "user", "content": text}})
{cut}
        return OpenAI().chat.completions.create(messages=[{{"role": "system", "content": "Be kind."}}, *{sent}])
"""


def cuts(program: Run, cut: str, sent: str) -> list[str]:
    found = program(CHAT.format(cut=indent(cut, " " * 8), sent=sent))
    assert set(found.seen) <= {"history-cut"}
    return sorted({found.source(o.place) for o in found.observations})


@pytest.mark.parametrize(
    "cut",
    [
        "start = max(0, len(self.history) - keep)\nrecent = self.history[start:]",
        "n = len(self.history)\nstart = n - keep if n > keep else 0\nrecent = self.history[start:]",
        "recent = self.history[max(0, len(self.history) - keep):]",
        "start = -keep\nrecent = self.history[start:]",
        "extra = len(self.history) - keep\nif extra > 0:\n    self.history = self.history[extra:]\nrecent = self.history",
    ],
)
def test_a_window_that_moves_with_each_turn(program: Run, cut: str) -> None:
    assert len(cuts(program, cut, "recent")) == 1


@pytest.mark.parametrize(
    "cut",
    [
        "start = len(self.history) - len(self.history) % 20\nrecent = self.history[start:]",
        "start = len(self.history) // STEP * STEP\nrecent = self.history[start:]",
        "start = max(0, len(self.history) - keep)\nstart -= start % STEP\nrecent = self.history[start:]",
        "kept = len(self.history) % 20 + 20\nrecent = self.history[-kept:]",
        "del self.history[:len(self.history) // 20 * 20]\nrecent = self.history",
        "start = max(0, len(self.history) - keep) // STEP * STEP\ndel self.history[:start]\nrecent = self.history",
        (
            "if len(self.history) > 60:\n    start = len(self.history) - 20\n    self.history = self.history[start:]"
            "\nrecent = self.history"
        ),
        "over = len(self.history) - 60\nif over > 0:\n    self.history = self.history[-20:]\nrecent = self.history",
        "while len(self.history) > 60:\n    del self.history[:40]\nrecent = self.history",
        # What came since, and the last turn alone.
        "before = len(self.history)\nrecent = self.history[before:]",
        "start = len(self.history) - 1\nrecent = self.history[start:]",
    ],
)
def test_a_window_that_moves_rarely_or_not(program: Run, cut: str) -> None:
    assert cuts(program, cut, "recent") == []


@pytest.mark.parametrize(
    ("bound", "kept", "in_steps"),
    [
        ("-n", "n", False),
        ("len(turns) - n", "n", False),
        ("max(len(turns) - n, 0)", "n", False),
        ("len(turns) - len(turns) % 9", "len(turns) % 9", True),
        ("len(turns) // 9 * 9", None, True),
    ],
)
def test_what_stays(bound: str, kept: str | None, in_steps: bool) -> None:
    expression = ast.parse(bound, mode="eval").body
    found = beginning(expression, ast.Name("turns"), None)
    assert found is not None
    assert (found.kept and ast.unparse(found.kept), found.in_steps) == (kept, in_steps)


@pytest.mark.parametrize(
    "bound", ["len(others) - n", "-1", "n", "len(others) % 9", "'%s' % n", "safe(turns, len(turns) - n)"]
)
def test_no_window(bound: str) -> None:
    assert beginning(ast.parse(bound, mode="eval").body, ast.Name("turns"), None) is None


LOGGED = """
from openai import OpenAI
class Chat:
    def __init__(self):
        self.messages, self.history = [], []
    def say(self, text):
        self.messages.append({"role": "user", "content": text})
        self.history.append({"role": "user", "content": text})
        self.history = self.history[-100:]
        reply = OpenAI().chat.completions.create(messages=self.SENT)
        return reply
    def sent(self):
        return [*self.history]
    def show(self):
        for line in self.history:
            print(line)
"""


@pytest.mark.parametrize(
    ("sent", "told"), [("messages", False), ("history", True), ("sent()", True), ("history[-9:]", True)]
)
def test_a_log_that_is_never_sent(program: Run, sent: str, told: bool) -> None:
    found = program(LOGGED.replace("SENT", sent))
    assert ("history-cut" in found.seen) is told


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        (LOGGED.replace("SENT", "messages"), True),
        (LOGGED.replace("SENT", "sent()"), False),
        # Handed to somebody who may read it; read by another class; a class that sends nothing.
        (LOGGED.replace("self.SENT", "build(self)"), False),
        (LOGGED.replace("SENT", "messages") + "def dump(chat):\n    return chat.history\n", False),
        (LOGGED.replace("OpenAI().chat.completions.create(messages=self.SENT)", "None"), False),
    ],
)
def test_never_sent(program: str, expected: bool) -> None:
    tree = ast.parse(program)
    [method] = (n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and n.name == "say")
    assert is_never_sent("history", method, tree) is expected
