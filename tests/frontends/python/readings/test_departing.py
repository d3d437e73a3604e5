"""What is sent and not kept, told by its form alone."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.frontends.python.build import Program

Run = Callable[..., Program]


def places(found: Program) -> list[tuple[str, str]]:
    return sorted({(o.what, found.source(o.place)) for o in found.observations})


@pytest.mark.parametrize(
    ("sent", "told"),
    [
        ("[*self.messages[:-1], NOTE, self.messages[-1]]", "NOTE"),
        ("[SYSTEM, *self.messages[:-2], NOTE, *self.messages[-2:]]", "NOTE"),
        ("self.messages[:-1] + [NOTE] + self.messages[-1:]", "NOTE"),
        # At the very end it costs only itself; the same turns put together again are all of them.
        ("[*self.messages, NOTE]", ""),
        ("[*self.messages[:-1], self.messages[-1]]", ""),
        ("[*self.messages[:-1], NOTE, others[-1]]", ""),
    ],
)
def test_a_reminder_in_front_of_the_last_turn(talking: Run, sent: str, told: str) -> None:
    found = talking(f"""
def ask(self, others):
    return self.client.complete(role="user", messages={sent})
""")
    assert places(found) == ([("history-inserted", told)] if told else [])


ASK = """
def ask(self, question):
    found = self.store.search(question)
    prompt = f"{{found}}\\n{{question}}"
    reply = self.client.complete(messages={sent})
    {kept}
"""
USER = '{"role": "user", "content": %s}'


@pytest.mark.parametrize(
    ("sent", "kept", "changed"),
    [
        (f"self.messages + [{USER % 'prompt'}]", f"self.messages.append({USER % 'question'})", True),
        (f"[*self.messages, {USER % 'prompt'}]", f"self.messages += [{USER % 'question'}, reply]", True),
        (f"[*self.messages, {USER % 'prompt'}]", "self.remember(reply); self.add('user', question)", True),
        (f"[*self.messages, {USER % 'prompt'}]", f"self.messages.append({USER % 'prompt'})", False),
        # Asked of another list, or once.
        (f"[*self.messages, {USER % 'prompt'}]", f"self.pending.append({USER % 'question'})", False),
        (f"[SYSTEM, {USER % 'prompt'}]", f"self.messages.append({USER % 'question'})", False),
        (f"[*self.messages, {USER % 'prompt'}]", "return reply", False),
    ],
)
def test_a_context_that_is_sent_and_not_kept(talking: Run, sent: str, kept: str, changed: bool) -> None:
    found = talking(ASK.format(sent=sent, kept=kept))
    assert places(found) == ([("history-rewritten", "prompt")] if changed else [])


LOOP = """
def chat(store, client):
    messages = [{{"role": "system", "content": "Be brief"}}]
    while True:
        q = input()
        {first}
        messages.append({{"role": "user", "content": f"{{store.search(q)}}\\n{{q}}"}})
        reply = client.complete(messages=messages)
        {then}
        messages.append({{"role": "assistant", "content": reply}})
"""


@pytest.mark.parametrize(
    ("first", "then", "told"),
    [
        ("pass", 'messages[-1]["content"] = q', 'messages[-1]["content"]'),
        ("pass", 'messages[-1] = {"role": "user", "content": q}', "messages[-1]"),
        (
            "pass",
            'messages.pop(); messages.append({"role": "user", "content": q})',
            'messages.append({"role": "user", "content": q})',
        ),
        # Before it is sent; and the turn of an answer that is written piece by piece.
        ('messages[-1]["content"] = q', "pass", ""),
        ("pass", 'messages.append(reply); messages[-1]["content"] += reply', ""),
        # A turn that failed is taken back.
        ("pass", "messages.pop()", ""),
    ],
)
def test_a_context_that_is_taken_off_after_it_was_sent(
    talking: Run, first: str, then: str, told: str
) -> None:
    found = talking(LOOP.format(first=first, then=then))
    assert places(found) == ([("history-rewritten", told)] if told else [])


def test_a_mark_on_the_last_turn_of_a_copy_changes_nothing_that_it_says(talking: Run) -> None:
    text = """
