"""Request bodies that an HTTP client posts."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.frontends.python.build import LONG, Program

Run = Callable[..., Program]
MESSAGES = "'messages': [{'role': 'system', 'content': 'Be brief'}, {'role': 'user', 'content': question}]"


ASKED = "<system>Be brief<user>{question ~request-input/request}"


@pytest.mark.parametrize(
    ("call", "provider"),
    [
        (f"requests.post(url, json={{'model': 'm', {MESSAGES}}})", ""),
        (
            "httpx.post('https://api.anthropic.com/v1/messages', json={'system': 'Be brief', "
            + "'messages': [{'role': 'user', 'content': question}]})",
            "anthropic",
        ),
        (
            "requests.post(url, json={'systemInstruction': {'parts': [{'text': 'Be brief'}]}, "
            + "'contents': [{'role': 'user', 'parts': [{'text': question}]}]})",
            "google",
        ),
        (
            "requests.post(url, json={'model': 'm', 'system': 'Be brief', 'prompt': question, 'stream': False})",
            "",
        ),
    ],
)
def test_the_form_of_a_body(program: Run, call: str, provider: str) -> None:
    found = program(f"import httpx, requests\ndef ask(url, question):\n    {call}\n")
    assert (found.text, found.request.provider) == (ASKED, provider)


@pytest.mark.parametrize(
    "call",
    [
        "requests.post('http://host/embeddings', json={'model': 'm', 'input': question})",
        "requests.post(url, json={'prompt': 'which one?'})",  # any form may have such a field
        "requests.put(url, json={'model': 'm', 'prompt': question})",
        "requests.post(url, json={'to': 'a@b.c', 'messages': [question]})",
        "requests.post(url, json={'contents': [{'title': question}]})",
        "requests.post('http://host/audio/speech', json={'model': 'm', 'input': question, 'voice': 'v'})",
        "requests.post('http://host/count_tokens', json={'model': 'm', 'messages': [{'role': 'user', 'content': question}]})",
        "requests.post(url, json={'inputs': question, 'parameters': {'top_label': 1}})",
    ],
)
def test_other_bodies(program: Run, call: str) -> None:
    assert not program(f"import requests\ndef ask(url, question):\n    {call}\n").requests


def test_a_body_that_was_made_before_it_is_dumped(program: Run) -> None:
    text = f"""
import json, time, urllib.request
RULES = {LONG!r}
def ask(question):
    body = {{'model': 'm', 'messages': [{{'role': 'user', 'content': f'{{time.time()}} ' + RULES + question}}]}}
    return urllib.request.Request('http://host/v1/chat/completions', data=json.dumps(body).encode())
def send(session, question):
    body = {{'model': 'm', 'messages': [{{'role': 'user', 'content': f'{{time.time()}} ' + RULES + question}}]}}
    return session.post('http://host/v1/chat/completions', data=json.dumps(body))
"""
    found = program(text)
    assert [one.name for one in found.requests] == ["request in ask", "request in send"]
    assert "PL101" in found.codes


def test_a_key_that_is_new_in_each_body_is_shown_where_it_is_made(program: Run) -> None:
    text = f"""
import uuid, httpx
def ask(question):
    body = {{
        'model': 'm',
        {MESSAGES},
        'prompt_cache_key': str(uuid.uuid4()),
    }}
    return httpx.post('http://host/v1/chat/completions', json=body)
"""
    found = program(text)
    [finding] = [one for one in found.findings if one.code == "PL609"]
    source = found.files["app.py"]
    assert source.position(finding.primary.span.start)[0] == 6


@pytest.mark.parametrize(
    ("address", "body", "random"),
    [
        ("random.choice(hosts) + '/v1/chat/completions'", "{'model': 'm', 'messages': messages}", True),
        ("f'{next(turn)}/v1/chat/completions'", "given", True),
        ("f'{hosts[0]}/v1/chat/completions'", "given", False),
        ("f'{next(turn)}/v1/embeddings'", "given", False),
    ],
)
def test_a_replica_for_each_request(program: Run, address: str, body: str, random: bool) -> None:
    found = program(f"""
        import itertools, random, requests
        hosts = ["http://a", "http://b"]
        turn = itertools.cycle(hosts)
        def complete(given, messages):
            return requests.post({address}, json={body})
        """)
    assert found.codes == (["PL701"] if random else [])
