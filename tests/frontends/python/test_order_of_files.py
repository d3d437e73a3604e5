"""What a file gives does not depend on the files that were read before it."""

from __future__ import annotations

import pytest

from tests.frontends.python.build import ASK, LONG, analyze

PROGRAMS = {
    "a registry that other modules fill": {
        "registry.py": "known = {}\ndef register(name, text):\n    known[name] = text\n",
        "plugin.py": f'from registry import register\nregister("guide", "{LONG}")\nprompt = "{LONG}"\n',
        "chat.py": f'{ASK}from registry import known\ndef ask(q):\n    prompt = known["guide"] + q\n    return prompt\n',
    },
    "a collection of a class": {
        "agents.py": "class Agent:\n    rules = []\n    def rule(self, text):\n        self.rules.append(text)\n",
        "first.py": f'from agents import Agent\ndef prompt(agent: Agent):\n    agent.rule("{LONG}")\n    return "".join(agent.rules)\n',
        "second.py": f'from agents import Agent\ndef prompt(agent: Agent):\n    return "{LONG}" + "".join(agent.rules)\n',
    },
    "a name that a function sets": {
        "state.py": f'text = "{LONG}"\ndef change(new):\n    global text\n    text = new\n    return text\n',
        "first.py": "import state\ndef prompt():\n    state.change('short')\n    return state.text\n",
        "second.py": f'import state\ndef prompt():\n    return state.text + "{LONG}"\n',
    },
    "a decorator that is run once": {
        "tools.py": f"""
def noted(func):
    def inner(*args):
        return "{LONG}" + func(*args)
    return inner

@noted
def describe(tool):
    return f"Tool: {{tool}}"
""",
        "first.py": "from tools import describe\ndef prompt(tool):\n    return describe(tool)\n",
        "second.py": "from tools import describe\ndef prompt(tool):\n    return describe(tool)\n",
    },
    "a call within a call that was remembered": {
        "parts.py": f'def rules(name):\n    prompt = f"{LONG}"\n    return prompt\ndef all_of(name):\n    return rules(name)\n',
        "first.py": 'from parts import rules, all_of\ndef prompt():\n    return rules("a") + all_of("a")\n',
        "second.py": 'from parts import all_of\ndef prompt():\n    return all_of("a")\n',
    },
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_any_order_gives_the_same(program: str) -> None:
    files = PROGRAMS[program]
    forwards = {unit.path: unit.layouts for unit in analyze(files, sorted(files))}
    backwards = {unit.path: unit.layouts for unit in analyze(files, sorted(files, reverse=True))}
    alone = {path: layouts for path in files for layouts in [_alone(files, path)] if layouts is not None}
    assert forwards == backwards == alone
    assert any(forwards.values())


def _alone(files: dict[str, str], path: str) -> object:
    return next((unit.layouts for unit in analyze(files, paths=[path])), None)
