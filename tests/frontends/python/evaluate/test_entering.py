"""Where a value enters a prompt that a small function, or a short form, dresses."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.frontends.python.build import Program

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
