"""Turns that are shown otherwise, or not at all, by how the conversation ends: by what came after them."""

from __future__ import annotations

import ast
from collections.abc import Callable

import pytest

from promptlint.frontends.python.readings.turnlists import read
from tests.frontends.python.build import Program

Run = Callable[..., Program]


def rewritten(found: Program) -> list[str]:
    assert set(found.seen) <= {"history-rewritten"}
    return sorted(found.source(o.place) for o in found.observations)


@pytest.mark.parametrize(
    ("made", "changed"),
    [
        ('{"role": e.role, "content": f"({n - i} ago) {e.text}"}', True),
        ('{"role": e.role, "content": e.text if i >= len(events) - 4 else e.text[:99]}', True),
        ('e if i > n - 4 else {"role": e.role, "content": "[old]"}', True),
        ("HumanMessage(e.text[:99]) if n - i > 9 else HumanMessage(e.text)", True),
        # A position from the front stays what it was.
        ('{"role": e.role, "content": f"#{i} {e.text}"}', False),
        ('{"role": e.role, "content": e.text if i > 3 else e.text[:99]}', False),
        # A mark on the last turns is no part of them, and a page for people is no request.
        ('{**e, "cache_control": MARK} if i >= n - 2 else e', False),
        ('f"{n - i}: {e.text}"', False),
    ],
)
def test_a_comprehension(talking: Run, made: str, changed: bool) -> None:
    found = talking(f"""
def shown(events):
    n = len(events)
    return [{made} for i, e in enumerate(events)]
""")
    assert rewritten(found) == ([f"[{made} for i, e in enumerate(events)]"] if changed else [])


LOOP = """
def shown(steps, keep, page):
    out = []
    for i, step in enumerate(steps):
        {body}
    return out
"""
NEW = 'out.append({"role": "user", "content": step.text})'
NUMBERED = 'out.append({"role": "user", "content": f"{len(steps) - i}: {step.text}"})'
OLD = 'out.append({"role": "user", "content": "[old]"})'


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (f"if i < len(steps) - keep: {OLD}\n        else: {NEW}", "i < len(steps) - keep"),
        (f"if step is not steps[-1]: {OLD}\n        else: {NEW}", "step is not steps[-1]"),
        (f"if step is not None: {NEW}", ""),
        (f"age = len(steps) - i\n        if age > 5: {OLD}\n        else: {NEW}", "age > 5"),
        (
            f"text = step.text\n        if i < len(steps) - 1: text = text[:99]\n        {NEW.replace('step.text', 'text')}",
            "i < len(steps) - 1",
        ),
        (
            NUMBERED,
            '{"role": "user", "content": f"{len(steps) - i}: {step.text}"}',
        ),
        # By what the turn is, by its place from the front, for people only.
        (f"if len(step.text) > keep: {OLD}\n        else: {NEW}", ""),
        (f"if i < keep: {OLD}\n        else: {NEW}", ""),
        (f"if i == len(steps) - 1: page.write(step.text)\n        {NEW}", ""),
        (f"if i == len(steps) - 1: step.cache_control = keep\n        {NEW}", ""),
    ],
)
def test_a_loop(talking: Run, body: str, told: str) -> None:
    assert rewritten(talking(LOOP.format(body=body))) == ([told] if told else [])


def places(found: Program) -> list[tuple[str, str]]:
    return [(o.what, found.source(o.place)) for o in found.observations]


@pytest.mark.parametrize(
    ("before", "test", "told"),
    [
        # The last of each kind, what a later turn has, what is looked up for the newest.
        ("newest = {}\n    for i, e in enumerate(events): newest[e.path] = i", "newest[e.path] != i", True),
        ("last = max(i for i, e in enumerate(events))", "i != last", True),
        ("near = index.search(question)", "e.id not in near", True),
        ("total = sum(len(e.text) for e in events)", "total - i > 900", True),
        # What was there before is what it was: the first of each kind, an answer that is there, a fixed limit.
        ("answered = {e.id for e in events}", "e.id not in answered", False),
        ("near = index.everything()", "e.id not in near", False),
        ("total = 0", "len(e.text) > 900", False),
        ("total = 0", "i + 1 < len(events) and events[i + 1].id == e.id", False),
        ("total = 0", "len(events) > 1", False),
        (
            "lead = next((i for i, e in enumerate(events) if e.role != 'system'), len(events))",
            "i < lead",
            False,
        ),
    ],
)
def test_what_decides_whether_a_turn_is_there(talking: Run, before: str, test: str, told: bool) -> None:
    found = talking(f"""
def shown(events, index, question):
    {before}
    out = []
    for i, e in enumerate(events):
        if {test}:
            continue
        out.append({{"role": "user", "content": e.text}})
    return out
""")
    assert places(found) == ([("history-cut", test)] if told else [])


