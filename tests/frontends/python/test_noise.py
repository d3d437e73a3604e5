"""What looks like a fault and is none: tool calls, texts for people, turns shaped for a provider."""

from __future__ import annotations

import ast
from collections.abc import Callable

import pytest

from promptlint.frontends.python.evaluate.audience import only_shown, starts_as_code
from promptlint.frontends.python.readings.turns import follows_from_turn, is_added, is_built_here, stays
from tests.frontends.python.build import LONG, Program

Run = Callable[..., Program]


@pytest.mark.parametrize(
    ("entries", "reported"),
    [
        ("'name': 'move', 'description': f'Moves robot {uuid.uuid4()}. " + LONG + "'", True),
        ("'name': f'{uuid.uuid4()} " + LONG + "', 'arguments': text", False),
    ],
)
def test_a_tool_call_is_no_tool(program: Run, entries: str, reported: bool) -> None:
    found = program(
        f"import uuid\nfrom openai import OpenAI\ndef calls(text):\n    return [{{'type': 'function', 'function': {{{entries}}}}}]\n"
    )
    assert ("PL302" in found.codes) is reported


@pytest.mark.parametrize(
    ("call", "reported"),
    [
        ("FunctionTool(run, description=text)", True),
        ("register(name='move', parameters={}, description=text)", True),
        ("Task(description=text)", False),
        ("command(description=text)", False),
    ],
)
def test_a_description_is_that_of_a_tool_only_where_one_is_made(
    program: Run, call: str, reported: bool
) -> None:
    found = program(
        "import uuid\nfrom toolkit import FunctionTool, Task, command, register\ndef make(run):\n"
        f"    text = f'Moves robot {{uuid.uuid4()}}. {LONG}'\n    return {call}\n"
    )
    assert ("PL302" in found.codes) is reported


@pytest.mark.parametrize(
    "chosen", ["NAMES if names is None else names", "names or NAMES", "NAMES", "{n: 1 for n in NAMES}"]
)
def test_sorting_ends_the_disorder_of_each_choice(system: Callable[..., str], chosen: str) -> None:
    shown = system(
        "', '.join(sorted(" + chosen + "))", head="NAMES = set(load())", arguments="question, names=None"
    )
    assert "unordered" not in shown


@pytest.mark.parametrize(
    ("made", "expression"),
    [
        ("frozenset({'a', 'b'})", "NAMES"),
        ("frozenset({'a', 'b'})", "NAMES if names is None else names"),
        ("set(frozenset({'b', 'a'}))", "[*NAMES, *names]"),
        ("{'a'}", "list(NAMES) + names"),
    ],
)
def test_sorting_ends_the_disorder_of_known_sets(
    system: Callable[..., str], made: str, expression: str
) -> None:
    shown = system(
        "', '.join(sorted(" + expression + "))", head=f"NAMES = {made}", arguments="question, names=None"
    )
    assert "unordered" not in shown


@pytest.mark.parametrize(
    ("path", "kind"), [("os.path.relpath(os.getcwd(), root)", ""), ("os.getcwd()", "environment")]
)
def test_relative_paths_are_equal_on_all_machines(system: Callable[..., str], path: str, kind: str) -> None:
    shown = system("f'Work in {" + path + "}.'", head="import os\nroot = load()")
    assert ("~environment" in shown) is bool(kind)


@pytest.mark.parametrize(
    ("use", "shown"),
    [
        ("input(text)", True),
        ("logger.info(f'asked: {text}')", True),
        ("return len(enc.encode(text))", True),
        ("return client.images.generate(model='m', prompt=text)", True),
        ("return describe_image(image, text)", False),
        ("return count([*text]) < LIMIT", True),
        ("print(text); model.ask(text)", False),
        ("return text", False),
        ("pass", False),
    ],
)
def test_only_shown(use: str, shown: bool) -> None:
    assert only_shown("text", ast.parse(f"def f(text):\n    {use}").body[0]) is shown


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("\nfrom typing import List\nimport os\n", True),
        ("<!DOCTYPE html><p>Hello", True),
        ("SELECT name FROM ships", True),
        ('\n  <div class="card" style="color: red">\n', True),
        ("<role>You are a pirate.</role>", False),
        ("From now on you are a pirate. import nothing", False),
        ("Select the best answer.", False),
        ("Import the data, then say so.", False),
    ],
)
def test_code(text: str, code: bool) -> None:
    assert starts_as_code(text) is code


