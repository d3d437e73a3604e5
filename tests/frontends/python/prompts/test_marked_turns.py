"""Marks of turns that are kept, and what a conversation's own counter switches."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.frontends.python.build import LONG, Program

Run = Callable[..., Program]

MARKED = (
    '{"role": "user", "content": [{"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}]}'
)
PLAIN = '{"role": "user", "content": text}'
KEPT = """
import anthropic
client = anthropic.Anthropic()
class Chat:
    def __init__(self):
        self.messages = []
    def say(self, text):
        {before}
        answer = client.messages.create(model="claude-sonnet-4-5", max_tokens=9, system="{rules}", messages={sent})
        {after}
"""


@pytest.mark.parametrize(
    ("before", "sent", "after", "reported"),
    [
        (f"self.messages.append({MARKED})", "self.messages", "pass", True),
        ("pass", f"[*self.messages, {MARKED}]", f"self.messages.append({PLAIN})", False),
        (
            f"self.messages.append({MARKED})",
            "self.messages",
            "self.messages[-1]['content'][0].pop('cache_control')",
            False,
        ),
        (f"self.messages.append({MARKED})", "self.messages", "self.messages[-1]['content'] = text", False),
        (
            f"self.messages.append({PLAIN}); self.messages[-1]['content'] = {MARKED}['content']",
            "self.messages",
            "if self.messages[-1]['content'] == text: return",
            True,
        ),
    ],
)
def test_turns_that_keep_their_marks(
    program: Run, before: str, sent: str, after: str, reported: bool
) -> None:
    found = program(KEPT.format(before=before, sent=sent, after=after, rules=LONG))
    assert ("PL602" in found.codes) is reported


LESS = """
def within(request, most=4):
    marked = [b for turn in request["messages"] for b in turn["content"] if "cache_control" in b]
    for block in marked[:-most]:
        {taken}
    return request
class Limit:
    def hold(self, request):
        return within(request)
"""


@pytest.mark.parametrize(
    ("imported", "sent"),
    [
        ("from less import within", "within({'messages': self.messages})['messages']"),
        ("import less", "less.within({'messages': self.messages})['messages']"),
        ("from less import Limit", "Limit().hold({'messages': self.messages})['messages']"),
    ],
)
@pytest.mark.parametrize(
    ("taken", "reported"),
    [("del block['cache_control']", False), ("block.pop('cache_control')", False), ("print(block)", True)],
)
def test_another_file_takes_the_oldest_marks_off(
    program: Run, imported: str, sent: str, taken: str, reported: bool
) -> None:
    before = f"self.messages.append({MARKED}); request = {sent}"
    text = KEPT.format(before=before, sent="self.messages", after="pass", rules=LONG)
    found = program({"app.py": imported + text, "less.py": LESS.format(taken=taken)})
    assert ("PL602" in found.codes) is reported


LOOP = """
import anthropic
client = anthropic.Anthropic()
def run(text, tools):
    messages = [{first}]
    for i in range(9):
        {options}
        answer = client.messages.create(model={model}, max_tokens=9, system="{rules}", messages=messages, **options)
        messages.append({turn})
"""


@pytest.mark.parametrize(
    ("turn", "model", "options", "codes"),
    [
        (MARKED, "'claude-sonnet-4-5'", "options = {}", ["PL602"]),
        (PLAIN, "'claude-sonnet-4-5'", "options = {}", []),
        (PLAIN, "'claude-haiku-4-5' if i < 3 else 'claude-sonnet-4-5'", "options = {}", ["PL702"]),
        (
            PLAIN,
            "'claude-sonnet-4-5'",
            "options = {}\n        if i == 0: options['thinking'] = {'type': 'adaptive'}",
            ["PL702"],
        ),
        (PLAIN, "'claude-sonnet-4-5'", "options = {'thinking': {'type': 'adaptive'}}", []),
    ],
)
def test_what_a_loop_over_turns_sends(
    program: Run, turn: str, model: str, options: str, codes: list[str]
) -> None:
    found = program(LOOP.format(first=MARKED, turn=turn, model=model, options=options, rules=LONG))
    assert [code for code in found.codes if code in ("PL602", "PL702")] == codes


@pytest.mark.parametrize(
    ("messages", "marks", "reported"),
    [
        ('[{"role": "user", "content": mail}]', 'cache_control={"type": "ephemeral"}, ', True),
        ("messages", 'cache_control={"type": "ephemeral"}, ', False),  # the next turn reads it
        ('[{"role": "user", "content": mail}]', "", False),
    ],
)
def test_an_automatic_mark_stands_on_the_last_block(
    program: Run, messages: str, marks: str, reported: bool
) -> None:
    found = program(f"""
