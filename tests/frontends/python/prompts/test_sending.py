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


SENDER = f"""
from openai import OpenAI
class Desk:
    def answer(self, text, stamp):
        return OpenAI().chat.completions.create(model='m', messages=[
            {{'role': 'system', 'content': f'It is {{stamp}}. ' + {LONG!r}}}, {{'role': 'user', 'content': text}}])
"""
CALLER = """
import openai
from datetime import datetime
from desk import Desk
DESK = Desk()
{code}
"""


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("def main():\n    desk = Desk()\n    print(desk.answer(input(), datetime.now()))", True),
        ("def main():\n    return DESK.answer(input(), datetime.now())", True),
        ("def main():\n    return Desk().answer(input(), datetime.now())", True),
        ("def main(desk: Desk):\n    return desk.answer(input(), datetime.now())", True),
        (
            (
                "class App:\n    def __init__(self, desk: Desk | None = None): self.desk = desk or Desk()\n"
                "    def main(self): return self.desk.answer(input(), datetime.now())"
            ),
            True,
        ),
        ("def main(desk):\n    return desk.answer(input(), datetime.now())", False),  # of whatever class
        ("def main():\n    return Desk().answer(input(), 'noon')", False),
    ],
)
def test_who_calls_a_method_that_sends_says_what_it_is_given(program: Run, code: str, found: bool) -> None:
    files = {"desk.py": SENDER, "main.py": CALLER.format(code=code)}
    assert ("PL101" in program(files).codes) == found


FROM_FUNCTION = """
def told(out):
    out.write(f'It is {datetime.now()}. ')
def shown(out):
    print(f'It is {datetime.now()}. ', file=out)
def ask(q):
    out = io.StringIO()
    FILL(out)
    out.write(RULES)
    return send(out.getvalue(), q)
"""


@pytest.mark.parametrize("fill", ["told", "shown"])
def test_a_function_writes_into_the_buffer_that_it_is_given(program: Run, fill: str) -> None:
    assert "PL101" in program(SEND + FROM_FUNCTION.replace("FILL", fill)).codes


OVERRIDDEN = """
import inspect
from datetime import datetime
from openai import OpenAI
class Agent:
    \"\"\"An agent.\"\"\"
    def lead(self): return ''
    def run(self, text):
        rules = self.lead() + inspect.cleandoc(self.__class__.__doc__)
        return OpenAI().responses.create(model='m', instructions=rules, input=text)
"""
DOCUMENTED = f"""
import openai
from datetime import datetime
from base import Agent
class Clerk(Agent):
    \"\"\"{LONG}\"\"\"
    def lead(self): return f'It is {{datetime.now()}}. '
"""


def test_a_docstring_of_its_own_makes_another_prompt(program: Run) -> None:
    below = DOCUMENTED[: DOCUMENTED.index("    def lead")]
    base = OVERRIDDEN.replace("return ''", "return f'It is {datetime.now()}. '")
    assert program({"base.py": base, "clerk.py": below}).codes == ["PL101"]


def test_a_docstring_that_is_copied_is_no_prompt(program: Run) -> None:
    base = f"import openai\nclass Base:\n    'system: {LONG} {{{{today}}}} {LONG}'\n"
    assert program(f"{base}class Prompt:\n    __doc__ = Base.__doc__\n").codes == []


CHAIN = """
class Stage:
    def __init__(self, then=None): self.then = then
    def __call__(self, parts):
        parts = self.add(parts)
        return self.then(parts) if self.then else parts
class Time(Stage):
    def add(self, parts): return [f'It is {datetime.now()}. ', *parts]
class Rules(Stage):
    def add(self, parts): return parts + [RULES]
LINE = Rules(Time())
def ask(q):
    return send(''.join(LINE([])), q)
"""


def test_a_method_is_run_of_each_object_of_a_chain(program: Run) -> None:
    assert (
        program(SEND + CHAIN)
        .texts[-1]
        .startswith("<system>It is {datetime.now() ~clock/request}. You answer")
    )
    # An object that goes on to itself ends.
    assert program(SEND + CHAIN + "LINE.then = LINE\n").codes in ([], ["PL101"])


@pytest.mark.parametrize(
    ("platform", "module", "found"),
    [("discord", "assistant", True), ("discord", "rates", False), ("shop", "assistant", False)],
)
def test_what_answers_people_on_a_platform_is_read(
    program: Run, platform: str, module: str, found: bool
) -> None:
    handler = f"""
        import {platform}
        from {module} import DESK
        @{platform}.event
        def on(message):
            return DESK.answer(message.text, message.author.name)
    """
    files = {f"{module}.py": SENDER + "DESK = Desk()\n", "handlers.py": handler}
    assert ("PL104" in program(files).codes) == found
