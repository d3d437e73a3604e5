"""Calls to models: sections in the order in which the provider reads them, parameters, replicas."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.frontends.python.build import LONG, Program

Run = Callable[..., Program]
TAIL = "<user>{question ~request-input/request}"
SYSTEM = "{'role': 'system', 'content': 'Be brief'}"
USER = "{'role': 'user', 'content': question}"


@pytest.mark.parametrize(
    ("head", "call", "provider", "expected"),
    [
        (
            "from openai import OpenAI",
            f"OpenAI().chat.completions.create(messages=[{SYSTEM}, {USER}])",
            "openai",
            "<system>Be brief" + TAIL,
        ),
        (
            "import openai",
            f"openai.chat.completions.create(messages=[{SYSTEM}, {USER}])",
            "openai",
            "<system>Be brief" + TAIL,
        ),
        (
            "from openai import AsyncOpenAI\nc = AsyncOpenAI()",
            "c.responses.create(input=question, instructions='Be brief')",
            "openai",
            "<system>Be brief" + TAIL,
        ),
        (
            "import anthropic\nc = anthropic.Anthropic()",
            f"c.messages.create(messages=[{USER}], system='Be brief')",
            "anthropic",
            "<system>Be brief" + TAIL,
        ),
        (
            "import ollama",
            f"ollama.chat(model='m', messages=[{SYSTEM}, {USER}])",
            "ollama",
            "<system>Be brief" + TAIL,
        ),
        (
            "import litellm",
            f"litellm.completion('m', messages=[{SYSTEM}, {USER}])",
            "",
            "<system>Be brief" + TAIL,
        ),
        (
            "import boto3\nc = boto3.client('bedrock-runtime')",
            "c.converse(system=[{'text': 'Be brief'}], messages=[{'role': 'user', 'content': [{'text': question}]}])",
            "bedrock",
            "<system>Be brief" + TAIL,
        ),
    ],
)
def test_surfaces(program: Run, head: str, call: str, provider: str, expected: str) -> None:
    found = program(f"{head}\ndef ask(question):\n    return {call}\n")
    assert (found.text, found.request.provider) == (expected, provider)


def test_tools_and_system_come_first_wherever_they_are_written(program: Run) -> None:
    found = program(
        "import anthropic\nc = anthropic.Anthropic()\ndef ask(question, history):\n"
        f"    return c.messages.create(messages=[*history, {USER}], system=[{{'type': 'text', 'text': 'Be brief', "
        "'cache_control': {'type': 'ephemeral', 'ttl': '1h'}}], tools=[{'name': 'look', 'description': 'Looks'}])\n"
    )
    assert (
        found.text
        == '<tools>"name": look"description": Looks<system>Be brief<>{history ~history/session}' + TAIL
    )
    (mark,) = [s.breakpoint for s in found.request.segments if s.breakpoint]
    assert (mark.marker, mark.ttl) == ("cache_control", "1h")


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


def test_the_task_given_to_an_agent_is_a_prompt(program: Callable[..., Program]) -> None:
    text = "from browsing import BrowserAgent\ndef go(item, llm):\n    return BrowserAgent(task=f'Find {item} in three shops. Compare.', llm=llm).run()"
    assert program(text).texts == ["Find {item ~request-input/request} in three shops. Compare."]
    assert program(text.replace("BrowserAgent(", "Timer(")).texts == []


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


@pytest.mark.parametrize(
    ("made", "sent"),
    [
        ("[f'Be brief and kind in all you say. {q}' for q in questions]", True),
        ("[f'Be brief and kind in all you say. {questions[0]}', 'Be quick.']", False),
    ],
)
def test_a_list_of_prompts_that_a_loop_made_is_sent_one_by_one(
    program: Callable[..., object], made: str, sent: bool
) -> None:
    found = program(
        f"from vllm import LLM\nllm = LLM('m')\ndef run(questions):\n    prompts = {made}\n    return llm.generate(prompts)\n"
    )
    one = "<user>Be brief and kind in all you say. {q ~request-input/request}"
    assert (found.text == one) == sent  # type: ignore[attr-defined]


def test_a_mark_that_many_blocks_share_is_shown_at_each(program: Run) -> None:
    text = """
import anthropic
SHORT = {"type": "ephemeral"}
HOUR = {"type": "ephemeral", "ttl": "1h"}
def ask(book, question):
    return anthropic.Anthropic().messages.create(
        model="claude-sonnet-4-5", max_tokens=9,
        system=[{"type": "text", "text": "Be brief", "cache_control": SHORT}],
        messages=[{"role": "user", "content": [{"type": "text", "text": book, "cache_control": HOUR}]}],
    )
