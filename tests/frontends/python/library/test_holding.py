"""Templates that an object of a library holds, and the calls that fill them: their names do not matter."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.frontends.python.build import LONG, Program

Run = Callable[..., Program]

HEAD = f'''
from datetime import datetime
from haystack import Pipeline
from haystack.components.builders import PromptBuilder
from langchain.chains import LLMChain, create_retrieval_chain
from langchain.prompts import PromptTemplate
from langchain_core.runnables.history import RunnableWithMessageHistory
from llama_index.llms.openai import OpenAI
from semantic_kernel import Kernel
from semantic_kernel.functions import KernelArguments

JINJA = PromptBuilder(template="""As of {{{{ as_of }}}}. {LONG} {{{{ question }}}}""")
PLAIN = PromptTemplate.from_template("""As of {{as_of}}. {LONG} {{question}}""")
'''


@pytest.mark.parametrize(
    ("made", "run"),
    [
        (
            'Pipeline(); thing.add_component("prompt", JINJA)',
            'thing.run({"embedder": {"text": q}, "prompt": {"question": q, "as_of": now}})',
        ),
        (
            'Pipeline(); thing.add_component(instance=JINJA, name="b")',
            'thing.run(data={"b": {"template_variables": {"question": q, "as_of": now}}})',
        ),
        ("LLMChain(llm=llm, prompt=PLAIN)", "thing.run(question=q, as_of=now)"),
        ("create_retrieval_chain(store, LLMChain(PLAIN))", 'thing.invoke({"question": q, "as_of": now})'),
        (
            "RunnableWithMessageHistory(LLMChain(PLAIN), turns)",
            'thing.invoke({"question": q, "as_of": now}, config={"session": q})',
        ),
        ("OpenAI()", "thing.predict(PLAIN, question=q, as_of=now)"),
        ("Kernel()", "thing.invoke(PLAIN, KernelArguments(question=q, as_of=now))"),
    ],
)
def test_what_a_call_gives_fills_the_field_of_its_name(program: Run, made: str, run: str) -> None:
    found = program(f"{HEAD}\nthing = {made}\ndef ask(q):\n    now = datetime.now()\n    prompt = {run}\n")
    assert "PL101" in found.codes
    [clock] = [one for one in found.findings if one.code == "PL101"]
    assert found.source(clock.primary).strip("{ }") == "as_of"
    assert found.source(clock.origin) == "datetime.now()"


@pytest.mark.parametrize(
    "run",
    [
        'thing.run({"other": {"as_of": now}})',  # of another component
        'thing.run({"prompt": {"question": now}})',  # behind all text
        'thing.show(time=now, prompt="x")',  # no field of it
    ],
)
def test_other_values_fill_nothing(program: Run, run: str) -> None:
    made = 'Pipeline(); thing.add_component("prompt", JINJA)'
    two = 'thing.add_component("other", PromptBuilder(template="{{ as_of }}"))'
    found = program(
        f"{HEAD}\nthing = {made}\n{two}\ndef ask():\n    now = datetime.now()\n    prompt = {run}\n"
    )
    assert "PL101" not in found.codes


def test_a_template_of_one_object_is_not_in_another(program: Run) -> None:
    found = program(f"""
{HEAD}
def one():
    pipeline = Pipeline()
    pipeline.add_component("prompt", JINJA)
    return pipeline
def prompt():
    pipeline = Pipeline()
    return one(), pipeline.run({{"prompt": {{"as_of": datetime.now()}}}})
""")
    assert "PL101" not in found.codes
