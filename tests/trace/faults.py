"""Conversations with one fault each, as their providers would have logged them."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from tests.trace.provider import Provider, chat, claude, manual

Log = Provider
TALK = [
    "Is the pump in?",
    "Yes, on shelf four.",
    "And the valve?",
    "On shelf nine.",
    "Order two.",
    "Done.",
    "Thanks.",
]
MANUAL = manual("a workshop")
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": name,
            "description": f"{name} something in the store.",
            "parameters": {"type": "object", "properties": {"item": {"type": "string"}}},
        },
    }
    for name in ("find", "order", "book", "cancel")
]
CLAUDE_TOOLS = [
    {
        "name": t["function"]["name"],
        "description": t["function"]["description"],
        "input_schema": {"type": "object"},
    }
    for t in TOOLS
]


def talk(log: Log, system: Callable[[int], str], thread: str = "t", turns: int = 3, **more: Any) -> Log:
    """Send a growing conversation whose system text is made anew for each turn."""
    make = chat if log.provider == "openai" else claude
    for turn in range(turns):
        log.send(make(system(turn), *TALK[: 2 * turn + 1], **more), thread=thread)
    return log


def clock(log: Log) -> None:
    talk(log, lambda n: f"Current time: 2026-10-12 10:0{n}:{17 * n:02d}\n{MANUAL}")


def clock_epoch(log: Log) -> None:
    for turn in range(3):
        log.send(chat(f"now={log.now.timestamp() + 20:.0f}\n{MANUAL}", *TALK[: 2 * turn + 1]), thread="t")


def clock_weekday(log: Log) -> None:
    talk(log, lambda n: f"Today is {['Monday', 'Tuesday', 'Friday'][n]}.\n{MANUAL}")


def clock_in_tool(log: Log) -> None:
    for turn in range(3):
        tools = [dict(TOOLS[0]), TOOLS[1]]
        tools[0] = {
            "type": "function",
            "function": {**TOOLS[0]["function"], "description": f"Finds items. It is 10:{turn * 7:02d} now."},
        }
        log.send(chat(MANUAL, *TALK[: 2 * turn + 1], tools=tools), thread="t")


def clock_in_first_turn(log: Log) -> None:
    for turn in range(3):
        first = f"[2026-10-12T10:{turn * 3:02d}:00Z]\n{MANUAL}\n{TALK[0]}"
        log.send(chat("Help.", first, *TALK[1 : 2 * turn + 1]), thread="t")


def identifier(log: Log) -> None:
    talk(log, lambda n: f"Request: 9f8e7d6c-1b2a-4c3d-8e9f-{n}a1b2c3d4e5f\n{MANUAL}")


def identifier_short(log: Log) -> None:
    talk(log, lambda n: f"Trace id: req_{['8fK2m', 'Zq91x', 'a7Lp0'][n]}{n}7c\n{MANUAL}")


def rand(log: Log) -> None:
    talk(log, lambda n: f"Seed: {[83712, 1193, 55021][n]}\n{MANUAL}")


def random_examples(log: Log) -> None:
    pool = [f"Example: part {n * 37 % 101} goes to bin {n * 53 % 97}." for n in range(12)]
    rng = random.Random(3)
    talk(log, lambda n: "Examples:\n" + "\n".join(rng.sample(pool, 4)) + f"\n\n{MANUAL}")


def unordered(log: Log) -> None:
    orders = ["pump, valve, hose, clamp", "hose, clamp, pump, valve", "valve, pump, clamp, hose"]
    talk(log, lambda n: f"In stock: {orders[n]}.\n{MANUAL}")


def unordered_lines(log: Log) -> None:
    lines = ["- docs/intro.md", "- docs/setup.md", "- src/main.py", "- src/util.py"]
    rng = random.Random(8)
    talk(log, lambda n: "Files:\n" + "\n".join(rng.sample(lines, 4)) + f"\n{MANUAL}")


def unordered_json(log: Log) -> None:
    for turn in range(3):
        keys = ["item", "count", "unit"] if turn != 1 else ["unit", "count", "item"]
        tool = {
            "type": "function",
            "function": {
                "name": "order",
                "description": "Orders.",
                "parameters": {"type": "object", "properties": {k: {"type": "string"} for k in keys}},
            },
        }
        log.send(chat(MANUAL, *TALK[: 2 * turn + 1], tools=[tool]), thread="t")


def environment(log: Log) -> None:
    for turn, host in enumerate(["web-7f9c4", "web-1b2d8", "web-0aa31"]):
        log.send(chat(f"Host: {host}, pid {4021 + 977 * turn}\n{MANUAL}", TALK[0] + str(turn)))


def environment_path(log: Log) -> None:
    for turn, path in enumerate(["/home/ann/shop", "/home/bob/work/shop", "/srv/ci/build-17"]):
        log.send(chat(f"Working directory: {path}\n{MANUAL}", TALK[0]), thread=f"t{turn}")


def counter(log: Log) -> None:
    talk(log, lambda n: f"You are at step {n + 1} of 20.\n{MANUAL}")


def counter_down(log: Log) -> None:
    talk(log, lambda n: f"Tokens left in the budget: {12_000 - 731 * n}\n{MANUAL}")


def per_user(log: Log) -> None:
    for thread, name in (("a", "Anna Berg"), ("b", "Tom Iwu"), ("c", "Lea Sand")):
        log.send(chat(f"The user's name is {name}.\n{MANUAL}", TALK[0]), thread=thread)


def per_user_mail(log: Log) -> None:
    for thread, name in (("a", "anna@shop.example"), ("b", "tom@shop.example")):
        log.send(chat(f"Signed in as {name}\n{MANUAL}", TALK[0]), thread=thread)


def retrieved(log: Log) -> None:
    notes = [
        "Relevant memories:\n- The customer bought a pump in May.\n- Prefers delivery on Mondays.",
        "Relevant memories:\n- The valve was returned once.\n- Asks for invoices by post.\n- Likes short answers.",
        "Relevant memories:\n- Orders go to the second gate.",
    ]
    talk(log, lambda n: f"{notes[n]}\n\n{MANUAL}")


def tools_order(log: Log) -> None:
    for turn in range(3):
        tools = TOOLS if turn != 1 else [TOOLS[2], TOOLS[0], TOOLS[3], TOOLS[1]]
        log.send(chat(MANUAL, *TALK[: 2 * turn + 1], tools=tools), thread="t")


def tools_added(log: Log) -> None:
    for turn in range(3):
        log.send(
            claude(MANUAL, *TALK[: 2 * turn + 1], tools=CLAUDE_TOOLS[: 2 + (turn > 0)], rolling=True),
            thread="t",
        )


def history_cut(log: Log) -> None:
    long = [text + " " + manual("turn " + str(n), 25) for n, text in enumerate(TALK)]
    for turn in range(4):
        kept = long[: 2 * turn + 1][max(0, 2 * turn - 2) :]
        log.send(chat("Help.", *kept), thread="t")


def history_elided(log: Log) -> None:
    long = [text + " " + manual("turn " + str(n), 40) for n, text in enumerate(TALK)]
    for turn in range(3):
        told = [
            "[removed to save space]" if n < 2 * turn - 1 and n % 2 == 0 else text
            for n, text in enumerate(long[: 2 * turn + 1])
        ]
        log.send(claude("Help.", *told, rolling=True), thread="t")


def history_thinking(log: Log) -> None:
    for turn in range(3):
        body = claude(MANUAL, *TALK[: 2 * turn + 1], rolling=True)
        for n, message in enumerate(body["messages"]):
            if message["role"] == "assistant" and n >= 2 * turn - 1 and turn < 2:
                thought = {"type": "thinking", "thinking": manual("thought", 30), "signature": "x"}
                message["content"].insert(0, thought)
            if n == 1:
                message["content"].append({"type": "text", "text": manual("the answer", 40)})
        log.send(body, thread="t")


def history_picture(log: Log) -> None:
    """A picture of the last turn gives way to a line of text once it was answered."""
    picture = {
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="},
    }
    for turn in range(3):
        body = claude(MANUAL, *TALK[: 2 * turn + 1], rolling=True)
        shown = (
            {"type": "text", "text": "A picture, seen and described: " + "a meter in a cellar, " * 12}
            if turn == 2
            else picture
        )
        if turn:
            body["messages"][2]["content"].append(shown)
        log.send(body, thread="t")


def whitespace(log: Log) -> None:
    talk(log, lambda n: f"Rules for the shop:\n{'  ' * (n % 2)}Be brief.\n{MANUAL}")


def chat_template(log: Log) -> None:
    for turn, day in enumerate(["12 Oct 2026", "13 Oct 2026", "14 Oct 2026"]):
        head = "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\n"
        head += f"Cutting Knowledge Date: December 2023\nToday Date: {day}\n\n"
        prompt = f"{head}{MANUAL}<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nHi {turn}<|eot_id|>"
        body = {"prompt": prompt}
        log.send(chat(prompt, "x"), after=40)
        row = log.rows[-1]
        row["endpoint"], row["request"] = "/v1/completions", {"model": log.model, **body}


def below_minimum(log: Log) -> None:
    for turn in range(3):
        log.send(
            claude(manual("a kiosk", 150), *TALK[: 2 * turn + 1], model="claude-haiku-4-5", rolling=True),
            thread="t",
        )


def parameter(log: Log) -> None:
    for turn in range(3):
        thinking = {"thinking": {"type": "enabled", "budget_tokens": 2000}} if turn != 1 else {}
        turns = [TALK[0] + manual("the first turn"), *TALK[1 : 2 * turn + 1]]
        log.send(claude("Help.", *turns, rolling=True, **thinking), thread="t")


def parameter_choice(log: Log) -> None:
    for turn in range(3):
        choice = {"type": "auto"} if turn != 2 else {"type": "any"}
        turns = [TALK[0] + manual("the first turn"), *TALK[1 : 2 * turn + 1]]
        log.send(claude("Help.", *turns, rolling=True, tools=CLAUDE_TOOLS, tool_choice=choice), thread="t")


def parameter_schema(log: Log) -> None:
    for turn in range(3):
        schema = {"type": "object", "properties": {f"field_{turn}": {"type": "string"}}}
        shape = {"type": "json_schema", "json_schema": {"name": "out", "schema": schema}}
        log.send(chat(MANUAL, *TALK[: 2 * turn + 1], response_format=shape), thread="t")


def ttl(log: Log) -> None:
    for turn in range(3):
        log.send(
            claude(MANUAL, *TALK[: 2 * turn + 1], rolling=True), after=340 if turn == 2 else 30, thread="t"
        )


def ttl_automatic(log: Log) -> None:
    for turn in range(3):
        log.send(chat(MANUAL, *TALK[: 2 * turn + 1]), after=3 * 86400 if turn == 2 else 30, thread="t")


def routing_key(log: Log) -> None:
    for turn in range(3):
        log.send(
            chat(MANUAL, *TALK[: 2 * turn + 1], prompt_cache_key=f"k{turn}"),
            thread="t",
            cache=f"machine {turn}",
        )


def routing(log: Log) -> None:
    for turn in range(3):
        log.send(chat(MANUAL, *TALK[: 2 * turn + 1]), thread="t", cache=f"machine {turn % 2}")


def routing_replica(log: Log) -> None:
    for turn in range(4):
        log.send(chat(MANUAL, *TALK[: 2 * turn + 1]), thread="t", cache=f"machine {turn % 3}")
        log.rows[-1]["replica"] = f"10.0.0.{turn % 3}"


def mark_on_changing(log: Log) -> None:
    for turn in range(3):
        blocks = [
            {"type": "text", "text": MANUAL},
            {
                "type": "text",
                "text": f"Notes of this turn: customer {turn * 7 + 3} asked about parts.",
                "cache_control": {"type": "ephemeral"},
            },
        ]
        log.send(claude(blocks, TALK[0] + str(turn)), thread="t")


def mark_missing(log: Log) -> None:
    for turn in range(3):
        log.send(claude(MANUAL, *TALK[: 2 * turn + 1], marked=False), thread="t")


def mark_on_question(log: Log) -> None:
    for turn in range(3):
        body = claude(MANUAL, f"Question {turn}: where is part {turn * 31}?", marked=False)
        body["messages"][0]["content"][0]["cache_control"] = {"type": "ephemeral"}
        log.send(body)


def look_back(log: Log) -> None:
    for turn in range(2):
        body = claude("Help.", MANUAL, rolling=True)
        for n in range(30 * turn):
            role = "assistant" if n % 2 == 0 else "user"
            body["messages"].append(
                {"role": role, "content": [{"type": "text", "text": f"Part {n} is there."}]}
            )
        log.send(body, thread="t")


def mark_limit(log: Log) -> None:
    for turn in range(4):
        body = claude(MANUAL, *TALK[: 2 * turn + 1])
        for message in body["messages"]:
            message["content"][0]["cache_control"] = {"type": "ephemeral"}
        log.send(body, thread="t")


# provider, what is sent, kind, the lines that miss
FAULTS: list[tuple[str, Callable[[Log], None], str, list[int]]] = [
    ("openai", clock, "clock", [2, 3]),
    ("anthropic", clock, "clock", [2, 3]),
    ("openai", clock_epoch, "clock", [2, 3]),
    ("openai", clock_weekday, "clock", [2, 3]),
    ("openai", clock_in_tool, "clock", [2, 3]),
    ("openai", clock_in_first_turn, "clock", [2, 3]),
    ("openai", identifier, "identifier", [2, 3]),
    ("anthropic", identifier, "identifier", [2, 3]),
    ("openai", identifier_short, "identifier", [2, 3]),
    ("openai", rand, "random", [2, 3]),
    ("openai", random_examples, "random", [2, 3]),
    ("openai", unordered, "unordered", [2, 3]),
    ("openai", unordered_lines, "unordered", [2, 3]),
    ("openai", unordered_json, "unordered", [2]),
    ("openai", environment, "environment", [2, 3]),
    ("openai", environment_path, "environment", [2, 3]),
    ("openai", counter, "counter", [2, 3]),
    ("openai", counter_down, "counter", [2, 3]),
    ("openai", per_user, "per-user", [2, 3]),
    ("openai", per_user_mail, "per-user", [2]),
    ("openai", retrieved, "retrieved", [2, 3]),
    ("anthropic", retrieved, "retrieved", [2, 3]),
    ("openai", tools_order, "tools-order", [2]),
    ("anthropic", tools_added, "tools-order", [2]),
    ("openai", history_cut, "history-rewrite", [3, 4]),
    ("anthropic", history_elided, "history-rewrite", [3]),
    ("anthropic", history_thinking, "history-rewrite", [3]),
    ("anthropic", history_picture, "history-rewrite", [3]),
    ("openai", whitespace, "whitespace", [2]),
    ("openai", chat_template, "chat-template", [2, 3]),
    ("anthropic", below_minimum, "below-minimum", [2, 3]),
    ("anthropic", parameter, "parameter-change", [2]),
    ("anthropic", parameter_choice, "parameter-change", [3]),
    ("openai", parameter_schema, "parameter-change", [2, 3]),
    ("anthropic", ttl, "ttl", [3]),
    ("openai", ttl_automatic, "ttl", [3]),
    ("openai", routing_key, "routing", [2, 3]),
    ("openai", routing, "routing", [2]),
    ("openai", routing_replica, "routing", [2, 3]),
    ("anthropic", mark_on_changing, "breakpoint-misplaced", [2, 3]),
    ("anthropic", mark_missing, "breakpoint-misplaced", [2, 3]),
    ("anthropic", mark_on_question, "breakpoint-misplaced", [2, 3]),
    ("anthropic", look_back, "breakpoint-misplaced", [2]),
    ("anthropic", mark_limit, "breakpoint-limit", [3, 4]),
]