import anthropic
def sort(mail, messages):
    return anthropic.Anthropic().messages.create(
        model="claude-sonnet-4-5", max_tokens=9, {marks}system="{LONG}", messages={messages})
""")
    assert ("PL601" in found.codes) is reported


def test_every_tool_gets_a_mark(program: Run) -> None:
    found = program("""
import anthropic
def ask(tools, messages):
    marked = [{**tool, "cache_control": {"type": "ephemeral"}} for tool in tools]
    return anthropic.Anthropic().messages.create(
        model="claude-sonnet-4-5", max_tokens=9, tools=marked, messages=messages)
""")
    (finding,) = (one for one in found.findings if one.code == "PL602")
    assert "every element of `tools` gets a mark" in finding.message


@pytest.mark.parametrize(
    ("picked", "reported"),
    [("self.made % len(self.clients)", True), ("hash(user) % len(self.clients)", False)],
)
def test_a_client_that_is_picked_in_turn(program: Run, picked: str, reported: bool) -> None:
    found = program(f"""
from openai import OpenAI
class Pool:
    def __init__(self, urls):
        self.clients = [OpenAI(base_url=url) for url in urls]
        self.made = 0
    def pick(self, user):
        self.made += 1
        return self.clients[{picked}]
    def ask(self, user, history):
        return self.pick(user).chat.completions.create(model="m", messages=[*history])
""")
    assert ("PL701" in found.codes) is reported


@pytest.mark.parametrize("times", ["'{0} ' * 3", "('{0}' + ' ') * 3", "3 * '{0} '"])
def test_a_text_is_written_several_times(program: Run, times: str) -> None:
    found = program(f"""
from openai import OpenAI
RULES = {times.format("Stay calm.")}
def ask():
    return OpenAI().responses.create(model="m", input=RULES)
""")
    assert found.text == "<user>" + "Stay calm. " * 3


@pytest.mark.parametrize(
    ("system", "reported"), [("MARKED", False), ("[{'type': 'text', 'text': RULES}]", True)]
)
def test_a_marked_question_behind_a_mark_that_is_read(program: Run, system: str, reported: bool) -> None:
    found = program(f"""
import anthropic
RULES = "{LONG} " * 40
MARKED = [{{"type": "text", "text": RULES, "cache_control": {{"type": "ephemeral"}}}}]
def ask(question):
    block = {{"type": "text", "text": question, "cache_control": {{"type": "ephemeral"}}}}
    return anthropic.Anthropic().messages.create(
        model="claude-sonnet-4-5", max_tokens=9, system={system}, messages=[{{"role": "user", "content": [block]}}])
""")
    assert ("PL601" in found.codes) is reported


def test_shuffled_tools_have_no_order(program: Run) -> None:
    found = program("""
import random
from openai import OpenAI
READ = {"type": "function", "function": {"name": "read", "description": "Reads."}}
RUN = {"type": "function", "function": {"name": "run", "description": "Runs."}}
def ask(q):
    tools = [READ, RUN]
    random.shuffle(tools)
    return OpenAI().chat.completions.create(model="m", tools=tools, messages=[{"role": "user", "content": q}])
""")
    assert "PL301" in found.codes
