"""Parameters, models and tools that a program chooses for each request."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.frontends.python.build import LONG, Program

Run = Callable[..., Program]


@pytest.mark.parametrize(
    "value",
    [
        "'auto' if turn == 0 else 'none'",
        "{'type': 'auto'} if turn == 0 else {'type': 'none'}",
        "{'type': 'auto' if turn == 0 else 'none'}",
    ],
)
def test_a_parameter_that_flips_with_the_turn(program: Run, value: str) -> None:
    found = program(
        "from openai import OpenAI\ndef ask(messages, turn):\n"
        f"    return OpenAI().chat.completions.create(messages=messages, tool_choice={value})\n"
    )
    assert found.seen == ["parameter-flips"]


def test_a_parameter_chosen_once_is_silent(program: Run) -> None:
    found = program(
        "from openai import OpenAI\ndef ask(messages, strict):\n"
        "    return OpenAI().chat.completions.create(messages=messages, tool_choice='auto' if strict else 'none')\n"
    )
    assert found.seen == []


def test_a_replica_drawn_for_an_object_is_its_own(program: Run) -> None:
    found = program("""
        import random
        from openai import OpenAI
        class Model:
            def __init__(self, urls):
                self.client = OpenAI(base_url=random.choice(urls))
            def ask(self, messages):
                return self.client.chat.completions.create(messages=messages)
        """)
    assert "PL701" not in found.codes


def test_a_replica_drawn_for_each_call(program: Run) -> None:
    found = program(
        "import random\nfrom openai import OpenAI\nclients = [OpenAI(base_url='http://a'), OpenAI(base_url='http://b')]\n"
        "def ask(messages):\n    return random.choice(clients).chat.completions.create(messages=messages)\n"
    )
    assert found.codes == ["PL701"]


def test_tools_that_grow_while_the_conversation_goes_on(program: Run) -> None:
    found = program(
        "from openai import OpenAI\ndef ask(messages, found):\n    tools = [{'name': 'look'}]\n    while True:\n"
        "        OpenAI().chat.completions.create(messages=messages, tools=tools)\n        tools.append({'name': 'new'})\n"
    )
    assert "tools-changed" in found.seen


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("{} if last else {'tools': tools}", ["tools-changed"]),
        ("{'tools': tools} if enabled else {}", []),
        ("{'thinking': {'type': 'enabled'}} if last else {}", ["parameter-flips"]),
        ("{'thinking': {'type': 'enabled'}} if enabled else {}", []),
        ("{'tools': tools} if tools else {}", []),
    ],
)
def test_arguments_that_a_condition_adds(program: Run, given: str, expected: list[str]) -> None:
    found = program(
        "import anthropic\ndef run(messages, tools, enabled, limit):\n    for step in range(limit):\n"
        f"        last = step == limit - 1\n        more = {given}\n"
        "        anthropic.Anthropic().messages.create(model='m', messages=messages, **more)\n"
    )
    assert found.seen == expected


@pytest.mark.parametrize(
    ("condition", "changes"),
    [("len(text) > 400", True), ("'prove' in text", True), ("text", False), ("self.thorough", False)],
)
def test_a_setting_that_only_some_questions_are_given(program: Run, condition: str, changes: bool) -> None:
    found = program(f"""
        import anthropic
        class Chat:
            def __init__(self, thorough):
                self.thorough, self.messages = thorough, []
            def say(self, text):
                self.messages.append({{"role": "user", "content": text}})
                more = {{}}
                if {condition}:
                    more["thinking"] = {{"type": "enabled", "budget_tokens": 4000}}
                return anthropic.Anthropic().messages.create(model="m", messages=self.messages, **more)
        """)
    assert found.codes == (["PL702"] if changes else [])


@pytest.mark.parametrize(
    ("method", "tools", "changes"),
    [
        ("self.editing = True", "[READ, WRITE] if self.editing else [READ]", True),
        ("self.editing = not self.editing", "[t for t in (READ, WRITE) if t is READ or self.editing]", True),
        ("self.editing = True", "[READ, WRITE]", False),
        ("self.editing = None", "[READ, WRITE] if self.editing else [READ]", False),
        ("pass", "[READ, WRITE] if self.editing else [READ]", False),
    ],
)
def test_tools_by_a_switch_of_what_keeps_the_conversation(
    program: Run, method: str, tools: str, changes: bool
) -> None:
    found = program(f"""
        import anthropic
        READ, WRITE = {{"name": "read", "input_schema": {{}}}}, {{"name": "write", "input_schema": {{}}}}
        class Chat:
            def __init__(self, editing):
                self.editing, self.messages = editing, []
            def allow(self):
                {method}
            def say(self, text):
                self.messages.append({{"role": "user", "content": text}})
                tools = {tools}
                return anthropic.Anthropic().messages.create(model="m", messages=self.messages, tools=tools)
        """)
    assert found.seen == (["tools-changed"] if changes else [])


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("'large' if turn == 0 else 'small'", ["parameter-flips"]),
        ("'large' if enabled else 'small'", []),
        ("'large' if attempt == 0 else 'small'", []),  # where the first has failed
    ],
)
def test_another_model_within_a_conversation(program: Run, model: str, expected: list[str]) -> None:
    found = program(
        "from openai import OpenAI\ndef run(messages, enabled, attempt):\n    for turn in range(9):\n"
        f"        OpenAI().chat.completions.create(model={model}, messages=messages)\n"
    )
    assert found.seen == expected


def test_the_conditions_that_choose_a_model(program: Run) -> None:
    found = program(
        """
        from openai import OpenAI
        def pick(text):
            if len(text) > 400:
                return 'large'
            return 'small'
        class Chat:
            def __init__(self):
                self.messages = [{'role': 'system', 'content': 'Be brief'}]
            def ask(self, text):
                self.messages.append({'role': 'user', 'content': text})
                return OpenAI().chat.completions.create(model=pick(text), messages=self.messages)
        """
    )
    [model] = found.request.parameters
    assert (model.choices, [g.expression for g in model.guards]) == (("large", "small"), ["len(text) > 400"])
    assert "PL702" in found.codes


EFFORTS = """
    from openai import OpenAI
    client = OpenAI()
    def effort_for(text):
        if len(text) < 40:
            return "low"
        return "high"
    class Thread:
        def __init__(self):
            self.items = []
            self.effort = "high"
        def submit(self, question):
            self.items.append({"role": "user", "content": question})
            out = client.responses.create(
                model="gpt-5.1", instructions="Be brief, and name the port.", input=self.items, reasoning=REASONING
            )
            self.items += out.output
