"""The kind of a change, told by two texts at the head of one system prompt."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from promptlint.trace.analyze import analyze
from promptlint.trace.explain.redact import redacted
from promptlint.trace.options import Options
from tests.trace.provider import Provider, chat, claude, manual

MANUAL = manual("a depot")
PAIRS = [
    ("clock", "It is 2026-10-12T10:00:33Z.", "It is 2026-10-12T10:01:05Z."),
    (
        "clock",
        "Current date and time: October 12, 2026 10:00 AM",
        "Current date and time: October 12, 2026 10:04 AM",
    ),
    ("clock", "Date: 2026-10-12\nTime: 10:00:01", "Date: 2026-10-12\nTime: 10:00:31"),
    ("clock", "Last sync: 2 minutes ago.", "Last sync: 3 minutes ago."),
    ("clock", "Heute ist der 12.10.2026, 10:00 Uhr.", "Heute ist der 12.10.2026, 10:07 Uhr."),
    ("identifier", "[trace 9fd0c3b1]", "[trace 11ab90ce]"),
    (
        "identifier",
        "Correlation-ID: 01J9ZQ3W8K6T5V4R2M1N0P9X7Y",
        "Correlation-ID: 01J9ZQ4A8K6T5V4R2M1N0P9Z2B",
    ),
    ("identifier", "Ticket #48213", "Ticket #51877"),
    ("identifier", "[req-9fd0c3b1] 2026-10-12 10:00:33 - Hi.", "[req-11ab90ce] 2026-10-12 10:01:05 - Hi."),
    ("identifier", "[req-48213077] 2026-10-12 10:00:33 - Hi.", "[req-11877240] 2026-10-12 10:01:05 - Hi."),
    ("identifier", '<meta message_id="msg_8821f">', '<meta message_id="msg_0c7d1">'),
    ("random", "nonce: 8f1e2d3c", "nonce: 77ab01cd"),
    ("random", "Exploration factor 0.83712", "Exploration factor 0.22941"),
    (
        "random",
        "Examples:\nQ: A? A: shelf 1\nQ: B? A: shelf 2",
        "Examples:\nQ: K? A: shelf 7\nQ: A? A: shelf 1",
    ),
    ("counter", "Iteration: 1", "Iteration: 2"),
    ("counter", "(turn 1/12)", "(turn 2/12)"),
    ("counter", "You have made 3 tool calls.", "You have made 4 tool calls."),
    ("counter", "Spent so far: 1,204 tokens of 50,000.", "Spent so far: 3,511 tokens of 50,000."),
    ("unordered", "Allowed regions: {'eu', 'us', 'ap'}", "Allowed regions: {'us', 'ap', 'eu'}"),
    ("unordered", "Tags: red blue green", "Tags: green red blue"),
    ("unordered", "Known files:\na.py\nb.py\nc/d.py", "Known files:\nc/d.py\na.py\nb.py"),
    ("unordered", 'Config: {"a": 1, "b": 2, "c": 3}', 'Config: {"c": 3, "a": 1, "b": 2}'),
    ("unordered", "1. lamp\n2. door\n3. fan", "1. fan\n2. lamp\n3. door"),
    ("whitespace", "You are kind.\r\nBe brief.\r", "You are kind.\nBe brief."),
    ("whitespace", "You are kind.\n\n", "You are kind."),
    ("whitespace", "    You are kind.\n   ", "You are kind."),
    (
        "retrieved",
        "<documents>\n<doc>Pump is 3 kg.</doc>\n<doc>P2 is 4 kg.</doc>",
        "<documents>\n<doc>V9 holds 8 bar.</doc>",
    ),
    (
        "retrieved",
        "Search results:\n1. Pump P1, hall 3\n2. Pump P2, hall 4",
        "Search results:\n1. Valve V9, hall 9",
    ),
    ("environment", "cwd: /srv/app", "cwd: /srv/app/tests"),
    ("environment", "Git branch: main (3f9c2ab)", "Git branch: feature/x (77e01bc)"),
]
USERS = [
    ("You talk to Anna.", "You talk to Mehmet."),
    ("Customer: Acme GmbH (gold)", "Customer: Delta AG (silver)"),
    ("User ID: 8812", "User ID: 991"),
    ("User profile:\n- Name: Anna\n- Likes tea", "User profile:\n- Name: Tom\n- Likes maps\n- Vegan"),
    ("Answer in German.", "Answer in Polish."),
]


def kinds(log: Provider, write_log: Callable[..., Path]) -> list[tuple[int, str]]:
    found = analyze([write_log(*log.rows)], [], Options()).findings
    return [(row["line"], row["kind"]) for row in found]


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
@pytest.mark.parametrize(("kind", "old", "new"), PAIRS)
def test_within_a_conversation(
    provider: str, kind: str, old: str, new: str, write_log: Callable[..., Path]
) -> None:
    log = Provider(provider)
    make = chat if provider == "openai" else claude
    log.send(make(f"{old}\n{MANUAL}", "Hello."), thread="t")
    log.send(make(f"{new}\n{MANUAL}", "Hello.", "Yes?", "Go on."), thread="t")
    assert kinds(log, write_log) == [(2, kind)]


@pytest.mark.parametrize(("old", "new"), USERS)
def test_from_one_user_to_the_next(old: str, new: str, write_log: Callable[..., Path]) -> None:
    log = Provider()
    log.send(chat(f"{old}\n{MANUAL}", "Hello."), thread="a")
    log.send(chat(f"{new}\n{MANUAL}", "Hi."), thread="b")
    assert kinds(log, write_log) == [(2, "per-user")]


def test_kinds_need_no_usage(write_log: Callable[..., Path]) -> None:
    log = Provider()
    for minute in range(3):
        log.send(chat(f"It is 10:0{minute}.\n{MANUAL}", "Hello."), thread="t")
    for row in log.rows:
        del row["response"]
    assert kinds(log, write_log) == [(2, "clock"), (3, "clock")]


def test_redacted_text_shows_its_shape_only() -> None:
    assert redacted("key sk-Ab12 at 10:32") == "aaa aa-aa99 aa 99:99"


def test_a_prompt_of_one_long_line(write_log: Callable[..., Path]) -> None:
    """All of the line behind the two values is lost, as where it has line breaks, and the first value is named."""
    text = " ".join(MANUAL.split())
    rows = []
    for body in (text, MANUAL):
        log = Provider()
        for request, minute in (("9fd0c3b1", 5), ("11ab90ce", 6)):
            head = f"[req-{request}] 2026-11-30 09:0{minute}:00 - You are Nora. "
            log.send(chat(head + body, "Hello."))
        rows.append(analyze([write_log(*log.rows)], [], Options()).findings[0])
    flat, lines = rows
    assert flat["kind"] == lines["kind"] == "identifier"
    assert flat["evidence"]["detail"] == "both texts are identifiers; clock behind it"
    assert abs(flat["cost"]["tokens"] - lines["cost"]["tokens"]) <= 0.02 * lines["cost"]["tokens"]
