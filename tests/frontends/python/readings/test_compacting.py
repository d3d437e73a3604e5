"""Functions named after shortening a conversation, and what is put in front of its last turn."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.frontends.python.build import Program

Run = Callable[..., Program]


def seen(found: Program) -> list[tuple[str, str]]:
    return sorted({(o.what, found.source(o.place)) for o in found.observations})


@pytest.mark.parametrize(
    ("back", "what"),
    [
        ("return [*kept[:at], note, *kept[at:]]", "history-rewritten"),
        ("return system + [summary_message] + recent", "history-rewritten"),
        ("return replaced(messages=messages, summary=summary)", "history-rewritten"),
        ("return messages[cut(messages, limit):]", "history-cut"),
        ("self.messages = messages[at:]", "history-cut"),
        ("return [m for m in messages if id(m) in kept]", "history-cut"),
        ("self.messages[1:at] = [summary]", "history-rewritten"),
        ("self.messages[:at] = []", "history-cut"),
        ("self.rounds.pop(0)", "history-cut"),
        ("return messages", None),
        ("return [system, *messages]", None),
        ("return [m for m in messages if m.role in allowed()]", None),
        ("return messages[1:]", None),
        ("self.names[at] = note", None),
        ("return sizes(messages, conversation_id)", None),
    ],
)
def test_what_a_function_named_after_shortening_gives_back(talking: Run, back: str, what: str | None) -> None:
    found = talking(f"""
class Reducer:
    def compact(self, messages, system, kept, note, at, limit, summary, summary_message, recent):
        {back}
""")
    assert seen(found) == ([(what, back)] if what else [])


@pytest.mark.parametrize(("name", "owner"), [("compact", "Chat"), ("run", "HistoryReducer")])
def test_the_function_or_its_class_is_named_after_shortening(talking: Run, name: str, owner: str) -> None:
    body = "        return messages[at:]\n"
    found = talking(f"class {owner}:\n    def {name}(self, messages, at):\n{body}")
    assert [what for what, _ in seen(found)] == ["history-cut"]
    assert seen(talking(f"class Chat:\n    def page(self, messages, at):\n{body}")) == []


def test_a_turn_that_is_emptied_where_it_stands(talking: Run) -> None:
    found = talking("""
def prune(messages, protected, role):
    kept = list(messages)
    for index, message in enumerate(messages):
        if index not in protected:
            kept[index] = placeholder(message)
    return kept if kept != messages else None
def truncate_old(messages, rounds, limit):
    for number in rounds:
        message = messages[number]
        if len(message.content) > limit:
            message.content = message.content[:limit] + "..."
""")
    assert seen(found) == [
        ("history-rewritten", "kept[index] = placeholder(message)"),
        ("history-rewritten", 'message.content = message.content[:limit] + "..."'),
    ]


@pytest.mark.parametrize(
    ("body", "cut"),
    [
        ("return messages[:at], messages[at:]", False),
        ("old = messages[:at]\n    new = messages[at:]\n    return old, new", False),
        ("return role, messages[at:]", True),
        ("return messages[:first], messages[at:]", True),
    ],
)
def test_who_gives_both_parts_back_drops_none(talking: Run, body: str, cut: bool) -> None:
    found = talking(f'def partition_to_compress(messages, at, first):\n    role = "user"\n    {body}\n')
    assert ("history-cut" in [what for what, _ in seen(found)]) is cut


def test_all_turns_are_given_the_shape_of_a_provider(talking: Run) -> None:
    found = talking("""
def format_for_summary(messages):
    kept = list(messages)
    for at, turn in enumerate(kept):
        if turn["role"] == "tool":
            kept[at] = {"role": "user", "content": "tool: " + turn["content"]}
    for at, turn in enumerate(kept):
        if at < len(messages) - 4:
            kept[at] = {"role": "user", "content": "[left out]"}
    return kept
""")
    assert all("tool" not in text for _, text in seen(found))
    assert ("history-rewritten", 'kept[at] = {"role": "user", "content": "[left out]"}') in seen(found)


@pytest.mark.parametrize(
    ("test", "cut"), [("len(turns_of(messages)) > limit", True), ("messages and not first", False)]
)
def test_a_list_that_becomes_its_own_end_at_a_limit(talking: Run, test: str, cut: bool) -> None:
    found = talking(f"""
def made(messages, first, limit):
    role = "user"
    if {test}:
        messages = messages[first:]
    return messages
""")
    assert ("history-cut" in [what for what, _ in seen(found)]) is cut


def test_a_summary_in_front_of_the_turns_that_are_not_in_it(talking: Run) -> None:
    found = talking("""
def build(base, past, current_messages):
    base.append({"role": "assistant", "content": long_term_summary})
    for turn in current_messages:
        base.append({"role": turn["role"], "content": turn["content"]})
    return base
def last(base, report_summary):
    base.append({"role": "user", "content": report_summary})
    return base
