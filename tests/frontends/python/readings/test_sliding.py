"""Lists of turns that lose their first ones whenever a turn is added, told by their form alone."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.frontends.python.build import Program

Run = Callable[..., Program]


def cut(found: Program) -> list[str]:
    assert set(found.seen) <= {"history-cut"}
    return sorted({found.source(o.place) for o in found.observations})


@pytest.mark.parametrize(
    ("step", "kept"),
    [
        ("if len(self.turns) > self.limit: self.turns = self.turns[2:]", "self.turns[2:]"),
        ("if len(self.turns) > 40: self.turns = self.turns[2:]", "self.turns[2:]"),
        ("self.turns = self.turns[-30:]", "self.turns[-30:]"),
        ("if len(self.turns) > 40: self.turns = self.turns[:1] + self.turns[-30:]", "self.turns[-30:]"),
        ("self.turns = [self.turns[0], *self.turns[-30:]]", "self.turns[-30:]"),
        ("store[user] = store[user][-30:]", "store[user][-30:]"),
        ('data["history"] = history[-30:]', "history[-30:]"),
        ("llm_request.contents = llm_request.contents[-30:]", "llm_request.contents[-30:]"),
        ("page.contents = page.contents[-30:]", ""),
        # In large steps; a turn that is taken off; another list; the last alone.
        ("if len(self.turns) > 40: self.turns = self.turns[20:]", ""),
        ("if len(self.turns) > 45: self.turns = self.turns[-30:]", ""),
        ("if len(self.turns) > 45: self.turns = self.turns[:1] + self.turns[-30:]", ""),
        ("if len(self.turns) > FULL: self.turns = self.turns[-KEEP:]", ""),
        ("if len(self.turns) > FULL: self.turns = self.turns[-HALF:]", ""),
        ("if len(self.turns) > FULL: self.turns = self.turns[-MOST:]", "self.turns[-MOST:]"),
        ("if self.turns[0].done: self.turns = self.turns[1:]", ""),
        ("lines[user] = lines[user][-30:]", ""),
        ("last[user] = store[user][-1:]", ""),
    ],
)
def test_what_is_kept_becomes_its_own_end(talking: Run, step: str, kept: str) -> None:
    found = talking(f"""
FULL = 80
KEEP = 40
HALF = FULL // 2
MOST = FULL - 10
def add(self, store, data, lines, last, history, user, text):
    store[user].append({{"role": "user", "content": text}})
    {step}
""")
    assert cut(found) == ([kept] if kept else [])


@pytest.mark.parametrize(
    ("step", "taken"),
    [
        ("if len(self.pairs) > self.limit: self.pairs.pop(0)", "self.pairs.pop(0)"),
        ("if len(self.pairs) > self.limit: self.pairs.pop()", ""),
        ("if self.pairs: self.pairs.pop(0)", ""),  # to be worked on
        ("if len(self.others) > self.limit: self.others.pop(0)", ""),
    ],
)
def test_pairs_of_which_messages_are_made(talking: Run, step: str, taken: str) -> None:
    found = talking(f"""
class Chat:
    def ask(self, q):
        sent = []
        for question, answer in self.pairs:
            sent.append({{"role": "user", "content": question}})
            sent.append({{"role": "assistant", "content": answer}})
        return sent
    def record_turn(self, q, a):
        self.pairs.append((q, a))
        {step}
""")
    assert cut(found) == ([taken] if taken else [])


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("fit([turns[0]] + turns[2:], limit)", "turns[2:]"),
        ("[turns[0], *turns[3:]]", "turns[3:]"),
        ("list(islice(reversed(turns), 9))", "islice(reversed(turns), 9)"),
        ("[RemoveMessage(id=m.id) for m in turns[:-4]]", "[RemoveMessage(id=m.id) for m in turns[:-4]]"),
        ("[turns[0]] + turns[1:]", ""),
        ("[turns[0]] + others[2:]", ""),
        ("list(islice(turns, 9))", ""),
        ("[RemoveMessage(id=m.id) for m in turns if m.failed]", ""),
    ],
)
def test_other_forms(talking: Run, given: str, told: str) -> None:
    found = talking(f"""
def fit(turns, others, limit):
    role = "role"
    return {given}