@pytest.mark.parametrize(
    ("cls", "reported"), [("SentenceChecker", False), ("SentenceTool", True), ("Sentences(BaseTool)", True)]
)
def test_a_description_of_something_else_than_a_tool(program: Run, cls: str, reported: bool) -> None:
    found = program(f"""
        import random
        from openai import OpenAI
        from langchain.tools import BaseTool
        class {cls}:
            def build_description(self):
                return f"At least {{random.randint(1, 20)}} sentences. {LONG[:120]}"
    """)
    assert ("PL302" in found.codes) is reported


@pytest.mark.parametrize(("keyword", "reported"), [("template", False), ("prompt", True)])
def test_the_template_of_a_command(program: Run, keyword: str, reported: bool) -> None:
    found = program(f"""
        import os
        def launch(task):
            line = f"submit --folder {{os.getcwd()}} {LONG}"
            return task.get_command({keyword}=line)
    """)
    assert ("PL105" in found.codes) is reported


def test_a_mail_is_no_prompt(program: Run) -> None:
    mail = "<p>Hello {{ user_name }}, your code is {{ session_id }}.</p>" + LONG
    loader = (
        "from jinja2 import Environment, FileSystemLoader\nenv = Environment(loader=FileSystemLoader('t'))\n"
    )
    code = loader + "def send(a, b):\n    return env.get_template('{}').render(user_name=a, session_id=b)\n"
    assert not program({"app.py": code.replace("{}", "mail.html"), "t/mail.html": mail}).findings
    assert program({"app.py": code.replace("{}", "prompt.md"), "t/prompt.md": mail}).findings


@pytest.mark.parametrize(
    ("path", "reported"),
    [
        ("emails/invite.txt", False),
        ("invite_email.md", False),
        ("emails/prompt.txt", True),
        ("invite.txt", True),
    ],
)
def test_a_mail_speaks_to_people(program: Run, path: str, reported: bool) -> None:
    mail = "Hello {{ user_name }}. Use the following link: {{ link }}. Write a short answer. " + LONG
    code = "from flask import render_template\ndef send(a, b):\n    return render_template('PATH', user_name=a, link=b)\n"
    found = program({"app.py": code.replace("PATH", path), f"templates/{path}": mail})
    assert bool(found.findings) is reported


@pytest.mark.parametrize(
    ("use", "reported"),
    [
        ("raise ValueError(text)", False),
        ("raise ValueError(str(text))", False),
        ("path.write_text(text)", False),
        ("path.write_text(text); return llm.ask(text)", True),
        ("return llm.ask(text)", True),
    ],
)
def test_the_text_of_an_exception_or_a_file_is_no_prompt(program: Run, use: str, reported: bool) -> None:
    found = program(f"""
        from textwrap import dedent
        def check(llm, why):
            text = dedent(f'''
                This engine cannot be used here. What it says of the reason, in its own words:
                {{why}}
            ''').strip()
            {use}
    """)
    assert ("PL501" in found.codes) is reported


LOOP = """
def shape(messages, limit, body, short):
    count = 0
    model = body.get('model')
    size = len(body['messages'])
    last = len(messages) - 4
    for {target} in {turns}:
        count += 1
        text = msg['content']
        if {test}:
            msg['content'] = {value}
"""


@pytest.mark.parametrize(
    ("target", "turns", "test", "value", "alone"),
    [
        ("msg", "messages", "isinstance(text, str)", "[text]", True),
        ("msg", "messages", "msg['role'] == 'tool' and len(text) > limit", "text[:limit]", True),
        ("i, msg", "enumerate(messages)", "text", "text.strip()", True),
        ("i, msg", "enumerate(messages)", "i < 5", "''", True),  # the fifth is the fifth in every request
        ("i, msg", "enumerate(messages)", "i > 0", "f'({i}) {text}'", True),
        ("i, msg", "enumerate(messages)", "i < limit", "''", False),
        ("i, msg", "enumerate(messages)", "i < last", "''", False),
        ("i, msg", "enumerate(messages)", "text", "short[i]", False),
        ("i, msg", "enumerate(messages, limit)", "i > 0", "''", False),
        ("msg", "body.get('messages', [])", "model == 'm'", "[text]", True),
        ("msg", "body['messages']", "size < limit", "''", False),
        ("msg", "messages", "count < last", "''", False),
        ("msg", "messages", "msg is not messages[-1]", "''", False),
        ("msg", "messages", "text", "text + str(count)", False),
        ("msg", "messages[1:-4]", "text", "''", False),
    ],
)
def test_what_follows_from_a_turn(target: str, turns: str, test: str, value: str, alone: bool) -> None:
    func = ast.parse(LOOP.format(target=target, turns=turns, test=test, value=value)).body[0]
    (node,) = (n for n in ast.walk(func) if isinstance(n, ast.Subscript) and isinstance(n.ctx, ast.Store))
    assert follows_from_turn(node, func) is alone


