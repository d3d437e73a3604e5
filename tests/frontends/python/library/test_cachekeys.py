"""Cache keys in mappings, and injection points, as parameters of the request."""

from __future__ import annotations

import json

import pytest

from promptlint.catalog import Catalog
from promptlint.frontends import python
from promptlint.frontends.base import Context
from promptlint.layout import Parameter, Scope
from promptlint.source import SourceFile

HEAD = """
import uuid
import litellm
from openai import OpenAI
client = OpenAI()
def ask(text, chat_id):
    messages = [{"role": "system", "content": "Check the order."}, {"role": "user", "content": text}]
"""


def parameters(call: str) -> dict[str, Parameter]:
    source = SourceFile("app.py", f"{HEAD}    {call}\n")
    units = python.analyze(
        ["app.py"], Context(load=lambda path: source if path == "app.py" else None), Catalog()
    )
    return {p.name: p for unit in units for layout in unit.layouts for p in layout.parameters}


@pytest.mark.parametrize(
    ("mapping", "name"),
    [
        ('extra_body={"cache_salt": str(uuid.uuid4()), "top_k": 3}', "key:extra_body.cache_salt"),
        ('extra_headers={"x-session-affinity": uuid.uuid4().hex}', "key:extra_headers.x-session-affinity"),
    ],
)
def test_keys_of_one_request(mapping: str, name: str) -> None:
    found = parameters(f'client.chat.completions.create(model="m", messages=messages, {mapping})')
    assert found[name].scope is Scope.REQUEST
    assert found[name].cause is not None
    assert [other for other in found if other.startswith("key:")] == [name]


@pytest.mark.parametrize(
    ("loop", "key", "scope"),
    [
        ("for step in range(40):", "f'{chat_id}-{step}'", Scope.REQUEST),
        ("for step in range(40):", "f'{chat_id}-v3'", Scope.UNKNOWN),
        ("for desk in text.desks:", "f'desk-{desk.name}'", Scope.UNKNOWN),
    ],
)
def test_a_key_with_the_number_of_the_round(loop: str, key: str, scope: Scope) -> None:
    call = f"client.chat.completions.create(model='m', messages=messages, prompt_cache_key={key})"
    assert parameters(f"{loop}\n        {call}")["key:prompt_cache_key"].scope is scope


def test_other_entries_are_left_out() -> None:
    call = 'client.chat.completions.create(model="m", messages=messages, extra_headers={"x-request-id": uuid.uuid4().hex})'
    assert not any(name.startswith("key:") for name in parameters(call))


@pytest.mark.parametrize(
    ("key", "fresh"),
    [
        ('request.json()["request_id"]', True),
        ('request.json()["session_id"]', False),
        ("f\"chat-{request.json().get('tenant')}\"", False),
        ("request.headers.get('x-user')", False),
    ],
)
def test_a_key_that_a_request_brings_along(key: str, fresh: bool) -> None:
    call = f'client.chat.completions.create(model="m", messages=messages, prompt_cache_key={key})'
    found = parameters(f"from flask import request\n    {call}")["key:prompt_cache_key"]
    assert (found.scope is Scope.REQUEST) is fresh


def test_injection_points() -> None:
    call = (
        'litellm.completion(model="m", messages=messages, '
        'cache_control_injection_points=[{"location": "message", "role": "user", "index": -1}])'
    )
    point = parameters(call)["cache_control_injection_point"]
    assert json.loads(point.text or "") == {"location": "message", "role": "user", "index": -1}


@pytest.mark.parametrize(
    ("call", "fresh"),
    [
        ("model.invoke(messages, extra_body={'cache_salt': uuid.uuid4().hex})", True),
        ("model.bind(extra_body={'cache_salt': uuid.uuid4().hex}).invoke(messages)", True),
        ("ChatOpenAI(model='m', extra_body={'cache_salt': uuid.uuid4().hex}).invoke(messages)", True),
        ("model.invoke(messages, extra_body={'cache_salt': chat_id})", False),
        ("model.invoke(messages, extra_body={'request_id': uuid.uuid4().hex})", False),
    ],
)
def test_keys_of_a_model_that_a_library_wraps(call: str, fresh: bool) -> None:
    made = f"from langchain_openai import ChatOpenAI; model = ChatOpenAI(model='m')\n    return {call}"
    assert (
        any(p.name.startswith("key:") and p.scope is Scope.REQUEST for p in parameters(made).values())
        is fresh
    )
