"""Questions that are sent with their context and kept without, told by their form alone."""

from __future__ import annotations

import ast
from collections.abc import Callable

import pytest

from promptlint.frontends.python.readings import wrapping
from tests.frontends.python.build import Program
from tests.frontends.python.readings.test_forms_cost import counted

Run = Callable[..., Program]


def changed(found: Program) -> list[str]:
    assert set(found.seen) <= {"history-rewritten"}
    return sorted(found.source(o.place) for o in found.observations)


PROGRAM = """
def ask(self, chat, question, history):
    text = self.wrapped(question)
    {made}
    reply = {sent}
    {kept}
"""
STEPS = 'messages = [SYSTEM]; messages += {past}; messages.append({{"role": "user", "content": text}})'
SENT = "client.complete(messages=messages)"


@pytest.mark.parametrize(
    ("past", "kept", "told"),
    [
        ("self.turns.all(chat)", 'self.turns.add(chat, "user", question)', True),
        ("load_history(chat)", 'save_message(chat, "user", question)', True),
        ("store.history(chat)", "store.append(chat, question, reply)", True),
        ("history.messages", "history.add_user_message(question)", True),
        ("history", 'history += [{"role": "user", "content": question}, reply]', True),
        # What was sent is kept; nothing is; something else is; no turns were sent.
        ("self.turns.all(chat)", 'self.turns.add(chat, "user", text)', False),
        ("store.history(chat)", "store.append(chat, text, reply)", False),
        ("store.history(chat)", "log.info(question)", False),
        ("store.history(chat)", "counts.append(chat, question)", False),
        ("store.examples(chat)", 'store.add(chat, "user", question)', False),
    ],
)
def test_a_list_that_is_put_together_step_by_step(talking: Run, past: str, kept: str, told: bool) -> None:
    found = talking(PROGRAM.format(made=STEPS.format(past=past), sent=SENT, kept=kept))
    assert changed(found) == (["text"] if told else [])


@pytest.mark.parametrize(
    ("sent", "told"),
    [
        ("llm.invoke([SystemMessage(RULES), *history, HumanMessage(f'{found} {question}')])", True),
        ("llm.invoke([SystemMessage(RULES), *history, HumanMessage(question)])", False),
        ("llm.invoke([SystemMessage(RULES), *history, HumanMessage(question.strip())])", False),
        ("store.find([SystemMessage(RULES), *history, HumanMessage(f'{found} {question}')])", False),
    ],
)
def test_a_list_that_is_handed_over_by_its_place(talking: Run, sent: str, told: bool) -> None:
    found = talking(PROGRAM.format(made="pass", sent=sent, kept="history.add_user_message(question)"))
    assert changed(found) == (["f'{found} {question}'"] if told else [])


def test_a_list_that_another_function_makes(talking: Run) -> None:
    found = talking("""
def build(turns, text):
    out = [{"role": "system", "content": RULES}]
    out.extend(turns)
    out.append({"role": "user", "content": f"{search(text)} {text}"})
    return out

def ask(self, question):
    reply = client.complete(messages=build(self.turns, question))
    self.turns.append({"role": "user", "content": question})
""")
    assert changed(found) == ['f"{search(text)} {text}"']


def test_turns_that_are_appended_one_by_one(talking: Run) -> None:
    made = """messages = []
    for turn in store.history(chat):
        messages.append({"role": turn.role, "content": turn.text})
    messages.append({"role": "user", "content": [found(question), {"type": "text", "text": question}]})"""
    found = talking(PROGRAM.format(made=made, sent=SENT, kept="store.append(chat, question, reply)"))
    assert changed(found) == ['[found(question), {"type": "text", "text": question}]']


def test_a_conversation_that_goes_on_keeps_what_it_was_sent_with(talking: Run) -> None:
    found = talking("""
def chat(client, store, history):
    messages = [SYSTEM, *history]
    while True:
        question = input()
        messages.append({"role": "user", "content": f"{search(question)} {question}"})
        reply = client.complete(messages=messages)
        messages.append({"role": "assistant", "content": reply})
        store.add("user", question)
""")
    assert changed(found) == []


def test_what_texts_are_made_of_is_looked_into_once() -> None:
    many = ast.parse(" + ".join(["text"] * 500), mode="eval").body
    assert wrapping.says(many, {"text": many}) == {"text"}
    steps = {f"t{n}": ast.parse(f"f'{{t{n + 1}}} {{x.y}}'", mode="eval").body for n in range(9)}
    assert wrapping.says(steps["t0"], steps) == {"t1", "t2", "t3", "t4", "x", "x.y"}


def test_many_questions_of_one_function(talking: Run) -> None:
    one = (
        "    t{n} = wrapped(question)\n"
        "    r{n} = client.complete(messages=[*store.turns(chat), {{'role': 'user', 'content': t{n}}}])\n"
        "    store.add(chat, 'user', q{n})\n"
    )
    text = "def ask(store, chat, question):\n" + "".join(one.format(n=n) for n in range(60))
    with counted(pytest.MonkeyPatch(), wrapping, "made_in") as counts:
        assert changed(talking(text)) == []
    assert counts["made_in"] <= 2 * 60
