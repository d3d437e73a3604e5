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


NOTES = (
    """Release {{ version }} of {{ product }} is out.\n\n"""
    + "The files lie at the usual place and are signed. " * 12
)


@pytest.mark.parametrize(
    "code",
    [
        # Notes for people, rendered by an engine.
        f"""from jinja2 import Environment
def announce(version, url):
    template = Environment().from_string({NOTES + "{{ url }} " + NOTES!r})
    return template.render(version=version, product=url, url=url)
""",
        # A constant that is a program.
        f"""# the template of a program
WRAPPER_TEMPLATE = {"stamp = %(date)s" + chr(10) + "def run(a):" + chr(10) + "    import os" + chr(10) + "    return os.getcwd()" + chr(10) + "def stop(a):" + chr(10) + "    return a" + chr(10) + "# nothing is said here" * 20!r}
""",
    ],
)
def test_templates_that_speak_to_nobody(program: Callable[..., Program], code: str) -> None:
    assert program({"app.py": code}).findings == []


def test_a_template_that_gives_a_role_is_a_prompt(program: Callable[..., Program]) -> None:
    text = "You are a careful reviewer of {{ language }} programs. " + "Look at every line of it twice. " * 8
    code = f"""from jinja2 import Template
def review(language):
    template = Template({text!r})
    return template.render(language=language)
"""
    assert program({"app.py": code}).findings