"""


@pytest.mark.parametrize(
    ("reasoning", "expected"),
    [
        ("{'effort': effort_for(question)}", ["PL702"]),
        ("{'effort': 'high' if 'why' in question else 'low', 'summary': 'auto'}", ["PL702"]),
        ("{'effort': self.effort}", []),
        ("{'effort': self.effort} if self.effort else None", []),
        ("{'effort': effort_for(self.effort)}", []),
    ],
)
def test_an_entry_of_a_parameter_that_the_question_chooses(
    program: Run, reasoning: str, expected: list[str]
) -> None:
    found = program(EFFORTS.replace("REASONING", reasoning))
    assert found.codes == expected


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("Config(**options)", ["PL101"]),
        ("Config('m', **options)", ["PL101"]),
        ("Config(model='m')", []),
        ("Config(options)", []),
    ],
)
def test_a_switch_that_a_mapping_of_options_may_set(program: Run, call: str, expected: list[str]) -> None:
    found = program(f"""
        from dataclasses import dataclass
        from datetime import datetime
        from openai import OpenAI
        @dataclass
        class Config:
            model: str
            with_time: bool = False
        def ask(options, question):
            config = {call}
            system = f"It is {{datetime.now()}}. " if config.with_time else ""
            system += "{LONG}"
            return OpenAI().chat.completions.create(
                messages=[{{"role": "system", "content": system}}, {{"role": "user", "content": question}}]
            )
        """)
    assert found.codes == expected


MEASURED = """
from openai import OpenAI
client = OpenAI()
HARD = {"why", "prove"}
class Scale:
    def of(self, text):
        words = set(text.lower().split())
        size = len(text)
        if BRANCH:
            return "high"
        return "low"
class Chat:
    def __init__(self):
        self.messages, self.scale = [], Scale()
    def ask(self, question, mode):
        self.messages.append({"role": "user", "content": question})
        out = client.chat.completions.create(
            model="gpt-5", messages=self.messages, reasoning_effort=self.scale.of(question))
        self.messages.append({"role": "assistant", "content": out.choices[0].message.content})
"""


@pytest.mark.parametrize(
    ("branch", "expected"),
    [
        ("size < 400", ["PL702"]),
        ("400 <= size", ["PL702"]),
        ("words & HARD", ["PL702"]),
        ("self.wide", []),
    ],
)
def test_a_parameter_that_a_measure_of_the_question_chooses(
    program: Run, branch: str, expected: list[str]
) -> None:
    assert program(MEASURED.replace("BRANCH", branch)).codes == expected


def test_a_parameter_of_a_spread_body_is_told_where_it_is_made(program: Run) -> None:
    found = program("""
        import anthropic
        client = anthropic.Anthropic()
        class Chat:
            def __init__(self):
                self.messages = []
            def body(self, question):
                return {"model": "claude-sonnet-4-5", "max_tokens": 9000, "messages": self.messages,
                        "thinking": {"type": "enabled", "budget_tokens": 1024 if len(question) < 99 else 8192}}
            def ask(self, question):
                self.messages.append({"role": "user", "content": question})
                out = client.messages.create(**self.body(question))
                self.messages.append({"role": "assistant", "content": out.content})
        """)
    [finding] = [one for one in found.findings if one.code == "PL702"]
    assert found.source(finding.primary).startswith('{"type": "enabled"')


@pytest.mark.parametrize(
    ("chosen", "told"),
    [
        ("text.rstrip().endswith('?')", True),
        ("'why' in words", True),
        ("self.planning", False),
    ],
)
def test_tools_that_the_question_chooses(program: Run, chosen: str, told: bool) -> None:
    found = program(f"""
from openai import OpenAI
client = OpenAI()
class Shop:
    def __init__(self, tools):
        self.tools, self.turns, self.planning = tools, [], False
    def for_turn(self, text):
        words = text.lower().split()
        if {chosen}:
            return [t for t in self.tools if t["reads"]]
        return self.tools
    def say(self, text):
        self.turns.append({{"role": "user", "content": text}})
        out = client.chat.completions.create(model="m", messages=self.turns, tools=self.for_turn(text))
        self.turns.append(out.choices[0].message)
""")
    assert ("PL303" in found.codes) is told


def test_tools_that_a_search_for_the_question_chooses(program: Run) -> None:
    found = program("""
        from openai import OpenAI
        client = OpenAI()
        def fitting(tools, question, index):
            names = {hit.name for hit in index.nearby(question)}
            return [tool for tool in tools if tool["name"] in names]
        def say(turns, tools, index, question):
            messages = [*turns, {"role": "user", "content": question}]
            return client.chat.completions.create(model="m", messages=messages, tools=fitting(tools, question, index))
        """)
    assert found.codes == ["PL303"]
