"""Methods that a class inherits, and what it gives them to send."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.frontends.python.build import LONG, Program

Run = Callable[..., Program]
BASE = """
from openai import OpenAI
class Agent:
    def __init__(self, instructions, tools=None):
        self.client, self.held = OpenAI(), instructions
        self._tools = tools or []
        self.messages = []
    @property
    def tools(self): return self._tools
    def run(self, question):
        return self.client.chat.completions.create(model='m', tools=self.tools, messages=[
            {'role': 'system', 'content': self.held}, *self.messages, {'role': 'user', 'content': question}])
"""
DESK = f"""
from datetime import datetime
from base import Agent
PROMPT = {LONG!r}
"""


@pytest.mark.parametrize(
    ("desk", "codes"),
    [
        ("class Desk(Agent):\n    def __init__(self): super().__init__(f'It is {datetime.now()}. {PROMPT}')", {"PL101"}),
        ("class Desk(Agent):\n    def __init__(self): super().__init__(PROMPT)", set()),
        (
            ("class Desk(Agent):\n    def refresh(self): self.held = f'It is {datetime.now()}. {PROMPT}'\n"
            "    def run(self, q):\n        self.refresh()\n        return super().run(q)"),
            {"PL101"},
        ),
        (
            ("class Desk(Agent):\n    def __init__(self, names):\n        super().__init__(PROMPT)\n"
            "        for name in set(names): self._tools.append(make(name))"),
            {"PL301"},
        ),
        # What one base fills, the next one sends.
        (
            ("class Filled:\n    def __init__(self, names, *rest):\n        super().__init__(*rest)\n"
            "        for name in set(names): self._tools.append(make(name))\n"
            "class Desk(Filled, Agent):\n    def __init__(self, names): super().__init__(names, PROMPT)"),
            {"PL301"},
        ),
    ],
)  # fmt: skip
def test_a_subclass_gives_what_the_base_sends(program: Run, desk: str, codes: set[str]) -> None:
    found = program({"base.py": BASE, "desk.py": DESK + desk})
    assert set(found.codes) - {"PL110"} == codes  # nothing is known of the tools


@pytest.mark.parametrize(
    ("chosen", "found"),
    [
        ("[KNOWN[name] for name in set(names)]", True),
        ("[KNOWN[name] for name in sorted(set(names))]", False),
        ("[KNOWN[name] for name in names]", False),
        ("frozenset()", False),
        ("frozenset({Search, Browse})", False),  # kinds of tools, to be asked for one of them
    ],
)
def test_a_function_that_gives_tools(program: Run, chosen: str, found: bool) -> None:
    """Nobody is seen who sends them."""
    classes = "class Search: ...\nclass Browse: ..."
    source = f"# for a prompt\n{classes}\ndef build_tools(names):\n    return {chosen}"
    assert ("PL301" in program(source).codes) == found


@pytest.mark.parametrize(
    ("given", "found"),
    [("set[str]", False), ("frozenset[type[Tool]]", False), ("set[Tool]", True), ("list[Tool]", True)],
)
def test_a_function_that_gives_names_of_tools(program: Run, given: str, found: bool) -> None:
    source = (
        f"# for a prompt\ndef allowed_tools(names) -> {given}:\n    return frozenset(KNOWN[n] for n in names)"
    )
    assert ("PL301" in program(source).codes) == found


def test_a_class_that_was_put_into_another_is_none_of_its_own(program: Run) -> None:
    """Two that know one another would be entered without an end."""
    one = "class {0}:\n    def prompt(self):\n        return 'You are a {0}. {2}'\n    other = None\n"
    found = program(
        "# for a prompt\n"
        + one.format("Ship", "Port", LONG)
        + one.format("Port", "Ship", LONG)
        + "Ship.other = Port\nPort.other = Ship\nShip.own = Ship\n"
    )
    assert len(found.texts) == 2


@pytest.mark.parametrize(("below", "told"), [(3, True), (80, False)])
def test_a_base_of_a_library_is_not_run_for_each_class(program: Run, below: int, told: bool) -> None:
    base = f"from datetime import datetime\nclass Base:\n    def prompt(self):\n        return f'{{self.name()}} {LONG}'\n"
    one = "class C{n}(Base):\n    name = 'c'\n    def name(self):\n        return f'It is {{datetime.now()}}.'\n"
    found = program(base + "".join(one.format(n=n) for n in range(below)))
    assert ("PL101" in found.codes) is told
