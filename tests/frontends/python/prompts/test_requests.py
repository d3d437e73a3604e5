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


def test_the_task_given_to_an_agent_is_a_prompt(program: Callable[..., Program]) -> None:
    text = "from browsing import BrowserAgent\ndef go(item, llm):\n    return BrowserAgent(task=f'Find {item} in three shops. Compare.', llm=llm).run()"
    assert program(text).texts == ["Find {item ~request-input/request} in three shops. Compare."]
    assert program(text.replace("BrowserAgent(", "Timer(")).texts == []


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
