"""Tools of which a function that sends a conversation has two sets, while its callers ask for both."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.frontends.python.build import Program

Run = Callable[..., Program]

AGENT = """
class Agent:
    def _call(self, {takes}):
        {sends}
    def run(self, task):
        for _ in range(9):
            self.messages.append({usual})
        {between}
        return {last}
"""
FORCED = "create(messages=self.messages, tools=[FINISH] if forced else self.tools)"
PLAIN = {"takes": "forced=False", "sends": f"return {FORCED}", "usual": "self._call()", "between": "pass"}
IF_ELSE = """
        if forced:
            offered = [FINISH]
        else:
            offered = self.tools
        return create(messages=self.messages, tools=offered)"""
IN_FRONT = """
        offered = self.tools
        if forced:
            offered = [FINISH]
        return create(messages=self.messages, tools=offered)"""
NAMED = """
        offered = [finish()] if forced else self.tools
        return create(messages=[RULES, *self.messages], tools=offered)"""


def seen(found: Program) -> list[str]:
    return [found.source(o.place) for o in found.observations if o.what == "tools-changed"]


@pytest.mark.parametrize(
    "form",
    [
        {},
        {"sends": NAMED},
        {"sends": IF_ELSE},
        {"sends": IN_FRONT},
        {"takes": "*, forced: bool = False"},
        {"takes": "forced", "usual": "self._call(False)", "last": "self._call(True)"},
        {"sends": f"return {FORCED.replace('forced', 'not forced')}"},
        {
            "takes": "mode='work'",
            "sends": f"return {FORCED}".replace("forced", "mode == 'report'"),
            "last": "self._call(mode='report')",
        },
        {
            "takes": "with_tools=True",
            "sends": "return create(messages=self.messages, tools=TOOLS if with_tools else None)",
            "last": "self._call(with_tools=False)",
        },
    ],
)
def test_callers_that_ask_for_both_sets(talking: Run, form: dict[str, str]) -> None:
    both = PLAIN | {"last": "self._call(forced=True)"} | form
    assert len(seen(talking(AGENT.format(**both)))) == 1
    assert seen(talking(AGENT.format(**(both | {"last": both["usual"]})))) == []


@pytest.mark.parametrize(
    "form",
    [
        # Only how a tool is chosen, the same set in either case, a set that is not told, and a new conversation.
        {
            "sends": "return create(messages=self.messages, tools=self.tools, tool_choice='a' if forced else 'b')"
        },
        {"last": "self._call(forced=task.forced)"},
        {"last": "self._call(**task.options)"},
        {"between": "self.messages = [task]"},
        {"usual": "other._call()"},
        {"sends": "return create(messages=[question()], tools=[FINISH] if forced else self.tools)"},
    ],
)
def test_callers_of_which_no_conversation_has_both_sets(talking: Run, form: dict[str, str]) -> None:
    assert seen(talking(AGENT.format(**(PLAIN | {"last": "self._call(forced=True)"} | form)))) == []


@pytest.mark.parametrize(("turns", "changed"), [("messages", 1), ("other_messages", 0)])
def test_turns_that_the_callers_hand_on(talking: Run, turns: str, changed: int) -> None:
    found = talking(f"""
def ask(messages, last=False):
    return create(messages=messages, tools=[FINISH] if last else TOOLS)
def run(messages, other_messages):
    messages.append(ask(messages))
    return ask({turns}, last=True)
""")
    assert len(seen(found)) == changed


@pytest.mark.parametrize(("begins", "changed"), [("pass", 1), ("self.messages = [RULES]", 0)])
def test_callers_in_several_methods(talking: Run, begins: str, changed: int) -> None:
    found = talking(f"""
class Agent:
    def _call(self, forced=False):
        return {FORCED}
    def step(self):
        self.messages.append(self._call())
    def report(self):
        {begins}
        self.messages.append(DONE)
        return self._call(forced=True)
""")
    assert len(seen(found)) == changed