"""
    found = program(text)
    [finding] = [one for one in found.findings if one.code == "PL605"]
    assert found.source(finding.primary) == '{"type": "text", "text": "Be brief", "cache_control": SHORT}'
    assert [found.source(step.place) for step in finding.related] == [
        '{"type": "text", "text": book, "cache_control": HOUR}'
    ]


def test_a_turn_that_a_request_shows_is_judged_there(program: Run) -> None:
    """In the text alone the id stands in front of words; in the request all earlier turns stand in front of it."""
    text = """
import uuid
from openai import OpenAI
def preamble(id, notes):
    return f"<session>{id}, {notes}</session> Read what was noted before the conversation began, and go on from it."
class Session:
    def __init__(self):
        self.id, self.turns = str(uuid.uuid4()), []
    def send(self, text, notes):
        if not self.turns:
            text = preamble(self.id, notes) + text
        self.turns.append({"role": "user", "content": text})
        reply = OpenAI().chat.completions.create(model="gpt-4o", messages=self.turns)
        self.turns.append({"role": "assistant", "content": reply.choices[0].message.content})
"""
    assert "PL102" not in program(text).codes


@pytest.mark.parametrize(
    ("size", "grows"),
    [
        ("sum(len(m['content']) for m in messages) // 3", True),
        ("max(2048, sum(len(m['content']) for m in messages))", True),
        ("needed(messages)", True),
        ("litellm.token_counter(model='m', messages=messages)", True),
        ("counted(messages)", True),
        ("8192", False),
        ("limit", False),
        ("sum(chunk.size for chunk in chunks)", False),
    ],
)
@pytest.mark.parametrize(
    "call",
    [
        "ollama.chat(model='m', messages=messages, options={'num_ctx': SIZE})",
        "litellm.completion(model='ollama/m', messages=messages, num_ctx=SIZE)",
        "requests.post(URL, json={'model': 'm', 'messages': messages, 'options': {'num_ctx': SIZE}})",
    ],
)
def test_a_context_that_is_as_long_as_the_conversation(
    program: Run, call: str, size: str, grows: bool
) -> None:
    found = program(f"""
import litellm, ollama, requests
def needed(messages):
    return 1024 + int(sum(len(m['content']) for m in messages) * 1.25)
def counted(messages):
    total = 0
    for message in messages:
        total += len(message['content'])
    return total
def ask(messages, chunks, limit):
    return {call.replace("SIZE", size)}
""")
    assert ("PL702" in found.codes) is grows


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


@pytest.mark.parametrize("value", ["f'Files: {files}'", "'Files: ' + ', '.join(sorted(files))", "'Files.'"])
def test_a_description_that_a_tools_constructor_writes(program: Run, value: str) -> None:
    found = program(f"""
        import os
        from smolagents import Tool
        class BashTool(Tool):
            name = "bash"
            def __init__(self, root):
                files = os.listdir(root)
                self.description = {value} + " Runs a command in the folder and returns what it prints."
        """)
    assert found.codes == (["PL301"] if "sorted" not in value and "{" in value else [])


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


@pytest.mark.parametrize(
    ("made", "provider", "model"),
    [
        ("langchain_openai.ChatOpenAI(model='gpt-4o')", "openai", "gpt-4o"),
        ("langchain_openai.ChatOpenAI(model='m', base_url='http://localhost')", "", ""),
        ("langchain_openai.AzureChatOpenAI(azure_deployment='gpt-4o')", "azure", "gpt-4o"),
        ("langchain_anthropic.ChatAnthropic(model='claude-sonnet-4-5')", "anthropic", "claude-sonnet-4-5"),
        (
            "langchain.chat_models.init_chat_model('anthropic:claude-sonnet-4-5')",
            "anthropic",
            "claude-sonnet-4-5",
        ),
        ("langchain.chat_models.init_chat_model('gpt-4o', model_provider='openai')", "openai", "gpt-4o"),
    ],
)
def test_a_librarys_class_tells_who_serves(program: Run, made: str, provider: str, model: str) -> None:
    found = program(f"""
import langchain.chat_models, langchain_anthropic, langchain_openai
def ask(text):
    return {made}.invoke([("system", "Be kind."), ("user", text)])
""")
    assert (found.request.provider, found.request.model) == (provider, model)


@pytest.mark.parametrize(
    ("sent", "reported"),
    [
        ("[clock, *messages]", True),
        ("[clock] + messages", True),
        ("[*messages, clock]", False),  # at the end: nothing is behind it
    ],
)
def test_a_message_in_front_of_turns_that_a_loop_adds_to(program: Run, sent: str, reported: bool) -> None:
    found = program(f"""
from datetime import datetime
from openai import OpenAI
def run(task):
    messages = [{{"role": "user", "content": task}}]
    while True:
        clock = {{"role": "user", "content": f"It is {{datetime.now()}}"}}
        answer = OpenAI().chat.completions.create(model="m", messages={sent})
        messages.append({{"role": "assistant", "content": answer.choices[0].message.content}})