def test_turns_by_their_number() -> None:
    text = "def f(messages):\n    for i in range(len(messages)):\n        {}        m['content'] = m['content'].strip()"
    for taken, alone in (("m = messages[i]\n", True), ("m = messages[i + 1]\n", False)):
        func = ast.parse(text.format(taken)).body[0]
        (node,) = (n for n in ast.walk(func) if isinstance(n, ast.Subscript) and isinstance(n.ctx, ast.Store))
        assert follows_from_turn(node, func) is alone


def test_a_loop_that_sets_marks_changes_no_turn() -> None:
    text = "def f(messages):\n    for m in reversed(messages):\n        if m['role'] == 'user':\n            m['content'] = {}"
    for value, alone in (
        ("[{'text': m['content'], 'cache_control': MARK}]", True),
        ("m['content'][:9]", False),
    ):
        func = ast.parse(text.format(value)).body[0]
        node = next(
            n for n in ast.walk(func) if isinstance(n, ast.Subscript) and isinstance(n.ctx, ast.Store)
        )
        assert stays(node, func) is alone


@pytest.mark.parametrize(
    ("body", "added"),
    [
        ("turns = []\n    while go():\n        turns.append(said())", True),
        ("turns = []\n    for n in range(3):\n        turns += [said(), other()]", True),
        ("while go():\n        send(state.turns + [said()])", True),
        ("while go():\n        turns = []\n        turns.append(said())", False),
        ("turns = []\n    turns.append(said())", False),
        ("while go():\n        send([said()] + turns)", False),
    ],
)
def test_what_a_loop_puts_behind_the_turns_so_far(body: str, added: bool) -> None:
    func = ast.parse(f"def f(state):\n    {body}").body[0]
    node = next(n for n in ast.walk(func) if isinstance(n, ast.Call) and ast.unparse(n) == "said()")
    assert is_added(node, func) is added


def test_a_system_message_among_the_turns_costs_nothing_later(program: Run) -> None:
    code = (
        "def work(solver, steps):\n    turns = [{{'role': 'user', 'content': 'Go on.'}}]\n    for step in range(steps):\n"
        "        {}\n        solver(turns)\n"
    )
    said = "{'role': 'system', 'content': f'This is step {step + 1} of many. ' + '" + LONG + "'}"
    assert "PL106" not in program(code.format(f"turns.append({said})")).codes
    assert "PL106" in program(code.format(f"turns = [{said}]")).codes


@pytest.mark.parametrize(("name", "merges"), [("out", True), ("messages", False)])
def test_lists_that_a_loop_builds(name: str, merges: bool) -> None:
    func = ast.parse(
        "def f(messages):\n    out = []\n    for m in messages:\n        if out:\n"
        f"            {name}[-1]['content'] += m\n        else:\n            out.append(m)"
    ).body[0]
    (node,) = (n for n in ast.walk(func) if isinstance(n, ast.Subscript) and isinstance(n.ctx, ast.Store))
    assert is_built_here(node, name, func) is merges


def test_a_text_filled_at_import_is_made_once(program: Run) -> None:
    found = program(f"import time\nPROMPT = 'Today: {{at}}. {LONG}'.format(at=int(time.time()))\n")
    assert {f.scope.value for f in found.findings} <= {"process"}


def test_numbers_have_one_line(program: Run) -> None:
    code = "from textwrap import dedent\ndef prompt(n: {}):\n    return dedent(f'''\n        {{n}}\n        {}\n''')\n"
    assert "dedent-after-interpolation" not in program(code.format("int", LONG)).seen
    assert "dedent-after-interpolation" in program(code.format("str", LONG)).seen


def test_the_size_of_a_sample_is_not_random(system: Callable[..., str]) -> None:
    head = "import random"
    assert system("f'{len(rows)} rows: {random.sample(rows, 3)}'", head, arguments="question, rows") == (
        "{len(rows) ~request-input/request} rows: {random.sample(rows, 3) ~random/request}"
    )
    assert system("f'{random.choice(tables).shape}'", head, arguments="question, tables") == (
        "{random.choice(tables).shape}"
    )


