"""Values that are lost on long ways: behind a used-up budget, in windows of a conversation, in own senders."""

from __future__ import annotations

from collections.abc import Callable
from time import process_time

import pytest

from tests.frontends.python.build import LONG, Program

Run = Callable[..., Program]
HEAD = f"from datetime import date\nRULES = {LONG!r}\n"


def test_a_short_call_is_followed_though_the_budget_is_used_up(program: Run) -> None:
    """Forty calls of sixty statements each are more than one entry may spend on what it calls."""
    body = "\n".join(f"    out.append(f'line {{x}} number {n}')" for n in range(60))
    work = f"def work(x):\n    out = []\n{body}\n    return '\\n'.join(out)\n"
    calls = "\n".join(f"    text{n} = work(q + '{n}')\n    keep_prompt(text{n})" for n in range(40))
    text = (
        f"{HEAD}PROMPT = 'Today is {{day}}. ' + RULES\n{work}"
        "def day():\n    return date.today().strftime('%A')\n"
        f"def ask(q):\n{calls}\n    prompt = PROMPT.format(day=day())\n    return prompt\n"
    )
    found = program(text)
    assert any(not one.complete for one in found.layouts)
    assert "PL101" in found.codes


def test_a_long_text_that_says_who_the_model_is_opens_the_conversation(program: Run) -> None:
    """It is made again in each turn, and is no turn itself."""
    text = f"""
ROLE = "You are a pilot. " + {LONG!r}
TASK = "Look at the chart. " + {LONG!r}
def run(llm, turns):
    for step in range(9):
        prompt = {{}}.replace('@', str(step)) + ' You have used @ of 9 turns. '.replace('@', str(step)) + RULES
        turns.append(llm.chat(prompt))
RULES = {LONG!r}
"""
    assert "PL106" in program(text.replace("{}", "ROLE")).codes
    assert "PL106" not in program(text.replace("{}", "TASK")).codes


def test_messages_are_sent_under_any_keyword(program: Run) -> None:
    text = """
from langchain_core.messages import HumanMessage, SystemMessage
def ask(relay, q):
    messages = [SystemMessage(content=f'Answer in verse. Today is {date.today()}.'), HumanMessage(content=RULES + q)]
    return relay.ask(given=messages)
"""
    assert "PL101" in program(HEAD + text).codes


def test_a_window_of_the_conversation_within_a_text(program: Run) -> None:
    """It stands at the field that it fills, though there is a sentence for none."""
    text = """
PROMPT = 'Choose a port.\\n{chat_history}\\n' + RULES
def choose(history):
    turns = [turn.message for turn in history]
    turns = turns[-5:]
    earlier = '\\n'.join(turns) if turns else 'This is the first message of the conversation.'
    prompt = PROMPT.format(chat_history=earlier)
    return prompt
"""
    found = program(HEAD + text)
    (one,) = [f for f in found.findings if f.code == "PL111"]
    assert found.source(one.primary) == "{chat_history}"


def test_a_placeholder_that_is_replaced_has_a_name(program: Run) -> None:
    """What it says counts where the value's own name does not."""
    text = (
        "def ask(it):\n    prompt = ('You do the task TASK_DESCRIPTION now. ' + RULES){}\n    return prompt\n"
    )
    for placeholder, field in (("TASK_DESCRIPTION", "task_description"), ("now. ", "")):
        made = program(HEAD + text.replace("{}", f".replace({placeholder!r}, it)"))
        assert {s.origin.field for one in made.layouts for s in one.segments if s.is_hole} == {field}