""")
    assert cut(found) == ([told] if told else [])


@pytest.mark.parametrize(
    ("drop", "seen"),
    [
        ("while len(units) > 1 and size(units) > limit:\n        units.pop(0)", "units.pop(0)"),
        ("while len(units) > 1:\n        gone = units.pop(0)", "units.pop(0)"),
        ("for unit in units:\n        show(unit)", None),
    ],
)
@pytest.mark.parametrize(
    ("made", "turns"),
    [
        ("units = grouped(messages)", True),
        ("units: list = await grouped(messages)", True),
        ("units = grouped(files)", False),
    ],
)
def test_groups_of_turns_that_are_laid_flat_again(
    talking: Run, made: str, turns: bool, drop: str, seen: str | None
) -> None:
    found = talking(f"""
async def fit(messages, files, limit):
    {made}
    {drop}
    return [m for unit in units for m in unit]
""")
    assert [found.source(o.place) for o in found.observations] == ([seen] if seen and turns else [])


@pytest.mark.parametrize(
    ("loop", "kept", "cut"),
    [
        ("for n in sizes:\n        if total <= limit:\n            break", "messages[skip:]", True),
        ("while total > limit:\n        total -= sizes[skip]", "messages[skip:]", True),
        # Whatever is no turn, what is in front of a place, and turns counted for another reason.
        ("while total > limit:\n        total -= sizes[skip]", "files[skip:]", False),
        ("while total > limit:\n        total -= sizes[skip]", "messages[:skip]", False),
        ("for m in messages:\n        if m.role != 'system':\n            break", "messages[skip:]", False),
        (
            "while skip < len(messages) and messages[skip].role == 'system':\n        pass",
            "messages[skip:]",
            False,
        ),
    ],
)
def test_turns_counted_until_the_rest_fits(talking: Run, loop: str, kept: str, cut: bool) -> None:
    found = talking(f"""
def fit(messages, files, sizes, total, limit):
    skip = 0
    {loop}
        skip += 1
    return {kept}
""")
    assert [(o.what, found.source(o.place)) for o in found.observations] == (
        [("history-cut", kept)] if cut else []
    )


def test_a_queue_with_a_limit_for_each_chat(program: Run) -> None:
    text = """
from collections import deque
from openai import OpenAI
chats = {}
def answer(chat, text):
    turns = chats.setdefault(chat, deque(maxlen=20))
    turns.append({'role': 'user', 'content': text})
    return OpenAI().chat.completions.create(model='gpt-4o', messages=[{'role': 'system', 'content': 'Be brief'}, *turns])
"""
    assert cut(program(text)) == ["deque(maxlen=20)"]


AGENT = """
def run(task):
    messages = [{{"role": "system", "content": "Be brief."}}, {{"role": "user", "content": task}}]
    while True:
        {before}
        answer = client.chat.completions.create(model="m", messages=messages)
        messages.append(answer.choices[0].message)
        {after}
"""


@pytest.mark.parametrize("where", ["before", "after"])
@pytest.mark.parametrize(
    ("step", "kept"),
    [
        ("messages = messages[:1] + messages[-20:]", "messages[-20:]"),
        ("if len(messages) > 24: messages = messages[:1] + messages[-20:]", "messages[-20:]"),
        ("if len(messages) > 30: messages = messages[:1] + messages[-20:]", ""),
        ("recent = messages[-20:]", ""),
    ],
)
def test_a_loop_that_goes_on_with_what_it_keeps(talking: Run, where: str, step: str, kept: str) -> None:
    found = talking(AGENT.format(**{"before": "pass", "after": "pass", where: step}))
    assert cut(found) == ([kept] if kept else [])


def test_a_loop_that_goes_on_with_the_end_of_what_a_library_gives(talking: Run) -> None:
    text = """
def run(agent, read):
    items = []
    while True:
        items.append({"role": "user", "content": read()})
        result = agent.run(items)
        items = result.to_input_list()[-20:]
"""
    assert cut(talking(text)) == ["result.to_input_list()[-20:]"]
    assert cut(talking(text.replace("items = result", "shown = result"))) == []


@pytest.mark.parametrize(
    ("ceiling", "condition", "cuts"),
    [
        ("math.ceil(limit * 1.5)", "len(self.messages) > self.ceiling", False),
        ("limit + limit // 2", "text and len(self.messages) >= self.ceiling", False),
        ("limit + 2", "len(self.messages) > self.ceiling", True),
        ("other", "len(self.messages) > self.ceiling", True),
        ("2 * limit", "text", True),
    ],
)
def test_a_window_that_is_cut_back_when_it_has_grown(
    talking: Run, ceiling: str, condition: str, cuts: bool
) -> None:
    found = talking(f"""
