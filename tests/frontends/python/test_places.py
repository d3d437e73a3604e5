"""What a value fills tells of it where its own name does not: a template's field, an argument of the function."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.frontends.python.build import LONG, Program

Run = Callable[..., Program]

FIELD = """
from openai import OpenAI
SUMMARY = "Sum up: {{{field}}}. {long}"
def ask(store):
    text = SUMMARY.format({field}={value})
    return OpenAI().chat.completions.create(model='m', messages=[{{'role': 'user', 'content': text}}])
"""


@pytest.mark.parametrize(
    ("field", "value", "shown"),
    [
        # The field's name is asked where the value's own tells nothing …
        ("question", "shorten(load())", "{question ~request-input/request}"),
        ("documents", "shorten(load())", "{documents ~retrieved/request}"),
        ("lines", "shorten(load())", "{lines}"),
        # … and not against what the value's name says.
        ("question", "settings.opening", "{question}"),
        ("documents", "user_name", "{documents ~per-user/user}"),
        ("question", "'Who?'", "Who?"),
    ],
)
def test_a_field_names_what_fills_it(program: Run, field: str, value: str, shown: str) -> None:
    found = program(FIELD.format(field=field, value=value, long=LONG))
    assert found.text == f"<user>Sum up: {shown}. {LONG}"


ARGUMENT = """
from openai import OpenAI
def ask({arguments}):
    text = f"Look at {{{value}}}. {long}"
    return OpenAI().chat.completions.create(model='m', messages=[{{'role': 'user', 'content': text}}])
"""


@pytest.mark.parametrize(
    ("arguments", "value", "known"),
    [
        ("dossier", "dossier", True),
        ("dossier", "dossier.description", True),
        ("state", "state['notes']", True),
        ("state", "state.get('notes')", True),
        ("papers", "papers[0].strip()", True),
        ("dossier=None", "dossier", True),
        # A setting by its name, its default or its type.
        ("language", "language", False),
        ("agent", "agent.description", False),
        ("flavour='vanilla'", "flavour", False),
        ("depth: int", "depth", False),
        ("description", "description", False),
        # Not out of an argument.
        ("dossier", "other", False),
    ],
)
def test_an_argument_is_what_a_request_is_about(
    program: Run, arguments: str, value: str, known: bool
) -> None:
    found = program(ARGUMENT.format(arguments=arguments, value=value, long=LONG))
    hole = found.request.segments[1]
    assert (hole.cause is not None) is known
    if hole.cause is not None:
        assert hole.cause.variant == "argument"
        assert found.codes == ["PL108"]


def test_a_constructor_keeps_its_arguments(program: Run) -> None:
    found = program(
        f"""
        class Prompts:
            def __init__(self, dossier):
                self.system_prompt = f"Look at {{dossier}}. {LONG}"
        """
    )
    assert "PL108" not in found.codes


def test_an_argument_does_not_lead_where_a_name_says_more(program: Run) -> None:
    found = program(
        f"""
        from openai import OpenAI
        def ask(dossier, user_question):
            text = f"Look at {{dossier}} and {{user_question}}. {LONG}"
            return OpenAI().chat.completions.create(model='m', messages=[{{'role': 'user', 'content': text}}])
        """
    )
    told = [f for f in found.findings if f.code == "PL108"]
    assert {found.source(f.primary) for f in told} == {"{user_question}"}
    assert {found.source(step.place) for f in told for step in f.related} == {"{dossier}"}


@pytest.mark.parametrize(
    ("form", "shown"),
    [
        ("{now:%Y}", "{now}"),
        ("{now:%B}", "{now}"),
        ("{now:%d}", "{now ~clock/day}"),
        ("{now:%H}", "{now ~clock/request}"),
    ],
)
def test_what_is_left_of_a_time_is_not_read_off_its_name(program: Run, form: str, shown: str) -> None:
    found = program(
        f"""
        from datetime import datetime
        from openai import OpenAI
        def ask():
            now = datetime.now()
            text = f"It is {form}. {LONG}"
            return OpenAI().chat.completions.create(model='m', messages=[{{'role': 'user', 'content': text}}])
        """
    )
    assert found.text == f"<user>It is {shown}. {LONG}"
