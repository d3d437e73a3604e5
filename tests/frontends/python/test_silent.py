"""What is right stays silent."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.frontends.python.build import LONG, Program

HEAD = f"""
import logging, uuid
from datetime import datetime
from openai import OpenAI
client = OpenAI()
log = logging.getLogger(__name__)
RULES = {LONG!r}
"""
SEND = "client.chat.completions.create(model='m', messages=[{'role': 'system', 'content': RULES}, {'role': 'user', 'content': text}]%s)"


@pytest.mark.parametrize(
    ("body", "arguments"),
    [
        ("text = question", ""),
        ("log.info('prompt %s at %s', uuid.uuid4(), datetime.now())\ntext = question", ""),
        ("text = question", ", metadata={'id': str(uuid.uuid4())}"),
        ("text = question", ", extra_headers={'x-request-id': uuid.uuid4().hex}"),
        ("text = f'{question}\\n{datetime.now()}'", ""),
        ("text = ', '.join(sorted({'a', 'b', 'c'})) + ': ' + question", ""),
        ("started = datetime.now()\ntext = question\nelapsed = datetime.now() - started", ""),
        ("if question in {'a', 'b'}:\n    log.info('seen')\ntext = question", ""),
        (
            "request_id = uuid.uuid4()\ntry:\n    text = question\nexcept ValueError as e:\n    raise RuntimeError(f'{request_id}: {e}')",
            "",
        ),
    ],
)
def test_no_finding(program: Callable[..., Program], body: str, arguments: str) -> None:
    lines = "".join(f"    {line}\n" for line in body.split("\n"))
    assert program(f"{HEAD}def ask(question):\n{lines}    return {SEND % arguments}\n").findings == []


def test_the_same_value_in_front_is_found(program: Callable[..., Program]) -> None:
    found = program(
        f"{HEAD}def ask(question):\n    return client.chat.completions.create(model='m', messages=[\n"
        "        {'role': 'system', 'content': f'{datetime.now()} {RULES}'}, {'role': 'user', 'content': question}])\n"
    )
    assert set(found.codes) == {"PL101"}
