"""Prompts that are sent through other functions, registries, text buffers and overridden methods."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.frontends.python.build import LONG, Program

Run = Callable[..., Program]
SEND = f"""
from datetime import datetime
import io
from openai import OpenAI
RULES = {LONG!r}
def send(system, q):
    return OpenAI().chat.completions.create(model='m', messages=[
        {{'role': 'system', 'content': system}}, {{'role': 'user', 'content': q}}])
"""


@pytest.mark.parametrize(
    ("caller", "found"),
    [
        ("def ask(q):\n    return send(f'It is now {datetime.now()}. ' + RULES, q)", True),
        ("class A:\n    def put(self, q): return send(q, q)\n    def ask(self, q): return send(f'It is now {datetime.now()}. {RULES}', q)", True),
        (
            ("class A:\n    def rules(self): return f'It is now {datetime.now()}. {RULES}'\n"
            "    def ask(self, q): return send(self.rules(), q)"),
            True,
        ),
        # Nothing that is sent, or nothing that sends.
        ("def ask(q):\n    log = f'It is now {datetime.now()}. {RULES}'\n    keep(log)\n    return q", False),
    ],
)  # fmt: skip
def test_a_function_without_a_telling_word_sends_through_another(
    program: Run, caller: str, found: bool
) -> None:
    assert ("PL101" in program(SEND + caller).codes) == found


def test_a_library_is_told_by_its_import(program: Run) -> None:
    text = """
        from datetime import date
        from crewai import Agent
        def make():
            return Agent(role='guide', goal='help', backstory=f'Today is {date.today()}.' + RULES)
    """
    found = program(f"RULES = {LONG!r}\n" + text.replace("\n        ", "\n"))
    assert found.codes == ["PL101"]


REGISTRY = """
SECTIONS = {}
def section(name):
    def keep(function):
        SECTIONS[name] = function
        return function
    return keep
@section('clock')
def clock(): return f'It is {datetime.now()}.'
@section('rules')
def rules(): return RULES
def ask(q):
    return send('\\n'.join(make() for make in SECTIONS.values()), q)
"""


def test_functions_that_a_decorator_registers_are_called_in_order(program: Run) -> None:
    found = program(SEND + REGISTRY).texts[-1]
    assert found.startswith("<system>It is {datetime.now() ~clock/request}.\nYou answer questions")


BUFFER = """
def ask(q, tools):
    out = io.StringIO('Dear model,\\n')
    print('Tools:', len(tools), file=out)
    for tool in tools:
        out.write(f'- {tool}\\n')
    if tools:
        out.write('Use them. ')
    out.writelines(['a', 'b'])
    print('not this')
    return send(out.getvalue(), q)
"""


def test_a_text_buffer_holds_what_was_written(program: Run) -> None:
    (found,) = [
        one for one in program(SEND + BUFFER).texts if one.startswith("<system>Dear") and "<user>" in one
    ]
    assert found.partition("<user>")[0] == (
        "<system>Dear model,\nTools: {len(tools)}\n[for tools? - {tool}\n][tools? Use them. ]ab"
    )


BASE = """
from abc import ABC, abstractmethod
class Source(ABC):
    @abstractmethod
    def text(self): ...
"""
CLOCK = """
from datetime import datetime
from base import Source
class Clock(Source):
    def text(self): return f'It is {datetime.now()}.'
"""
BOT = """
from base import Source
class Bot:
    def __init__(self, source: Source): self.source = source
    def ask(self, q):
        return send(self.source.text() + RULES, q)
"""


def test_a_declared_method_gives_what_those_give_that_override_it(program: Run) -> None:
    found = program({"app.py": SEND + BOT, "base.py": BASE, "clocks.py": CLOCK})
    assert "PL101" in found.codes
    assert "PL101" not in program({"app.py": SEND + BOT, "base.py": BASE}).codes
    # A class of the same name elsewhere is another class.
    other = CLOCK.replace("from base import Source", "class Source: ...")
    assert "PL101" not in program({"app.py": SEND + BOT, "base.py": BASE, "clocks.py": other}).codes


SET_UP = """
from abc import ABC, abstractmethod
from openai import OpenAI
class Base(ABC):
    def __init__(self):
        self.sections = []
        self.set_up()
    @abstractmethod
    def set_up(self): ...
    def run(self, question):
        return OpenAI().responses.create(model='m', instructions="".join(self.sections), input=question)
"""
FILLS = """
from datetime import datetime
class {first}:
    def set_up(self):
        self.sections.append(f"It is {{datetime.now()}}. ")
        self.sections.append({long!r})
{second}
"""


@pytest.mark.parametrize(
    ("first", "second"), [("Own(Base)", ""), ("Mixin", "class Mixed(Mixin, Base):\n    pass")]
)
def test_what_a_declared_method_puts_into_its_object_is_there(program: Run, first: str, second: str) -> None:
    below = "from base import Base\n" + FILLS.format(first=first, second=second, long=LONG)
    assert "PL101" in program({"base.py": SET_UP, "own.py": below}).codes


@pytest.mark.parametrize(
    "sent",
    [
        "print(OpenAI().responses.create(model='m', input=made).output_text)",
        "print(ask(made))",
        "return PIPE(made)",
    ],
)
def test_what_is_shown_or_called_without_a_name_is_sent(program: Run, sent: str) -> None:
    text = f"""
    from openai import OpenAI
    from transformers import pipeline
    PIPE = pipeline("text-generation")
    def ask(text):
        return OpenAI().chat.completions.create(model='m', messages=[{{'role': 'user', 'content': text}}])
    def tag(article):
        made = f"Article: {{article}}. " + {LONG!r}
        {sent}
    """
    assert "PL108" in program(text).codes


def test_what_is_only_shown_is_not_sent(program: Run) -> None:
    text = f"""
    from openai import OpenAI
    def tag(article):
        made = f"Article: {{article}}. " + {LONG!r}
        print(made, len(made))
    """
    assert program(text).codes == []


@pytest.mark.parametrize(
    ("call", "codes"),
    [
        ("await creator.generate_str(message=text)", ["PL108"]),
        ("app.ai.chat(text)", ["PL108"]),
        ("await agent.run(text)", ["PL108"]),
        ("self.model(text)", ["PL108"]),
        ("llm_func(text)", ["PL108"]),
        ("self.llm.complete('You are a clerk.', text)", ["PL108"]),  # an own class with a second argument
        ("agent.notify(text)", []),
        ("mail.send(text)", []),
        ("log.info(text)", []),
        ("model.save(text)", []),
    ],
)
def test_instructions_are_sent_to_what_is_called_after_models(
    program: Run, call: str, codes: list[str]
) -> None:
    """Neither the argument nor its name says that it is a prompt: the text does."""
    text = f"""
    # Answers about prompts.
    class Desk:
        async def tell(self, question, llm_func, creator, app, agent, mail, model, log):
            text = f"{{question}}\\nYour task is to answer this in one sentence. {LONG}"
            return {call}
    """
    assert program(text).codes == codes


def test_a_greeting_for_a_person_is_no_prompt(program: Run) -> None:
    text = f"""
    def greet(agent, name):
        text = f"{{name}}, welcome! {"We hope that you had a good journey and a good night. " * 6}"
        agent.run(text)
    prompt = 1
    """
    assert program(text).codes == []