@pytest.mark.parametrize(
    ("order", "told"),
    [("reversed(items)", True), ("items[::-1]", True), ("items", False)],
)
def test_what_a_loop_remembers(talking: Run, order: str, told: bool) -> None:
    found = talking(f"""
def without_doubles(items):
    seen, kept = set(), []
    for m in {order}:
        if m["role"] == "tool" and m["name"] in seen:
            continue
        seen.add(m["name"])
        kept.append(m)
    return kept
""")
    test = 'm["role"] == "tool" and m["name"] in seen'
    assert places(found) == ([("history-cut", test)] if told else [])


def test_turns_of_one_speaker_that_are_joined(talking: Run) -> None:
    """What stands last in a list that is filled is the turn in front, whatever comes later."""
    found = talking("""
def joined(messages, limit):
    out, used = [], 0
    for m in messages:
        if out and out[-1]["role"] == m["role"]:
            out[-1]["content"] += m["content"]
        elif used < limit and len(out) < 90:
            used += len(m["content"])
            out.append(dict(m))
    return out
""")
    assert places(found) == []


def test_a_list_that_turns_are_made_of_elsewhere(talking: Run) -> None:
    """Messages are made of what was picked; so what it was picked from are turns."""
    found = talking("""
def build(node, limit):
    used, picked = 0, []
    for n in reversed(node.path()):
        used += n.size
        if used > limit:
            break
        picked.insert(0, n)
    messages = []
    for n in picked:
        messages.append({"role": "assistant", "content": n.action})
    return messages
""")
    assert places(found) == [("history-cut", "used > limit")]


@pytest.mark.parametrize(
    ("pick", "changed"),
    [
        ("max(self.messages[:-2], key=size)", True),
        ("self.messages[0]", False),
        ("self.find(name)", False),
    ],
)
def test_a_turn_that_is_picked_from_all(talking: Run, pick: str, changed: bool) -> None:
    found = talking(f"""
class Chat:
    def shrink(self, name):
        big = {pick}
        big["content"] = big["content"][:400]
        return "role"
""")
    assert places(found) == ([("history-rewritten", 'big["content"]')] if changed else [])


@pytest.mark.parametrize(
    ("name", "kept", "told"),
    [
        ("next_task", '[self.messages[0], {"role": "user", "content": state}]', True),
        ("next_task", '[*self.messages[:2], {"role": "user", "content": state}]', True),
        ("next_task", '[*self.messages[:1], note, *self.messages[1:]]', False),
        ("next_task", "[self.messages[0]]", False),
        ("reset", '[self.messages[0], {"role": "user", "content": state}]', False),
    ],
)  # fmt: skip
def test_what_is_left_of_a_conversation(talking: Run, name: str, kept: str, told: bool) -> None:
    found = talking(f"""
class Chat:
    def {name}(self, state, note):
        self.messages = {kept}
""")
    assert places(found) == ([("history-rewritten", f"self.messages = {kept}")] if told else [])


MARKED = """
MARK = {{"cache_control": {{"type": "ephemeral"}}}}
def marked(message):
    return {{**message, {extra}}}
def send(messages):
    users = [i for i, m in enumerate(messages) if m["role"] == "user"]
    chosen = set(users[-2:])
    sent = [marked(m) if i in chosen else m for i, m in enumerate(messages)]
    return sent
"""


@pytest.mark.parametrize(
    ("extra", "told"),
    [
        ('"cache_control": KIND', False),  # which turns have a mark is no part of what is said
        ("**MARK", False),
        ('"content": message["content"][:200]', True),
    ],
)
def test_what_sets_marks_for_the_last_turns(talking: Run, extra: str, told: bool) -> None:
    found = talking(MARKED.format(extra=extra))
    assert [what for what, _ in places(found)] == (["history-rewritten"] if told else [])


@pytest.mark.parametrize(("annotation", "changed"), [("list[Message]", True), ("list[list[Message]]", False)])
def test_a_batch_of_conversations_is_none(talking: Run, annotation: str, changed: bool) -> None:
    sent = '{"role": "user", "content": f"{left}: {m}"}'
    found = talking(f"""
def send(messages: {annotation}):
    left = len(messages)
    results = []
    for m in messages:
        results.append({sent})
    return results
""")
    assert rewritten(found) == ([sent] if changed else [])


@pytest.mark.parametrize(
    ("made", "told"),
    [
        ('"\\n".join(f"{t.who}: {t.what}" for t in reversed(turns))', True),
        ('"\\n".join(str(t) for t in turns[::-1])', True),
        ('"\\n".join(backwards)', True),
        ('"\\n".join(backwards[::-1])', False),
        ('"\\n".join(reversed(backwards))', False),
        ('"\\n".join(str(t) for t in turns)', False),
        ('"\\n".join(reversed(names))', False),
    ],
)
def test_a_text_that_begins_with_the_newest_turn(talking: Run, made: str, told: bool) -> None:
    found = talking(f"""
def shown(turns, names):
    backwards = []
    for turn in reversed(turns):
        backwards.append(f"{{turn.role}}: {{turn.what}}")
    return {made}
""")
    assert places(found) == ([("history-inserted", made)] if told else [])


