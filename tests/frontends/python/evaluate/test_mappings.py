"""Messages that are written as classes and sent as mappings."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.frontends.python.build import Program

START = """
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import NamedTuple
from anthropic import Anthropic
from anthropic.types import MessageParam, TextBlockParam
from openai import OpenAI
from openai.types.chat import ChatCompletionSystemMessageParam, ChatCompletionUserMessageParam
from pydantic import BaseModel

class Model(BaseModel):
    role: str
    content: str

@dataclass
class Data:
    role: str
    content: str

class Named(NamedTuple):
    role: str
    content: str

def text():
    return f"Now {datetime.now()}. Answer well."

def ask(question):
    return """
SENT = "<system>Now {datetime.now() ~clock/request}. Answer well.<user>{question ~request-input/request}"
OPENAI = "OpenAI().chat.completions.create(model='m', messages=[%s, {'role': 'user', 'content': question}])"


@pytest.mark.parametrize(
    "call",
    [
        (
            "Anthropic().messages.create(model='m', system=[TextBlockParam(type='text', text=text())], "
            "messages=[MessageParam(role='user', content=question)])"
        ),
        (
            "OpenAI().chat.completions.create(model='m', messages=["
            "ChatCompletionSystemMessageParam(role='system', content=text()), "
            "ChatCompletionUserMessageParam(role='user', content=question)])"
        ),
        OPENAI % "Model(role='system', content=text()).model_dump()",
        OPENAI % "asdict(Data('system', text()))",
        OPENAI % "Named('system', text())._asdict()",
    ],
)
def test_a_message_in_the_clothes_of_a_class(program: Callable[..., Program], call: str) -> None:
    assert program(START + call).texts[-1] == SENT


def test_what_follows_a_system_message_are_the_turns_so_far(program: Callable[..., Program]) -> None:
    call = "OpenAI().chat.completions.create(model='m', messages=[{'role': 'system', 'content': 'Be brief.'}, *%s])"
    assert program(START.replace("question", "so_far") + call % "so_far").texts[-1] == (
        "<system>Be brief.<>{so_far ~history/session}"
    )
    shots = program(START.replace("question", "shots") + call % "shots").texts[-1]
    assert "history" not in shots


@pytest.mark.parametrize(
    ("made", "shown"),
    [
        ("json.dumps(SHAPE)", '{"kind": "list", "of": ["a", 2]}'),
        ("json.dumps(SHAPE, indent=1)", '{\n "kind": "list",\n "of": [\n  "a",\n  2\n ]\n}'),
        ("f'{SHAPE}'", "{'kind': 'list', 'of': ['a', 2]}"),
        ("json.dumps(OPEN)", "{json.dumps(OPEN)}"),  # what is empty may be filled unseen
    ],
)
def test_data_that_is_wholly_known_is_known_text(
    program: Callable[..., Program], made: str, shown: str
) -> None:
    found = program(f"""
import json
from openai import OpenAI
SHAPE = {{"kind": "list", "of": ["a", 2]}}
OPEN = {{}}
def ask(question):
    return OpenAI().chat.completions.create(model="m", messages=[{{"role": "system", "content": "Form: " + {made}}}])
""")
    assert found.text == f"<system>Form: {shown}"


def test_a_service_with_a_role_is_no_message(program: Callable[..., Program]) -> None:
    found = program("""
from openai import OpenAI
def ask(rows):
    services = []
    for row in rows:
        services.append({"name": row.name, "role": row.role, "framework": row.framework})
    names = []
    for service in services:
        names.append(service["name"])
    text = "The services are " + ",".join(names) + ". Find the one that the user means, and answer with its name."
    return OpenAI().chat.completions.create(model="m", messages=[{"role": "system", "content": text}])
""")
    assert "PL111" not in found.codes
