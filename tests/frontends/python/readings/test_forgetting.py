"""Functions that take from a conversation what was already sent, told by their form alone."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.frontends.python.build import Program

Run = Callable[..., Program]


def places(found: Program) -> list[tuple[str, str]]:
    return sorted({(o.what, found.source(o.place)) for o in found.observations})


@pytest.mark.parametrize(
    ("turns", "changed"),
    [
        ("messages[:-3]", True),
        ("messages[: len(messages) - keep]", True),
        ("enumerate(messages[:-keep])", True),
        # The system message in front is left alone in every request: the others change alike.
        ("messages[1:]", False),
        ("messages", False),
    ],
)
def test_the_text_of_all_but_the_last_turns(talking: Run, turns: str, changed: bool) -> None:
    target = "i, m" if turns.startswith("enumerate") else "m"
    found = talking(f"""
def shorten(messages, keep):
    for {target} in {turns}:
        if m["role"] == "tool":
            m["content"] = "[omitted]"
    return messages
""")
    assert places(found) == ([("history-rewritten", 'm["content"]')] if changed else [])


def test_turns_inside_of_rounds(talking: Run) -> None:
    found = talking("""
def sent(self, role):
    prompt = "Answer"
    rounds_of_role = [copy(r) for r in self.everything if r.role == role]
    for one in rounds_of_role[:-1]:
        for post in one.post_list:
            post.message = stripped(post.message)
    return rounds_of_role
""")
    assert places(found) == [("history-rewritten", "post.message")]


@pytest.mark.parametrize(
    ("step", "changed"),
    [
        # How much is left to save depends on the turns in front: the same turn is whole in one request, empty in
        # the next.
        ("tokens_over -= size(m)", True),
        # Every turn is measured for itself.
        ("pass", False),
    ],
)
def test_turns_emptied_until_it_fits(talking: Run, step: str, changed: bool) -> None:
    found = talking(f"""
def fit(messages, tokens_over):
    for m in messages:
        if m.role == "tool" and tokens_over > 0:
            m.content = "omitted"
            {step}
    return messages
""")
    assert places(found) == ([("history-rewritten", "m.content")] if changed else [])


@pytest.mark.parametrize(
    ("test", "cut"),
    [
        ("m.ttl is not None and age > m.ttl", True),
        ("m.hidden", False),
    ],
)
def test_turns_that_are_left_out_by_age(talking: Run, test: str, cut: bool) -> None:
    found = talking(f"""
def live(messages):
    kept, age = [], 0
    for m in reversed(messages):
        if {test}:
            continue
        kept.append(m)
        if m.role == "assistant":
            age += 1
    return kept[::-1]
""")
    assert places(found) == ([("history-cut", test)] if cut else [])


@pytest.mark.parametrize(
    ("call", "cut"),
    [
        ("self.summarize(messages[:-keep], 200)", True),
        ("compress(old)", True),
        # A question is understood by what was said in front of it; nothing is replaced.
        ("condense(messages[:-1])", False),
        ("summarize(messages)", False),
        ("count(messages[:-keep])", False),
    ],
)
def test_all_but_the_last_turns_become_a_summary(talking: Run, call: str, cut: bool) -> None:
    found = talking(f"""
def shorter(self, messages, keep):
    old = messages[1:-keep]
    text = {call}
    return {{"role": "user", "content": text}}
""")
    assert [p for p in places(found) if p[1] == call] == ([("history-cut", call)] if cut else [])


@pytest.mark.parametrize(
    ("body", "cut"),
    [
        ("self.memory.clear()\n    self.memory.add(Message(summary))", "self.memory.clear()"),
        ("await self.history.clear()\n    self.history.extend([summary])", "self.history.clear()"),
        # A conversation that begins anew, and one that is read from a file.
        ("self.memory.clear()", None),
        ("self.memory.clear()\n    self.memory.add(saved)", None),
        ("size = len(self.memory)\n    self.memory.delete(size - 2)", "self.memory.delete(size - 2)"),
        ("self.messages.pop(-2)", "self.messages.pop(-2)"),
        # The last one is taken back; another collection is no conversation.
        ("size = len(self.memory)\n    self.memory.delete(size - 1)", None),
        ("self.messages.pop(-1)", None),
        ("self.files.pop(-2)", None),
    ],
)
def test_a_memory_that_is_emptied_or_loses_a_turn(talking: Run, body: str, cut: str | None) -> None:
    found = talking(f"""