@pytest.mark.parametrize(
    ("kept", "body", "told"),
    [
        # The last places are those of other turns when more have come; the first stay the same.
        ("places[-4:]", "out.append(turn if i in kept else {**turn, 'content': '[old]'})", "i in kept"),
        ("set(places[:-4])", "yield {**turn, 'content': '[old]'} if i in kept else turn", "i in kept"),
        (
            "{id(p) for p in places[-4:]}",
            "yield turn if id(i) in kept else {**turn, 'content': ''}",
            "id(i) in kept",
        ),
        ("places[:4]", "out.append(turn if i in kept else {**turn, 'content': '[old]'})", ""),
        ("places[-4:]", "out.append({**turn, 'cache_control': MARK} if i in kept else turn)", ""),
    ],
)
def test_one_of_the_last_places(talking: Run, kept: str, body: str, told: str) -> None:
    found = talking(f"""
def shown(turns, out):
    places = [i for i, turn in enumerate(turns) if turn["role"] == "tool"]
    kept = {kept}
    for i, turn in enumerate(turns):
        {body}
""")
    assert [told in text for text in rewritten(found)] == ([True] if told else [])


@pytest.mark.parametrize(
    ("test", "change", "told"),
    [
        ("seen > keep", "block.clear()", True),
        ("seen > keep", 'block.update({"type": "text", "text": "[old picture]"})', True),
        ("seen > keep", 'block.update({"seen": seen})', False),
        ("len(block) > keep", "block.clear()", False),
    ],
)
def test_a_part_of_a_turn_that_becomes_another_in_place(
    talking: Run, test: str, change: str, told: bool
) -> None:
    found = talking(f"""
def fewer_pictures(messages, keep):
    seen = 0
    for message in reversed(messages):
        for block in message["content"]:
            seen += 1
            if {test}:
                {change}
""")
    assert (rewritten(found) == [change.partition("(")[0]]) is told


@pytest.mark.parametrize(("steps", "told"), [("self.steps", True), ("query_plan.steps", False)])
def test_the_steps_of_a_plan_are_still_to_be_taken(steps: str, told: bool) -> None:
    [function] = ast.parse(f"def shown(self, query_plan):\n    for step in {steps}:\n        show(step)").body
    assert isinstance(function, ast.FunctionDef)
    assert ("steps" in read("Agent", function).lists) is told


@pytest.mark.parametrize(
    ("loop", "told"), [("async for event in app.events():", False), ("if self.on:", True)]
)
def test_what_a_stream_brings_is_shown_to_somebody(talking: Run, loop: str, told: bool) -> None:
    found = talking(f"""
async def stream(self, app, messages):
    newest = {{}}
    {loop}
        out = []
        for message in messages:
            newest[message.id] = message
        for message in messages:
            if newest[message.id] == message:
                out.append(message)
        yield out
""")
    assert bool(found.observations) is told


@pytest.mark.parametrize(
    ("bound", "edit", "changed"),
    [
        ("newest", "turn['content'] = turn['content'][:9]", ["turn['content']"]),
        (
            "newest",
            "for block in turn.get('content', []):\n            block['text'] = block['text'][:9]",
            ["block['text']"],
        ),
        ("len(self.messages)", "turn['content'] = turn['content'][:9]", []),
        ("2", "turn['content'] = turn['content'][:9]", []),
    ],
)
def test_up_to_the_place_that_was_found_from_the_end(
    talking: Run, bound: str, edit: str, changed: list[str]
) -> None:
    found = talking(f"""
def shorten(self):
    newest = len(self.messages)
    for i in range(len(self.messages) - 1, -1, -1):
        if self.messages[i]["role"] == "user":
            newest = i
            break
    for i in range({bound}):
        turn = self.messages[i]
        {edit}
""")
    assert rewritten(found) == changed


@pytest.mark.parametrize(
    ("asked", "cut"), [("'cachePoint' in block", []), ("'image' in block", ["room -= 1"])]
)
def test_marks_that_are_too_many_are_no_turns(talking: Run, asked: str, cut: list[str]) -> None:
    found = talking(f"""
def within_limit(messages, room):
    for message in reversed(messages):
        content = []
        for block in reversed(message["content"]):
            if {asked}:
                if room > 0:
                    room -= 1
                    content.append(block)
            else:
                content.append(block)
        message["content"] = list(reversed(content))
    return messages
""")
    assert [o.detail for o in found.observations if o.what == "history-cut"] == cut
