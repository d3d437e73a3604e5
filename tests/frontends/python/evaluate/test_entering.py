"""Where a value enters a prompt that a small function, or a short form, dresses."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.frontends.python.build import LONG, Program

Run = Callable[..., Program]

PROGRAM = """
from openai import OpenAI
from datetime import datetime
from dataclasses import dataclass
import chromadb
notes = chromadb.PersistentClient("notes").get_collection("notes")
FORM = "What you know:\\n{found}\\n"
LONG_FORM = "Read these notes first, and answer from them alone, in two sentences or less:\\n{found}\\n"
RULES = "Answer in the language of the question, and name the note that you used."

def minute():
    return datetime.now().isoformat()
def find(question):
    return notes.query(query_texts=[question])["documents"][0]
def bullets(lines):
    return "\\n".join(f"- {line}" for line in lines)
def block(lines):
    text = "\\n".join(lines)
    return {"type": "text", "text": f"Notes:\\n{text}"}
def with_rules(lines):
    return f"{bullets(lines)}\\n{RULES}"
def opening():
    now = minute()
    return f"The question was asked at {now}, by the clock of the server."

@dataclass
class Moment:
    at: str
    def line(self):
        return f"Asked at {self.at}"

def ask(question):
    return OpenAI().chat.completions.create(model="m", messages=[
        {"role": "system", "content": "\\n".join([SYSTEM, RULES])}, {"role": "user", "content": question}])
"""


@pytest.mark.parametrize(
    ("system", "where"),
    [
        # The form is the function's, what is looked up is not: it is moved where the function is called.
        ("bullets(find(question))", "bullets(find(question))"),
        ("block(find(question))['text']", "block(find(question))"),
        ("FORM.format(found=find(question))", "find(question)"),
        ("Moment(minute()).line()", "Moment(minute()).line()"),
        # Text that is lost stands in the same function, or in the same form.
        ("with_rules(find(question))", "bullets(lines)"),
        ("LONG_FORM.format(found=find(question))", "{found}"),
        # A function that reads the clock and prints it is where that is mended.
        ("opening()", "{now}"),
    ],
)
def test_where_it_enters(program: Run, system: str, where: str) -> None:
    found = program(PROGRAM.replace("SYSTEM", system))
    [finding] = [
        one for one in found.findings if one.code in ("PL101", "PL107") and one.prompt == "request in ask"
    ]
    assert found.source(finding.primary).strip("{}") == where.strip("{}")


def test_what_only_its_name_tells_of_knows_where_it_is_given(program: Run) -> None:
    found = program(
        PROGRAM.replace("SYSTEM", "bullets(memories)").replace("ask(question)", "ask(question, memories)")
    )
    [finding] = [one for one in found.findings if one.code == "PL107"]
    assert finding.origin is not None
    assert (found.source(finding.primary), found.source(finding.origin)) == ("{line}", "bullets(memories)")


MARKED = f"""
import anthropic
RULES = "{LONG}"
MARK = {{"type": "ephemeral"}}
def keep(block):
    return {{**block, "cache_control": MARK}}
def cached(text, hours=0):
    return {{"type": "text", "text": text, "cache_control": {{"type": "ephemeral"}}}}
def text(value, **extra):
    return {{"type": "text", "text": value, **extra}}
def ruled(report):
    whole = f"You compare reports with the rules of the port, and name each one that they break: {{report}}"
    return {{"type": "text", "text": whole, "cache_control": MARK}}
class Blocks:
    def last(self, value):
        return keep(text(value))
def ask(question, report):
    return anthropic.Anthropic().messages.create(model="claude-sonnet-4-5", max_tokens=9, system=RULES, messages=[
        {{"role": "user", "content": [text(question), BLOCK]}}])
"""


@pytest.mark.parametrize(
    ("block", "where"),
    [
        ("keep(text(report))", "keep(text(report))"),
        ("cached(report)", "cached(report)"),
        ("text(report, cache_control=MARK)", "text(report, cache_control=MARK)"),
        ("Blocks().last(report)", "Blocks().last(report)"),
        ("{'type': 'text', 'text': report, 'cache_control': MARK}", "{'type': 'text'"),
        # Whose text it is that is marked, there the mark is moved.
        ("ruled(report)", '{"type": "text", "text": whole'),
        ("text(report)", ""),
    ],
)
def test_a_helper_marks_what_it_is_given(program: Run, block: str, where: str) -> None:
    found = program(MARKED.replace("BLOCK", block))
    marks = [found.source(one.primary) for one in found.findings if one.code == "PL601"]
    assert [text.startswith(where) for text in marks] == [True] * bool(where)