async def tidy(self, summary_of, saved):
    {"summary = summary_of(1)" if "summary" in body else "role = 'role'"}
    {body}
    return Message("role")
""")
    assert places(found) == ([] if cut is None else [("history-cut", cut)])


@pytest.mark.parametrize(
    ("turn", "changed"),
    [
        ("self.message_history[index]", True),
        ("self.message_history[-1]", False),
        ("self.pages[index]", False),
    ],
)
def test_a_turn_that_the_caller_picks(talking: Run, turn: str, changed: bool) -> None:
    found = talking(f"""
def truncate(self, index):
    turn = {turn}
    if turn.role == "tool":
        turn.content = turn.content[:100] + "..."
    return turn
""")
    assert places(found) == ([("history-rewritten", "turn.content")] if changed else [])


@pytest.mark.parametrize(
    ("limit", "step", "changed"),
    [
        ("n > 3", "content.remove(block)", "content.remove(block)"),
        ("n > 3", 'm["content"][k] = NOTE', 'm["content"][k]'),
        ("block.size > most", "content.remove(block)", ""),  # by what it is
        ("n > 3", "found.remove(block)", ""),
    ],
)
def test_parts_that_are_taken_out_by_a_count_from_the_end(
    talking: Run, limit: str, step: str, changed: str
) -> None:
    found = talking(f"""
def newest_images(messages, k, found, most):
    n = 0
    for m in reversed(messages):
        content = m["content"]
        for block in list(content):
            if block["role"] == "image":
                n += 1
                if {limit}:
                    {step}
""")
    assert places(found) == ([("history-rewritten", changed)] if changed else [])


def test_turns_by_their_number(talking: Run) -> None:
    found = talking("""
def strip(messages):
    for i, m in enumerate(messages[:-1]):
        if m["role"] == "assistant":
            messages[i]["content"] = without_thoughts(m["content"])
    for i, m in enumerate(messages):
        messages[i]["content"] = m["content"].strip()
""")
    assert places(found) == [("history-rewritten", 'messages[i]["content"]')]


@pytest.mark.parametrize(
    ("picked", "loop", "changed"),
    [
        (
            "[b for m in messages for b in m['content']]",
            "for b in picked[:-3]:\n  b['text'] = NOTE",
            "b['text']",
        ),
        (
            "[i for i, m in enumerate(messages)]",
            "for i in picked[:-keep]:\n  for b in messages[i]['content']:\n   b['content'] = NOTE",
            "b['content']",
        ),
        (
            "places_of_images(messages)",
            "for part, i in picked[: max(len(picked) - keep, 0)]:\n  part[i] = NOTE",
            "part[i]",
        ),
        ("[b for m in messages for b in m['content']]", "for b in picked:\n  b['text'] = NOTE", ""),
        ("[b for b in boxes]", "for b in picked[:-3]:\n  b['text'] = NOTE", ""),
        ("[b for m in messages for b in m['content']]", "for b in picked[:-3]:\n  seen[0] = b['text']", ""),
    ],
)
def test_all_but_the_newest_of_some_parts(talking: Run, picked: str, loop: str, changed: str) -> None:
    found = talking(f"""
def clear(messages, boxes, seen, keep):
 role = "role"
 picked = {picked}
 {loop}
""")
    assert places(found) == ([("history-rewritten", changed)] if changed else [])


@pytest.mark.parametrize(
    ("change", "changed"),
    [
        # By how many came after it: one more goes at every step.
        ("del agent.messages[i]['content'][j]", "agent.messages[i]['content'][j]"),
        ("agent.messages[i]['content'][j] = OMITTED", "agent.messages[i]['content'][j]"),
        ("names.append(j)", None),
        ("del names[j]", None),
    ],
)
@pytest.mark.parametrize(
    "places_back", ["range(len(agent.messages) - 1, -1, -1)", "reversed(range(len(agent.messages)))"]
)
def test_parts_of_turns_counted_by_their_places(
    talking: Run, places_back: str, change: str, changed: str | None
) -> None:
    found = talking(f"""