import math
class Transcript:
    def __init__(self, limit, other):
        self.limit = limit
        self.ceiling = {ceiling}
        self.messages = []
    def add(self, role, text):
        self.messages.append({{"role": role, "content": text}})
        if {condition}:
            self._cut()
    def _cut(self):
        kept = self.messages[-self.limit:]
        self.messages = kept
""")
    assert cut(found) == (["self.messages[-self.limit:]"] if cuts else [])


COMPACTED = """
FULL = 60_000
KEEP = 4
class Chat:
    def full(self):
        return {test}
    def add(self, role, text):
        self.messages.append({{"role": role, "content": text}})
        {asks}
    def compact(self, summary):
        kept = self.messages[-KEEP:]
        self.messages = [{{"role": "user", "content": summary}}, *kept]
"""


@pytest.mark.parametrize(
    ("test", "asks", "rare"),
    [
        ("size(self.messages) > FULL", "if self.full(): self.compact(sum_up(self.messages))", True),
        ("size(self.messages) > FULL", "pass", True),  # others ask, and call
        ("size(self.messages) > FULL", "self.compact(sum_up(self.messages))", False),
        ("len(self.messages) > 5", "if self.full(): self.compact(sum_up(self.messages))", False),
        ("self.closed", "pass", False),
    ],
)
def test_what_is_cut_by_who_asks_whether_it_is_full(talking: Run, test: str, asks: str, rare: bool) -> None:
    found = talking(COMPACTED.format(test=test, asks=asks))
    assert (found.seen == []) == rare


@pytest.mark.parametrize(
    ("step", "gone"),
    [
        ("if len(self.said) > self.limit: del self.said[1:3]", "self.said[1:3]"),
        ("if len(self.said) > self.limit: del self.said[0]", "self.said[0]"),
        ("old, self.said = self.said[:-9], self.said[-9:]", "self.said[-9:]"),
        ("self.said = deque(self.said, maxlen=40)", "deque(self.said, maxlen=40)"),
        # The last ones are taken back; in a large step; without a limit; what others keep, or look at the first for.
        ("if len(self.said) > self.limit: del self.said[-2:]", ""),
        ("if len(self.said) > 40: del self.said[:20]", ""),
        ("self.said = deque(self.said, maxlen=None)", ""),
        ("if len(self.call_history) > self.limit: self.call_history.pop(0)", ""),
        ("while self.said[0].at < now - self.limit: self.said.pop(0)", ""),
        ("while len(self.said) > 0 and self.said[0].odd: self.said.pop(0)", ""),
    ],
)
def test_what_is_taken_off_a_list_that_messages_are_added_to(talking: Run, step: str, gone: str) -> None:
    found = talking(f"""
class Bot:
    def add(self, role, text, now):
        self.said.append({{"role": role, "content": text}})
        {step}
""")
    assert cut(found) == ([gone] if gone else [])


@pytest.mark.parametrize(("owner", "cut_"), [("ChatMemory", True), ("Deliveries", False)])
def test_a_plain_name_in_a_class_that_is_named_after_a_conversation(
    talking: Run, owner: str, cut_: bool
) -> None:
    found = talking(f"""
class {owner}:
    def recent(self, turn):
        if len(self.entries) > self.limit: self.entries.pop(0)
""")
    assert cut(found) == (["self.entries.pop(0)"] if cut_ else [])


def test_turns_that_are_cut_while_a_script_runs(talking: Run) -> None:
    found = talking("""
messages = []
while True:
    messages.append({"role": "user", "content": input()})
    if len(messages) > 30: messages = messages[2:]
""")
    assert "messages[2:]" in cut(found)


def test_a_file_without_a_message(talking: Run) -> None:
    found = talking("""
def shown(events, rules):
    lines = []
    for event in reversed(events):
        size += len(event)
        if size > 4000: break
        lines.insert(0, str(event))
    return rules + "\\n".join(lines)
""")
    assert cut(found) == ["size > 4000"]


@pytest.mark.parametrize(
    ("start", "kept"),
    [
        ("len(messages) - 20", True),
        ("2 if len(messages) < n else len(messages) - n", True),
        ("(len(messages) - 20) // 20 * 20", False),
        ("next(i for i, m in enumerate(messages) if m['role'] != 'system')", False),
    ],
)
def test_a_list_is_cut_in_place_from_its_end(talking: Run, start: str, kept: bool) -> None:
    source = f"def trim(messages, n):\n    start = {start}\n    messages[:] = messages[start:]\n"
    assert cut(talking(source)) == ["messages[start:]"] * kept
