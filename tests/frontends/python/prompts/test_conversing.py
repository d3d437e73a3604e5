"""Conversations that programs hold in their own objects and send in their own ways."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.frontends.python.build import LONG, Program

Run = Callable[..., Program]
DIALOG = f"""
RULES = {LONG!r}
class Dialog:
    def __init__(self): self._log = []
    def say(self, who, text): self._log.append({{'role': who, 'content': text}})
    def first(self, text): self.say('system', text)
    def user(self, text): self.say('user', text)
    def export(self): return list(self._log)
"""


@pytest.mark.parametrize("sent", ["backend.go(d.export())", "backend.go(d)", "backend.wait()"])
def test_turns_stand_in_the_order_in_which_methods_put_them(program: Run, sent: str) -> None:
    """A method hands on to another one; nothing in it names messages, and what sends is not known."""
    body = f"""
def answer(backend, report):
    prompt = 'Be brief.'
    d = Dialog()
    d.first(prompt)
    d.user(f'The report: {{report}}')
    d.user(RULES)
    return {sent}
"""
    made = program(DIALOG + body)
    whole = f"<system>Be brief.<user>The report: {{report ~request-input/request}}<user>{LONG}"
    assert whole in made.texts
    assert made.codes == ["PL108"]


def test_what_an_object_keeps_is_sent_by_any_method(program: Run) -> None:
    text = f"""
import time
RULES = {LONG!r}
class Bot:
    def __init__(self, backend):
        self.backend = backend
        self.messages = [{{'role': 'system', 'content': RULES}}]
    def on_text(self, text):
        self.messages.append({{'role': 'user', 'content': text}})
        self.messages.append({{'role': 'assistant', 'content': self.backend.post(self.messages)}})
"""
    made = program(text)
    assert any(shown.startswith(f"<system>{LONG}<") and "<user>{text" in shown for shown in made.texts)
    assert made.codes == []


MEMORY = f"""
from pydantic import BaseModel, Field
RULES = {LONG!r}
class Message(BaseModel):
    role: str
    content: str
    @classmethod
    def user(cls, text): return cls(role='user', content=text)
    @classmethod
    def system(cls, text): return cls(role='system', content=text)
class Memory(BaseModel):
    messages: list[Message] = Field(default_factory=list)
    def add(self, message): self.messages.append(message)
class Agent(BaseModel):
    memory: Memory = Field(default_factory=Memory)
"""


def test_a_data_class_holds_an_object_that_holds_the_messages(program: Run) -> None:
    body = """
    def start(self, report):
        self.memory.add(Message.system('You are an analyst.'))
        self.memory.add(Message.user(f'The report: {report}'))
        self.memory.add(Message.user(RULES))
        return self.backend.post(self.memory.messages)
"""
    made = program(MEMORY + body)
    assert (
        f"<system>You are an analyst.<user>The report: {{report ~request-input/request}}<user>{LONG}"
        in made.texts
    )
    assert made.codes == ["PL108"]


def test_turns_behind_what_the_object_has_kept_move_with_it(program: Run) -> None:
    body = """
    def step(self, report):
        self.memory.add(Message.user(f'The report: {report}'))
        self.memory.add(Message.user(RULES))
        return self.backend.ask(self.memory.messages)
"""
    assert program(MEMORY + body).codes == []


def test_lists_that_are_no_conversation(program: Run) -> None:
    text = f"""
RULES = {LONG!r}
class Log:
    def __init__(self): self.rows = []
    def add(self, user, row): self.rows.append({{'user': user, 'text': row}})
def message_rows(log: Log, backend, query):
    log.add('a', f'{{query}} asked')
    log.add('b', RULES)
    backend.post(log)
    backend.post([{{'role': 'admin', 'name': query}}, {{'role': 'guest', 'name': RULES}}])
"""
    assert program(text).codes == []


def test_an_answer_is_no_input(program: Run) -> None:
    text = f"""
RULES = {LONG!r}
def chat(client, response):
    return client.chat.completions.create(model='m', messages=[
        {{'role': 'system', 'content': 'Be brief.'}}, {{'role': 'user', 'content': 'Begin.'}},
        {{'role': 'assistant', 'content': response}}, {{'role': 'user', 'content': RULES}}])
"""
    made = program(text)
    assert made.text == f"<system>Be brief.<user>Begin.<assistant>{{response}}<user>{LONG}"
    assert "PL108" not in made.codes


@pytest.mark.parametrize(
    "clean",
    [
        "re.sub(r'<!--.*?-->', '', issue)",
        "issue.replace('a', 'b')",
        "' '.join(issue.split())",
        "html.unescape(issue)",
    ],
)
def test_a_text_that_was_cleaned_is_the_text(program: Run, clean: str) -> None:
    text = f"""
