"""The first message of a conversation, set again while it goes on."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import indent

import pytest

from tests.frontends.python.build import Program

Run = Callable[..., Program]
LOOP = """
from datetime import datetime
from openai import OpenAI
RULES = 'Be brief'
def chat(robot, kind):
    messages = [{{'role': 'system', 'content': RULES}}]
    while True:
        messages.append({{'role': 'user', 'content': input()}})
        {edit}
        OpenAI().chat.completions.create(model='m', messages=messages)
"""


@pytest.mark.parametrize(
    ("edit", "codes"),
    [
        ("messages[0]['content'] = f'{RULES} {robot.battery()}'", ["PL312"]),
        ("messages[0] = {'role': 'system', 'content': RULES + open('todo.md').read()}", ["PL312"]),
        ("messages[0] = {'role': 'system', 'content': RULES if kind(messages) else 'Be long'}", ["PL312"]),
        # The value has a rule of its own.
        ("messages[0]['content'] = f'{RULES} {datetime.now()}'", ["PL101"]),
        # The same text in every request.
        ("messages[0]['content'] = RULES", []),
        ("messages[0] = {'role': 'system', 'content': 'Be brief'}", []),
        # Another message, and another list.
        ("messages[-1]['content'] = f'{robot.battery()}'", []),
        ("rows = [{'content': ''}]; rows[0]['content'] = f'{robot.battery()}'", []),
    ],
)
def test_in_a_loop(program: Run, edit: str, codes: list[str]) -> None:
    assert program(LOOP.format(edit=edit)).codes == codes


GAME = """
from openai import OpenAI
class Game:
    def __init__(self, world):
        self.world = world
        self.messages = [{{'role': 'system', 'content': ''}}]
    def {method}:
        self.messages[0]['content'] = {value}
        self.messages.append({{'role': 'user', 'content': 'go'}})
        return OpenAI().chat.completions.create(model='m', messages=self.messages)
"""


@pytest.mark.parametrize(
    ("method", "value", "codes"),
    [
        ("turn(self)", "f'You are here: {self.world.describe()}'", ["PL312"]),
        ("turn(self)", "'You are here: {place}'.format(place=self.world.describe())", ["PL312"]),
        ("turn(self)", "'You did: ' + ''.join(f'{d}; ' for d in self.done)", ["PL312"]),
        # What the object was made with, and what a caller wants.
        ("turn(self)", "f'You are here: {self.world.name}'", []),
        ("persona(self, text)", "text", []),
        ("persona(self, name)", "f'You are {load(name)}'", []),
    ],
)
def test_in_a_method(program: Run, method: str, value: str, codes: list[str]) -> None:
    found = program(GAME.format(method=method, value=value))
    assert [code for code in found.codes if code.startswith("PL3")] == codes


def test_a_message_that_is_made_in_the_loop_is_the_first_once(program: Run) -> None:
    found = program(
        """
        from openai import OpenAI
        def each(robot):
            while robot.on():
                messages = [{'role': 'system', 'content': ''}]
                messages[0]['content'] = f'Battery: {robot.battery()}'
                OpenAI().chat.completions.create(model='m', messages=messages)
        """
    )
    assert found.seen == []


@pytest.mark.parametrize(
    ("argument", "made", "codes"),
    [
        ("system_prompt", "system_prompt + '\\n\\nNotes: ' + found", ["PL107"]),
        ("base_system_prompt", "f'{base_system_prompt}\\n\\nNotes: {found}'", ["PL107"]),
        ("system_prompt", "system_prompt + '\\n\\nBe brief, and say so where nothing is known.'", []),
        ("question", "f'{question}\\n\\nNotes: {found}'", []),
        ("system_prompt", "f'Notes: {found}'", []),
    ],
)
def test_what_is_added_to_a_system_prompt_stands_in_front_of_a_conversation(
    program: Run, argument: str, made: str, codes: list[str]
) -> None:
    text = f"""
    class Memory:
        def add(self, {argument}, message):
            found = self.store.search(message)
            return {made}
    """
    assert program(text).codes == codes


@pytest.mark.parametrize(
    ("made", "text"),
    [
        (
            "turns = store.load_history()\n    turns.insert(0, SYSTEM)",
            "<system>Be brief.<>{store.load_history",
        ),
        ("history = store.turns()\n    history.insert(0, SYSTEM)", "<system>Be brief.<>{store.turns"),
        ("history = store.turns()\n    history.insert(1, SYSTEM)", "{store.turns"),
        ("rows = store.rows()\n    rows.insert(0, SYSTEM)", "{store.rows"),
    ],
)
def test_what_is_put_in_front_of_turns_that_are_not_known(program: Run, made: str, text: str) -> None:
    name = made.partition(" ")[0]
    found = program(
        "from openai import OpenAI\nSYSTEM = {'role': 'system', 'content': 'Be brief.'}\ndef ask(store):\n"
        f"    {made}\n    return OpenAI().chat.completions.create(messages={name})\n"
    )
    assert found.text.startswith(text)


FOUND = """
from openai import OpenAI
def reply(messages, chat_ctx, retriever):
    docs = retriever.search(messages[-1]['content'])
    found = '\\n'.join(d.text for d in docs)
{edit}
    return OpenAI().chat.completions.create(model='m', messages=messages)
"""


@pytest.mark.parametrize(
    ("edit", "codes"),
    [
        ("first = messages[0]\nfirst['content'] += found", ["PL107"]),
        ("first = next(m for m in messages if m['role'] == 'system')\nfirst['content'] += found", ["PL107"]),
        (
            "for m in messages:\n    if m['role'] == 'system':\n        m['content'] += found\n        break",
            ["PL107"],
        ),
        ("first = chat_ctx.items[0]\nfirst.content.append(found)", ["PL107"]),
        # The newest message, another's, and a text that is the same each time.
        ("last = messages[-1]\nlast['content'] += found", []),
        ("for m in messages:\n    if m['role'] != 'system':\n        continue", []),
        ("last = chat_ctx.items[-1]\nlast.content.append(found)", []),
        ("first = messages[0]\nfirst['content'] += 'Be brief.'", []),
        ("first = messages[0]\nfirst = pick(first)\nfirst['content'] += found", []),
    ],
)
def test_the_first_message_by_another_name(program: Run, edit: str, codes: list[str]) -> None:
    found = program(FOUND.format(edit=indent(edit, "    ")))
    assert [
        code for code in found.codes if code != "PL110"
    ] == codes  # what is not known is not told by default


def test_a_placeholder_that_is_filled_is_no_other_text(program: Run) -> None:
    assert not program("""
from openai import OpenAI
def begin(self, messages):
    for message in messages:
        if message.role == 'system':
            message.content = message.content.replace('<ROOT>', self.root())
    return OpenAI().chat.completions.create(model='m', messages=messages)
""").codes


def test_a_name_of_another_function_is_no_argument_of_this_one(program: Run) -> None:
    found = program("""
from openai import OpenAI
class Notes:
    def __init__(self, kept):
        self.kept = kept
    def section(self):
        return '\\n'.join(f'- {key}: {self.kept[key]}' for key in sorted(self.kept))
class Session:
    def __init__(self, notes: Notes):
        self.notes = notes
        self.messages = [{'role': 'system', 'content': self.compose()}]
    def compose(self):
        return 'You restore clocks.' + self.notes.section()
    def on_save(self, key, text):
        self.messages[0] = {'role': 'system', 'content': self.compose()}
    def ask(self):
        return OpenAI().chat.completions.create(model='m', messages=self.messages)
""")
    assert "PL312" in found.codes