def flush(agent, limit, names):
    images = 0
    for i in {places_back}:
        for j in range(len(agent.messages[i]["content"])):
            if "image" in agent.messages[i]["content"][j]:
                images += 1
                if images > limit:
                    {change}
""")
    assert places(found) == ([("history-rewritten", changed)] if changed else [])


def test_parts_counted_from_the_front_stay_what_they_were(talking: Run) -> None:
    found = talking("""
def flush(agent, limit):
    images = 0
    for i in range(len(agent.messages)):
        for j in range(len(agent.messages[i]["content"])):
            images += 1
            if images > limit:
                del agent.messages[i]["content"][j]
""")
    assert places(found) == []


@pytest.mark.parametrize(
    ("added", "cut"),
    [
        ("self.history.append(summary)", True),
        ("self.history.extend(messages)", False),
        ("for message in messages:\n            self.history.append(message)", False),
    ],
)
def test_a_memory_that_is_emptied_and_filled(talking: Run, added: str, cut: bool) -> None:
    found = talking(f"""
class Agent:
    def sync(self, messages):
        summary = self.summarize(messages)
        self.history.clear()
        {added}
""")
    assert ("history-cut" in found.seen) is cut


@pytest.mark.parametrize(
    ("condition", "told"),
    [("m.get('content') is None", False), ("not m['content']", False), ("len(messages) > 9", True)],
)
def test_a_turn_without_a_text_gets_one_each_time(talking: Run, condition: str, told: bool) -> None:
    found = talking(f"""
def send(client, messages):
    for m in messages:
        if {condition}:
            m["content"] = ""
    return client.chat.completions.create(model="m", messages=messages)
""")
    assert ("history-rewritten" in found.seen) is told


@pytest.mark.parametrize(
    ("taken", "cut"),
    [
        ("if len(messages) > 9:\n        messages.pop(0)", True),
        ("if messages[0]['role'] == 'system':\n        messages.pop(0)", False),  # sent beside the turns
        ("if self.queued_messages:\n        self.queued_messages.pop(0)", False),
        ("if len(self.messages) > 9:\n        self.messages = self.messages[-9:]", True),
        ("if len(self.token_history) > 9:\n        self.token_history = self.token_history[-9:]", False),
        ("if len(self.log_messages) > 9:\n        self.log_messages = self.log_messages[-9:]", False),
    ],
)
def test_what_is_taken_from_the_front(talking: Run, taken: str, cut: bool) -> None:
    found = talking(f"""
def send(self, client, messages):
    {taken}
    return client.chat.completions.create(model="m", messages=messages)
""")
    assert ("history-cut" in found.seen) is cut


@pytest.mark.parametrize(
    "last", ["raise Full()", "if full:\n            raise Full()\n        else:\n            raise Bad()"]
)
def test_nobody_goes_on_from_a_memory_that_is_emptied_for_an_error(talking: Run, last: str) -> None:
    text = """
def ask(self, summary, full):
    if self.broken:
        self.memory.clear()
        {last}
    self.memory.add(Message(summary))
"""
    assert places(talking(text.format(last="pass"))) == [("history-cut", "self.memory.clear()")]
    assert not places(talking(text.format(last=last)))


def test_other_things_have_a_history_too(talking: Run) -> None:
    text = "class Tool:\n    def kept(self):\n        self.{name} = self.{name}[-50:]\n"
    assert places(talking(text.format(name="chat_history")))
    for name in ("tool_failure_history", "run_history", "command_history"):
        assert not places(talking(text.format(name=name)))


@pytest.mark.parametrize(
    ("edit", "changed"),
    [("blocks[-1]['text'] = '[old]'", True), ("blocks[-1]['cache_control'] = MARK", False)],
)
def test_marks_change_no_turn(talking: Run, edit: str, changed: bool) -> None:
    found = talking(f"""
MARK = {{"type": "ephemeral"}}
def mark(messages, spare):
    for message in reversed(messages):
        if spare <= 0:
            break
        blocks = [dict(b) for b in message["content"]]
        {edit}
        message["content"] = blocks
        spare -= 1
    return messages
""")
    assert bool(found.observations) is changed
