"""Agents that mark what stands in front of the conversation, and no turn."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.frontends.python.build import LONG, Program

Run = Callable[..., Program]

AGENT = f"""
import anthropic
client = anthropic.Anthropic()
MARK = {{"type": "ephemeral"}}
SYSTEM = [{{"type": "text", "text": "{LONG}", "cache_control": MARK}}]
def plain(message):
    return {{k: v for k, v in message.items() if k != "cache_control"}}
def last_marked(messages):
    messages[-1]["content"][-1]["cache_control"] = MARK
    return messages
def run(task, tools, execute, limit, tasks):
    messages = [{{"role": "user", "content": [{{"type": "text", "text": task}}]}}]
    LOOP:
        reply = client.messages.create(model="claude-sonnet-4-5", max_tokens=9, system=SYSTEM, messages=SENT)
        messages.append({{"role": "assistant", "content": reply.content}})
        messages.append({{"role": "user", "content": execute(reply)}})
"""
FOR, WHILE = "for _ in range(limit)", "while execute(task)"
MARKED = "messages[-1]['content'][-1]['cache_control'] = MARK"


@pytest.mark.parametrize(
    ("loop", "sent", "bare"),
    [
        (FOR, "messages", True),
        (WHILE, "messages", True),
        (FOR, "[plain(m) for m in messages]", True),
        (FOR, "list(messages)", True),
        ("for _ in range(40)", "messages", True),
        ("for _ in range(3)", "messages", False),  # over before the turns are many
        ("for task in tasks", "messages", False),  # each a task of its own
        (FOR, "messages, cache_control=MARK", False),  # the provider marks the end itself
        (FOR, "last_marked(messages)", False),
        (FOR, "trail.sent(messages)", False),  # nobody knows what that gives
        (FOR, "[{'role': 'user', 'content': task}]", False),
    ],
)
def test_the_turns_that_a_loop_adds(program: Run, loop: str, sent: str, bare: bool) -> None:
    text = (
        AGENT
        if "last_marked" in sent
        else AGENT.replace('messages[-1]["content"][-1]["cache_control"] = MARK', "pass")
    )
    found = program(text.replace("LOOP", loop).replace("SENT", sent))
    seen = [found.source(one.place) for one in found.observations if one.what == "turns-unmarked"]
    assert seen == [sent] * bare
    assert ("PL604" in found.codes) is bare


@pytest.mark.parametrize(
    "marks",
    [
        "messages[-1]['content'][-1]['cache_control'] = MARK",
        "messages[-1]['content'][-1].update(cache_control=MARK)",
        "add_cache_control(messages)",
    ],
)
def test_somebody_may_mark_them(program: Run, marks: str) -> None:
    text = AGENT.replace('messages[-1]["content"][-1]["cache_control"] = MARK', marks)
    found = program(text.replace("LOOP", FOR).replace("SENT", "messages"))
    assert "turns-unmarked" not in found.seen


def test_nothing_is_marked(program: Run) -> None:
    text = AGENT.replace(', "cache_control": MARK', "").replace("LOOP", FOR).replace("SENT", "messages")
    assert "turns-unmarked" not in program(text).seen