def test_what_a_constructor_sets_last_is_known_far_from_where_it_is_called(program: Run) -> None:
    choice = "\n".join(f"        elif kind == 'k{n}':\n            self.engine = 'e{n}'" for n in range(12))
    text = f"""
class Talk:
    def __init__(self, kind):
        if kind == 'k':
            self.engine = 'e'
{choice}
        else:
            raise ValueError(kind)
        self.messages = [{{'role': 'system', 'content': RULES}}]
class Base:
    def make(self, kind):
        return Talk(kind)
class Worker(Base):
    def __init__(self, kind):
        self.kind = kind
        self.reset()
    def reset(self):
        self.talk = self.make(self.kind)
    def forget(self):
        self.talk.messages.pop(1)
"""
    assert [seen.what for seen in program(HEAD + text).observations] == ["history-cut"]


@pytest.mark.parametrize(("name", "codes"), [("system_prompt", {"PL107"}), ("opening", set())])
def test_what_builds_a_prompt_is_run_to_its_end_for_who_has_no_steps_left(
    program: Run, name: str, codes: set[str]
) -> None:
    """Twenty calls of sixty statements are more than a call may spend; a function of another name is cut there."""
    body = "\n".join(f"        out.append(f'line {{key}} number {n}')" for n in range(60))
    lines = "\n".join(f"        parts.append(self.kept(key + '{n}'))" for n in range(20))
    found = program(f"""
class Chat:
    def kept(self, key):
        out = []
{body}
        return ' '.join(out)
    def {name}(self, key):
        parts = []
{lines}
        parts.append(f'Known: {{self.store.recall(key)}}')
        return '\\n'.join(parts)
    def ask(self, key):
        return [{{'role': 'system', 'content': self.{name}(key) + {LONG!r}}}, {{'role': 'user', 'content': 'Go on'}}]
""")
    assert {code for code in found.codes if code == "PL107"} == codes


def test_only_a_few_prompts_are_run_to_their_end_for_one_entry(program: Run) -> None:
    def seconds(calls: int) -> float:
        body = "\n".join(f"    out.append(f'line {{key}} number {n}')" for n in range(600))
        work = f"def work(key):\n    out = []\n{body}\n    return ' '.join(out)\n"
        long = f"def build_prompt(key):\n    out = [work(key), work(key + 'a')]\n{body}\n    return ' '.join(out)\n"
        asked = "\n".join(f"    keep(build_prompt(question + '{n}'))" for n in range(calls))
        begun = process_time()
        program(f"{work}{long}def ask(question):\n{asked}\n")
        return process_time() - begun

    assert seconds(160) < 2.5 * seconds(40) + 0.2


@pytest.mark.parametrize(("given", "found"), [("set(names)", False), ("', '.join(set(names))", True)])
def test_a_set_given_to_what_is_not_run_may_only_be_looked_up_in(
    program: Run, given: str, found: bool
) -> None:
    long = "\n".join(f"    keep(names, {n})" for n in range(1500))
    result = program(f"""
from openai import OpenAI
def about(names):
{long}
    return chosen(names)
def chosen(names):
{long}
    return known(names)
def ask(names):
    made = about({given})
    OpenAI().chat.completions.create(messages=[{{"role": "system", "content": f"{{made}} {LONG}"}}])
""")
    assert any("~unordered" in text for text in result.texts) is found


def test_what_an_object_keeps_is_there_however_far_away(program: Run) -> None:
    result = program(f"""
from pathlib import Path
class Desk:
    def __init__(self, root):
        self.root, self.known = Path(root), None
    def scan(self):
        found = {{}}
        for scope, folder in [("repo", self.root / "skills"), ("user", Path.home()), ("all", Path("/etc/skills"))]:
            for path in folder.rglob("SKILL.md"):
                skill = self.parsed(path)
                found[skill["name"]] = {{"name": skill["name"], "path": str(path), "scope": scope}}
        return found
    def skills(self):
        if self.known is None:
            self.known = self.scan()
        return self.known
    def shown(self):
        lines = ""
        for skill in self.skills().values():
            lines += f"- {{skill['name']}}"
        return lines
    def system_prompt(self):
        return f"Use these. {{self.shown()}} {LONG}"
""")
    assert any("~unordered/machine" in text for text in result.texts)