@pytest.mark.parametrize(
    ("seed", "why"),
    [("", " ~random/request"), ("None", " ~random/request"), ("7", ""), ("question.seed", "")],
)
def test_a_generator_with_a_seed_draws_the_same_again(
    system: Callable[..., str], seed: str, why: str
) -> None:
    shown = system(
        f"f'{{Random({seed}).choice(TONES)}}'", "from random import Random\nTONES = ['kind', 'dry']\n"
    )
    assert shown == f"{{Random({seed}).choice(TONES){why}}}"


@pytest.mark.parametrize(
    ("loop", "reported"),
    [
        ("while messages:\n        show(messages.popleft())", False),
        ("while count(messages) > limit:\n        messages.popleft()", True),
    ],
)
def test_a_queue_that_is_emptied_is_no_conversation_that_is_cut(
    program: Run, loop: str, reported: bool
) -> None:
    found = program(
        "from collections import deque\ndef talk(turn, limit):\n    messages = deque()\n"
        f"    messages.append({{'role': 'user', 'content': turn}})\n    {loop}\n"
    )
    assert ("history-cut" in found.seen) is reported


@pytest.mark.parametrize(
    ("use", "reported"),
    [("print(stage)", False), ("client.chat.completions.create(messages=list(self._history))", True)],
)
def test_a_limited_history_in_a_file_without_messages_is_a_log(
    program: Run, use: str, reported: bool
) -> None:
    found = program(
        "from collections import deque\nclass Monitor:\n    def __init__(self):\n        self._history = deque(maxlen=30)\n"
        f"    def mark(self, client, stage):\n        self._history.append(stage)\n        {use}\n"
    )
    assert ("history-cut" in found.seen) is reported


CUT = """
class Buffer:
    def recent(self):
        return self.messages[-3:]
"""


@pytest.mark.parametrize(
    ("more", "reported"),
    [
        ("", False),
        ('"""Keeps the messages that an LLM or an assistant may write after a prompt."""', False),
        ("from PyQt5.QtWidgets import QMessageBox", False),
        ("from prompt_toolkit import history", False),
        ("def sign_in(token): ...", False),
        ("first = {'role': 'alert', 'content': 'The disk is full'}", False),
        ("first = {'role': 'user', 'content': text}", True),
        ("first = Message(role=role, content=text)", True),
        ("def show(m): return m['role'] + m['content']", True),
        ("from langchain_core.messages import BaseMessage, HumanMessage", True),
        ("from .llm import ask", True),
        ("def cost(text, count_token): ...", True),
        ("answer = client.chat.completions.create(model='m')", True),
    ],
)
def test_a_list_of_messages_is_a_conversation_where_a_model_is_spoken_to(
    program: Callable[..., Program], more: str, reported: bool
) -> None:
    assert ("history-cut" in program(f"{more}\n{CUT}").seen) is reported


@pytest.mark.parametrize(
    "body",
    [
        "return self.loss_history[-self.patience:]",
        "self.history.clear()\n        self.history.append(compact)",
        "for m in self.messages[:-keep]:\n            if len(self.messages) > self.max_messages:\n                self.messages.remove(m)",
        "return [m.note if i != newest else m for i, m in enumerate(messages)]",
        "for m in messages[:-5]:\n            m['text'] = '***'",
        "self.archive(compress(self.old_messages[:-10]))",
        "return [self.header] + posts[-20:]",
    ],
)
def test_mails_losses_and_posts_are_no_conversation(program: Callable[..., Program], body: str) -> None:
    """Each is one where a model is spoken to, as the last line does."""
    text = f"class Window:\n    def recent_limit(self, messages, posts, newest, keep, compact):\n        {body}\n"
    told = {"history-cut", "history-rewritten"}
    assert told.isdisjoint(program(text).seen)
    assert not told.isdisjoint(program(f"{text}\nimport openai\n").seen)


@pytest.mark.parametrize(("use", "reported"), [("count(probe) < 9000", False), ("ask(probe)", True)])
def test_a_conversation_that_is_only_counted_is_not_sent(program: Run, use: str, reported: bool) -> None:
    found = program(f"""
from datetime import datetime
def fits(turns):
    probe = [{{"role": "system", "content": f"{{datetime.now()}} {LONG}"}}, *turns]
    return {use}
""")
    assert ("PL101" in found.codes) is reported