""")
    assert ("PL101" in found.codes) is reported


@pytest.mark.parametrize(
    ("kept", "made"),
    [
        ("redis.lrange(chat, 0, -1)", "[*[json.loads(x) for x in kept]]"),
        ("store.load(chat)", "[{'role': t['role'], 'content': t['text']} for t in kept]"),
        (
            "db.execute('SELECT role, text FROM turns').fetchall()",
            "[{'role': r, 'content': c} for r, c in kept]",
        ),
    ],
)
def test_turns_that_a_store_has_kept(program: Run, kept: str, made: str) -> None:
    found = program(f"""
import json
from datetime import datetime
from openai import OpenAI
def ask(redis, store, db, chat, text):
    kept = {kept}
    messages = [{{"role": "system", "content": f"Be kind. It is {{datetime.now()}}"}}]
    messages.extend({made})
    messages.append({{"role": "user", "content": text}})
    return OpenAI().chat.completions.create(model="m", messages=messages)
""")
    (finding,) = (one for one in found.findings if one.code == "PL101")
    assert "the whole conversation" in finding.message


@pytest.mark.parametrize(
    ("store", "turns", "reported"),
    [
        ("TURNS = []", "TURNS", True),
        ("STORE = {}", "STORE.setdefault(chat, [])", True),
        ("STORE = defaultdict(list)", "STORE[chat]", True),
        ("SHOTS = [{'role': 'user', 'content': 'Hi?'}]", "list(SHOTS)", False),  # nothing adds to it
    ],
)
def test_turns_that_outlive_the_call(program: Run, store: str, turns: str, reported: bool) -> None:
    found = program(f"""
from collections import defaultdict
from datetime import datetime
from openai import OpenAI
{store}
def ask(chat, text):
    turns = {turns}
    turns.append({{"role": "user", "content": text}})
    system = {{"role": "system", "content": f"Be kind. It is {{datetime.now()}}"}}
    OpenAI().chat.completions.create(model="m", messages=[system, *turns])
def forget():
    TURNS.append(None)
""")
    assert ("PL101" in found.codes) is reported


def test_a_conversation_begun_in_each_round_is_not_that_of_the_last(program: Run) -> None:
    found = program(f"""
from openai import OpenAI
def run(docs, questions):
    for doc in docs:
        messages = []
        messages.append({{"role": "user", "content": doc}})
        for q in questions:
            sent = [{{"role": "system", "content": "{LONG}"}}, *messages, {{"role": "user", "content": q}}]
            OpenAI().chat.completions.create(model="m", messages=sent)
""")
    assert found.codes == []


@pytest.mark.parametrize(
    ("key", "reported"), [("request_id", True), ("conversation_id", False), ("tenant", False)]
)
def test_a_cache_key_that_is_told_by_its_name(program: Run, key: str, reported: bool) -> None:
    found = program(f"""
from openai import OpenAI
def ask({key}, text):
    return OpenAI().responses.create(model="gpt-5", instructions="{LONG}", input=text, prompt_cache_key={key})
""")
    assert ("PL609" in found.codes) is reported


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


def test_a_template_that_refines_is_no_part_of_the_question(program: Run) -> None:
    found = program("""
        from llama_index.core import PromptTemplate
        from llama_index.core.response_synthesizers import get_response_synthesizer
        ANSWER = PromptTemplate("Give torque in newton metres, and name the series for every value. Question: {query_str}")
        REFINE = PromptTemplate("Improve the answer with further pages, and drop nothing that is right. Pages: {context_msg}")
        def engine():
            return get_response_synthesizer(text_qa_template=ANSWER, refine_template=REFINE)
        """)
    assert found.codes == []
    assert found.text.endswith("Question: {query_str ~request-input/request}")


ROUNDS = """
    from datetime import datetime
    from openai import OpenAI
    def main():
        turns = []
        while True:
            text = input()
            turns.append(text)
            OpenAI().chat.completions.create(model='m', messages=[
                {'role': 'system', 'content': f'Be brief, and polite. It is {datetime.now()}'}, LAST])
"""


@pytest.mark.parametrize(
    ("last", "codes"),
    [
        ("{'role': 'user', 'content': text}", []),  # nothing of earlier rounds is sent again
        ("*turns", ["PL101"]),
        ("{'role': 'user', 'content': str(turns)}", ["PL101"]),
    ],
)
def test_a_request_of_what_was_just_read_holds_no_conversation(
    program: Run, last: str, codes: list[str]
) -> None:
    assert [code for code in program(ROUNDS.replace("LAST", last)).codes if code == "PL101"] == codes