def sent(messages):
    outgoing = [*messages]
    outgoing[-1] = {"role": "user", "content": [{"type": "text", "text": messages[-1]["content"], "cache_control": MARK}]}
    return outgoing
"""
    assert places(talking(text)) == []
    assert (
        places(talking(text.replace('messages[-1]["content"]', 'f"{NOTE} {now}"')))[0][0]
        == "history-rewritten"
    )


@pytest.mark.parametrize(
    ("copy", "changed"),
    [
        ("[dict(m) for m in messages]", True),
        ("copy.deepcopy(messages)", True),
        ("list(messages)", True),
        ("[*messages]", True),
        # One of its own at the end.
        ('[*messages, {"role": "user", "content": q}]', False),
        ("[dict(m) for m in messages if m['role'] == 'user']", False),
    ],
)
def test_the_last_turn_of_a_copy(talking: Run, copy: str, changed: bool) -> None:
    found = talking(f"""
def sent(messages, q, now):
    outgoing = {copy}
    outgoing[-1]["content"] = f"{{now}}: {{q}}"
    return outgoing
""")
    assert ("history-rewritten" in found.seen) is changed


@pytest.mark.parametrize(
    ("extra", "told"),
    [
        ('{"role": "system", "content": store.search(q)}', '{"role": "system", "content": store.search(q)}'),
        ("found", "found"),
        # The same in every request, and what is the object's.
        ('{"role": "system", "content": "Be kind"}', ""),
        ('{"role": "system", "content": store.rules()}', ""),
    ],
)
def test_what_is_looked_up_stands_in_front_of_the_turns(talking: Run, extra: str, told: str) -> None:
    found = talking(f"""
def sent(messages, store, q):
    found = {{"role": "system", "content": store.search(q)}}
    return messages[:1] + [{extra}] + messages[1:]
""")
    assert places(found) == ([("history-inserted", told)] if told else [])


def test_the_last_turn_of_a_copy_by_a_name(talking: Run) -> None:
    found = talking("""
def sent(messages, note):
    outgoing = deepcopy(messages)
    last = outgoing[-1]
    last["content"] = last["content"] + note
    return outgoing
""")
    assert places(found) == [("history-rewritten", 'last["content"]')]


@pytest.mark.parametrize(
    ("others", "text", "more"),
    [
        ("messages[:-1]", 'f"{found}\\n{last.text}"', True),
        ("messages[:-1]", 'f"{found}\\n{messages[-1].text}"', True),
        # Nothing besides; the turn in front of it is not sent; another list.
        ("messages[:-1]", 'f"Question: {last.text}"', False),
        ("[]", 'f"{found}\\n{last.text}"', False),
        ("others[:-1]", 'f"{found}\\n{last.text}"', False),
    ],
)
def test_the_last_turn_alone_says_more(talking: Run, others: str, text: str, more: bool) -> None:
    found = talking(f"""
def sent(messages, others, found):
    last = messages[-1]
    out = [as_sent(m) for m in {others}]
    out.append({{"role": "user", "content": {text}}})
    return out
""")
    assert places(found) == ([("history-rewritten", text)] if more else [])


@pytest.mark.parametrize(
    ("left_out", "added", "changed"),
    [
        ('part["type"] != "image"', '{"type": "image", "source": picture}', True),
        ('part["type"] != "image"', '{"type": "text", "text": question}', False),
        ('part["type"] != "thinking"', '{"type": "image", "source": picture}', False),
    ],
)
def test_parts_that_are_taken_out_before_the_next_turn_brings_some(
    talking: Run, left_out: str, added: str, changed: bool
) -> None:
    text = f"""
def look(messages, picture, question):
    for m in messages:
        m["content"] = [part for part in m["content"] if {left_out}]
    messages.append({{"role": "user", "content": [{added}]}})
    return create(messages=messages)
"""
    assert [what for what, _ in places(talking(text))] == (["history-rewritten"] if changed else [])