import html, re
RULES = {LONG!r}
def issue_prompt(issue):
    cleaned = {clean}
    return f'The issue: {{cleaned}}. ' + RULES
"""
    assert program(text).codes == ["PL108"]


SHAPES = f"""
from dataclasses import dataclass
from google.genai import types
RULES = {LONG!r}
@dataclass
class ChatTurn:
    role: str
    text: str
def turn(role, content): return {{'role': role, 'content': content}}
def prompt(backend, doc):
    backend.post([SHAPE])
"""


@pytest.mark.parametrize(
    "shape",
    [
        "('system', 'Be brief.'), ('user', f'Read: {doc}'), ('human', RULES)",
        "turn('system', 'Be brief.'), turn('user', f'Read: {doc}'), turn('user', RULES)",
        "ChatTurn('system', 'Be brief.'), ChatTurn(role='user', text=f'Read: {doc}'), ChatTurn('user', RULES)",
        "{'role': 'system', 'text': 'Be brief.'}, {'role': 'user', 'text': f'Read: {doc}'}, {'role': 'user', 'text': RULES}",
        "types.Content(role='system', parts=[types.Part(text='Be brief.')]), types.Content(role='user', parts=[types.Part.from_text(text=f'Read: {doc}')]), types.Content(role='user', parts=[types.Part(text=RULES)])",
    ],
)  # fmt: skip
def test_messages_have_many_shapes(program: Run, shape: str) -> None:
    made = program(SHAPES.replace("SHAPE", shape))
    assert f"<system>Be brief.<user>Read: {{doc ~retrieved/request}}<user>{LONG}" in made.texts
    assert "PL107" in made.codes


@pytest.mark.parametrize(
    "pairs",
    [
        "('system', 'linux'), ('user', RULES)",
        "('host', f'{doc}'), ('port', RULES)",
        "('user', f'{doc}', 1), ('user', RULES, 2)",
    ],
)
def test_pairs_that_are_no_messages(program: Run, pairs: str) -> None:
    made = program(SHAPES.replace("prompt(", "form(").replace("SHAPE", pairs))
    assert "PL107" not in made.codes


def test_a_class_that_writes_messages_is_told_by_them(program: Run) -> None:
    """No name in ``go`` tells of prompts: what it makes is an object of a class that does."""
    text = f"""
RULES = {LONG!r}
class Exchange:
    def __init__(self, opening):
        self.items = [dict(role='system', content=opening)]
    def put(self, text):
        self.items.append(dict(role='user', content=text))
        return self
async def go(backend, doc):
    exchange = Exchange('Be brief.').put(f'Read this page: {{doc}}').put(RULES)
    return await backend.get(exchange.items)
"""
    made = program(text)
    assert f"<system>Be brief.<user>Read this page: {{doc ~retrieved/request}}<user>{LONG}" in made.texts
    assert "PL107" in made.codes


@pytest.mark.parametrize(
    "filled",
    [
        "h = ChatHistory(system_message='Be brief.')",
        "h = ChatHistory()\n    h.add_system_message('Be brief.')",
        "h = ChatHistory(messages=[SystemMessage(content='Be brief.')])",
    ],
)
@pytest.mark.parametrize("sent", ["h", "h.messages", "h.get_messages()"])
def test_a_library_keeps_the_turns(program: Run, filled: str, sent: str) -> None:
    text = f"""
from semantic_kernel.contents import ChatHistory
from langchain_core.messages import SystemMessage
RULES = {LONG!r}
async def prompt(kernel, doc):
    {filled}
    h.add_user_message(f'Read: {{doc}}')
    h.add_message(role='user', content=RULES)
    return await kernel.post({sent})
"""
    made = program(text)
    assert f"<system>Be brief.<user>Read: {{doc ~retrieved/request}}<user>{LONG}" in made.texts
    assert "PL107" in made.codes


def test_turns_behind_those_of_a_library_s_object_move_with_them(program: Run) -> None:
    text = f"""
from semantic_kernel.contents import ChatHistory
RULES = {LONG!r}
class Bot:
    def __init__(self):
        self.history = ChatHistory(system_message='Be brief.')
    async def ask(self, kernel, doc):
        self.history.add_user_message(f'Read: {{doc}}')
        self.history.add_user_message(RULES)
        return await kernel.post(self.history)
"""
    made = program(text)
    assert made.codes == []
    assert any(shown.startswith("<system>Be brief.<>{messages[]") for shown in made.texts)