""")
    assert seen(found) == [
        ("history-rewritten", 'base.append({"role": "assistant", "content": long_term_summary})')
    ]


def test_turns_put_in_front_of_the_last_one_of_the_user(talking: Run) -> None:
    found = talking("""
def built(history_before, files, last_user_message, reminder, messages):
    result = []
    result.extend(history_before)
    result.extend(files)
    result.append(last_user_message)
    result.append(reminder)
    return result
def replayed(messages, extra, last_user_index):
    out = []
    for index, message in enumerate(messages):
        if index == last_user_index:
            out.append(Message(role="user", content=extra))
        out.append(message)
    return out
""")
    assert seen(found) == [
        ("history-inserted", 'out.append(Message(role="user", content=extra))'),
        ("history-inserted", "result.extend(files)"),
    ]


@pytest.mark.parametrize(
    ("test", "other", "changed"),
    [
        ("number == limit - 1", "tools = everything", True),
        ("number == limit - 1", "tools = None", False),
        ("plain", "tools = everything", False),
    ],
)
def test_tools_taken_away_for_one_round(talking: Run, test: str, other: str, changed: bool) -> None:
    found = talking(f"""
def run(client, messages, everything, limit, plain):
    for number in range(limit):
        if {test}:
            tools = []
        else:
            {other}
        step(messages, tools)
""")
    assert (("tools-changed", "tools = []") in seen(found)) is changed


@pytest.mark.parametrize(
    ("test", "kept", "cut"),
    [
        ("len(messages) > 60", "messages[-20:]", False),
        ("len(messages) >= FULL", "messages[-KEEP:]", False),
        ("len(messages) > 20", "messages[-20:]", True),
        ("len(messages) > limit", "messages[-20:]", True),
    ],
)
def test_half_of_a_list_or_more_goes_at_once(talking: Run, test: str, kept: str, cut: bool) -> None:
    found = talking(f"""
FULL = 80
KEEP = 40
def made(messages, limit):
    role = "user"
    if {test}:
        messages = {kept}
    return messages
""")
    assert seen(found) == ([("history-cut", kept)] if cut else [])


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ("kept[at].content = summary", "history-rewritten"),
        ("kept[at]['content'] = summary", "history-rewritten"),
        ("kept = [Message(role=s.role, content=s.text) for s in summaries]", "history-rewritten"),
        ("kept[at].seen = True", None),
        ("kept = [Message(role=s.role, content=s.text) for s in messages]", None),
        ("rows = [s.text for s in summaries]", None),
    ],
)
@pytest.mark.parametrize("back", ["kept", "await repaired(messages=messages)"])
def test_turns_that_become_summaries(talking: Run, change: str, what: str | None, back: str) -> None:
    if "await" in back:
        change = change.replace("kept = ", "messages = ")
    found = talking(f"""
async def summarize_left(messages, at, summary, summaries):
    kept = messages.copy()
    {change}
    return {back}
""")
    assert [o.what for o in found.observations] == ([what] if what else [])


def test_a_sum_of_tokens_is_no_conversation(talking: Run) -> None:
    found = talking("""
def estimated(self):
    summary_tokens = self.usage.output
    preserved_tokens = count(self.messages[1:])
    return summary_tokens + preserved_tokens
""")
    assert not found.observations


@pytest.mark.parametrize(
    ("parts", "made", "told"),
    [
        ("gone, kept = split(messages, limit)", "[summary_turn(gone), *kept]", True),
        ("gone, kept = split(messages, limit)", "[elision_marker(len(gone)), *kept]", True),
        (
            "full = [load(t) for t in messages]\n    gone, kept = split(full, limit)",
            "[summary_turn(gone), *kept]",
            True,
        ),
        # The system message was parted from them, and rows are no turns.
        ("system, kept = split(messages, limit)", "[system, *kept]", False),
        ("gone, kept = split(rows, limit)", "[summary_turn(gone), *kept]", False),
    ],
)
def test_one_turn_for_those_that_a_call_has_parted_from_the_rest(
    talking: Run, parts: str, made: str, told: bool
) -> None:
    found = talking(f"def fit(messages, rows, limit):\n    {parts}\n    return {made}\n")
    assert seen(found) == ([("history-rewritten", made)] if told else [])


@pytest.mark.parametrize(
    ("returns", "cut", "told"),
    [
        ("list[Message]", "messages[-most:]", True),
        ("list[Message]", "messages[gone * 2:]", True),
        # Half of them at once is rare, and what is given back may be anything.
        ("list[Message]", "messages[len(messages) // 2:]", False),
        ("str", "messages[-most:]", False),
    ],
)
def test_turns_that_are_given_back_by_way_of_calls(talking: Run, returns: str, cut: str, told: bool) -> None:
    found = talking(f"""
def truncate(messages, most, gone) -> {returns}:
    kept = {cut}
    result = with_user(kept, messages)
    return checked(result)
""")
    assert seen(found) == ([("history-cut", f"kept = {cut}")] if told else [])
