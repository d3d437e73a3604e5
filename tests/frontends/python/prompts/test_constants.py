"""Constants with fields that nothing fills in view."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.frontends.python.build import LONG, Program

Run = Callable[..., Program]

RULES = (
    "Your task is to answer in one sentence. Do not make anything up, and say so where nothing is known. " * 3
)


def _codes(program: Run, text: str) -> list[str]:
    return [code for code in program(text).codes if code != "PL110"]


@pytest.mark.parametrize(
    ("name", "text", "codes"),
    [
        ("ANSWER_PROMPT", "It is {now}. {long}", ["PL101"]),
        ("ANSWER_PROMPT", "It is {{{{ now }}}}. {long}", ["PL101"]),  # Jinja, or replaced
        ("ANSWER_PROMPT_EN", "It is {now}. {long}", ["PL101"]),
        # No name tells, the form does: it is long, speaks to a model and has fields.
        ("SCENE_ONE", "It is {now}. {rules}", ["PL101"]),
        ("SCENE_ONE", "It is {now}. {long}", []),
        ("ANSWER_TEMPLATE", "It is {now}. {rules}", ["PL101"]),
        ("ANSWER_TEMPLATE", "It is {now}. {long}", []),
        ("SCENE_SQL", "It is {now}. {rules}", []),
        # Names of classes are none of fields.
        ("ANSWER_PROMPT", "{Question} {long}", ["PL108"]),
        # Fences around values, of any length.
        ("ANSWER_PROMPT", "``````json\n{documents}\n``````\n{language} {long}", ["PL107"]),
        # What is answered, in the words in front of it; whose the goal is.
        ("ANSWER_PROMPT", "Answer in this JSON format:\n{response}\n{long}", []),
        ("ANSWER_PROMPT", "You are a {role}. Reach {goal}. {long}", []),
        ("ANSWER_PROMPT", "Reach {goal}. {long}", ["PL108"]),
        ("BLOCK_MESSAGE_TEMPLATE", "It is {now}. {long}", []),
    ],
)
def test_a_constant_with_fields_is_a_template(program: Run, name: str, text: str, codes: list[str]) -> None:
    written = (
        text.replace("{long}", LONG).replace("{rules}", RULES).replace("{{{{", "{{").replace("}}}}", "}}")
    )
    assert _codes(program, f"import openai\n{name} = {written!r}\nregistry.register({name})\n") == codes


@pytest.mark.parametrize(
    ("keyword", "text", "codes"),
    [
        ("system_message", "It is {{now}}. {long}", ["PL101"]),
        ("system_message", "You are kind. {long}", []),
        ("title", "It is {{now}}. {long}", []),
    ],
)
def test_a_prompt_that_a_module_registers(program: Run, keyword: str, text: str, codes: list[str]) -> None:
    """Who fills it takes it out of the registry again."""
    written = text.replace("{long}", LONG)
    assert _codes(program, f"import openai\nregister(Chat(name='port', {keyword}={written!r}))\n") == codes


def test_a_place_that_fills_a_constant_says_what_stands_there(program: Run) -> None:
    text = f"""
    from openai import OpenAI
    ANSWER_PROMPT = "See {{documents}}. {LONG}"
    def ask(settings):
        text = ANSWER_PROMPT.format(documents=settings.opening)
        return OpenAI().chat.completions.create(model='m', messages=[{{'role': 'user', 'content': text}}])
    """
    assert _codes(program, text) == []


def test_a_marker_stands_where_it_enters_a_text(program: Run) -> None:
    text = f"""
    import openai
    MARK = "{{{{CURRENT_TIME}}}}"
    SYSTEM_PROMPT = f"It is {{MARK}}. {LONG}"
    """
    found = program(text)
    (finding,) = [finding for finding in found.findings if finding.code == "PL101"]
    assert "MARK" in found.source(finding.primary)


def test_a_field_of_a_short_template_of_another_file_stays_there(program: Run) -> None:
    files = {
        "blocks.py": 'NOTES = "Notes: {documents}"',
        "app.py": f"""
        from openai import OpenAI
        from blocks import NOTES
        def ask(store):
            notes = NOTES.format(documents=store.load())
            system = f"{{notes}} {LONG}"
            return OpenAI().chat.completions.create(model='m', messages=[{{'role': 'system', 'content': system}}])
        """,
    }
    found = program(files)
    assert {f.primary.path for f in found.findings if f.code == "PL107"} == {"blocks.py"}


@pytest.mark.parametrize(
    ("path", "field", "codes"),
    [
        ("agents/planner.py", "now", ["PL101"]),  # the conversation stands behind it, anew with each step
        ("app/copilot.py", "now", ["PL101"]),
        ("app/planner.py", "now", []),
        ("agents/planner.py", "today", []),  # within a day the steps still match
        ("agents/planner.py", "documents", []),
        ("agency/planner.py", "now", []),
    ],
)
def test_behind_the_system_prompt_of_an_agent_stand_its_steps(
    program: Run, path: str, field: str, codes: list[str]
) -> None:
    text = f"SYSTEM_PROMPT = {RULES + 'It is {' + field + '}'!r}"
    assert [code for code in program({path: text}).codes if code != "PL110"] == codes


@pytest.mark.parametrize(
    ("path", "name", "codes"),
    [
        ("scenes/prompt.py", "_DEFAULT_TEMPLATE", ["PL107"]),
        ("scenes/page.py", "_DEFAULT_TEMPLATE", []),
        ("scenes/prompt.py", "REVIEW_PROMPT_FORMAT", ["PL107"]),  # not the name of a form of prompts
        ("scenes/page.py", "REVIEW_FORMAT", []),
    ],
)
def test_a_template_among_prompts_is_one(program: Run, path: str, name: str, codes: list[str]) -> None:
    rules = LONG if "TEMPLATE" in name else RULES
    text = f"{name} = {'The notes: {documents}' + chr(10) + rules!r}"
    assert [code for code in program({path: text}).codes if code != "PL110"] == codes
