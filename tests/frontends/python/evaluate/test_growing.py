"""Collections that a constructor leaves empty and other methods fill, and order that goes through objects."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from time import process_time

import pytest

from tests.frontends.python.build import LONG, Program

Run = Callable[..., Program]
AGENT = """
import glob, os
from openai import OpenAI
class Agent:
    def __init__(self, client: OpenAI, root):
        self.client, self.root = client, root
        self.skills = {empty}
    def scan(self):
        {fill}
    def ask(self, question):
        system = "Skills:\\n" + "\\n".join(self.skills) + RULES
        return self.client.chat.completions.create(
            model='m', messages=[{{'role': 'system', 'content': system}}, {{'role': 'user', 'content': question}}])
"""


def agent(empty: str, fill: str) -> str:
    return f"RULES = {LONG!r}\n{AGENT.format(empty=empty, fill=fill)}"


@pytest.mark.parametrize(
    ("empty", "fill", "shown"),
    [
        ("[]", "pass", ""),  # nothing fills it: it stays empty
        ("[]", "self.skills.append(question_of(self))", "[for ? {skills[]}]"),
        ("[]", "self.skills = sorted(os.listdir(self.root))", "[for ? {skills[]}]"),
        ("[]", "self.skills = os.listdir(self.root)", "{join ~unordered/machine}"),
        ("[]", "for name in glob.glob(self.root): self.skills.append(name)", "{join ~unordered/machine}"),
        ("set()", "self.skills.add(self.root)", "{join ~unordered/process}"),
    ],
)
def test_what_other_methods_put_in(program: Run, empty: str, fill: str, shown: str) -> None:
    found = program(agent(empty, fill))
    head, _, _ = found.text.partition("You answer")
    assert head.replace('"\\n".join(self.skills)', "join") == f"<system>Skills:\n{shown}"
    assert ("PL202" in found.codes) == ("machine" in shown)
    assert ("PL201" in found.codes) == ("process" in shown)


def test_a_method_that_starts_anew_sees_only_its_own(program: Run) -> None:
    text = agent("[]", "self.skills.append(self.root)").replace(
        "    def ask(self, question):\n", "    def ask(self, question):\n        self.skills = ['sail']\n"
    )
    assert program(text).text.startswith("<system>Skills:\nsailYou answer")


TURNS = """
import os
from openai import OpenAI
def examples(folder):
    return [read(name) for name in {listing}]
def ask(client: OpenAI, folder, question):
    messages = [{{'role': 'system', 'content': 'Be brief.'}}]
    for one in examples(folder):
        messages.append({{'role': 'user', 'content': one.question}})
        messages.append({{'role': 'assistant', 'content': one.answer}})
    messages.append({{'role': 'user', 'content': question}})
    return client.chat.completions.create(model='m', messages=messages)
"""


@pytest.mark.parametrize(
    ("listing", "codes"), [("os.listdir(folder)", ["PL202"]), ("sorted(os.listdir(folder))", [])]
)
def test_turns_made_in_the_order_of_a_listing(program: Run, listing: str, codes: list[str]) -> None:
    """Nothing is known of what the examples say, but each of them stands elsewhere in another order."""
    assert [c for c in program(TURNS.format(listing=listing)).codes if c == "PL202"] == codes


TOOLS = """
class Agent:
    def __init__(self, llm):
        self.llm, self.usable, self.specs = llm, set(), {{}}
    def enable(self, name, spec):
        self.usable.add(name)
        self.specs[name] = spec
    def arguments(self):
        return [self.specs[n] for n in {names}], 'auto'
    def ask(self, messages):
        tools, choice = self.arguments()
        return self.llm.chat(messages, tools=tools, tool_choice=choice)
"""


@pytest.mark.parametrize(("names", "codes"), [("self.usable", ["PL301"]), ("sorted(self.usable)", [])])
def test_tools_in_the_order_of_a_set(program: Run, names: str, codes: list[str]) -> None:
    """Of the model's class and of the messages nothing is known: tools stand in front of them all the same."""
    assert program(TOOLS.format(names=names)).codes == codes


@pytest.mark.parametrize(
    ("body", "expression", "expected"),
    [
        ("s['to']['enum'] = list(set(names))", "json.dumps(s)", "{s ~unordered/process}"),
        ("s['to']['enum'] = list(set(names))", "f'{s}'", "{s ~unordered/process}"),
        ("s['to']['enum'] = sorted(set(names))", "json.dumps(s)", "{s ~request-input/request}"),
        # Another entry has nothing to do with it.
        ("s['to']['enum'] = list(set(names))", "f\"{s['from']}\"", "{s['from'] ~request-input/request}"),
    ],
)
def test_something_unordered_put_into_an_unknown_mapping(
    system: Callable[..., str], body: str, expression: str, expected: str
) -> None:
    assert system(expression, "import json", body, arguments="question, s, names") == expected


@pytest.mark.parametrize(
    ("made", "kind"),
    [
        ("{n: table[n] for n in set(names)}", " ~unordered/process"),
        ("{n: table[n] for n in sorted(set(names))}", " ~request-input/request"),
        ("{n: table[n] for n in names}", " ~request-input/request"),
    ],
)
def test_a_mapping_over_a_set(system: Callable[..., str], made: str, kind: str) -> None:
    found = system(f"json.dumps({made})", "import json", arguments="question, table, names")
    assert found == f"{{json.dumps({made}){kind}}}"


def test_a_run_that_is_cut_does_not_return_none(system: Callable[..., str]) -> None:
    """Whoever asks whether the result is None must look at both ways."""
    counting = "\n".join(f"    a = b + {i}" for i in range(2000))
    head = f"def prompt_of(b):\n{counting}\n    return b\n"
    assert system("'none' if prompt_of(limit) is None else 'some'", head, arguments="question, limit") == (
        "[prompt_of(limit) is None? none][prompt_of(limit) is None#1? some]"
    )


@pytest.mark.parametrize(("index", "seen"), [("0", []), ("-1", []), ("index", ["history-rewritten"])])
def test_a_turn_of_a_history_that_has_grown(program: Run, index: str, seen: list[str]) -> None:
    text = f"""
        class Agent:
            def __init__(self, llm):
                self.llm, self.history = llm, []
            def ask(self, question):
                self.history.append({{'role': 'user', 'content': question}})
                return self.llm.chat(self.history)
            def edit(self, index):
                turn = self.history[{index}]
                turn.content = short(turn.content)
        """
    assert program(text).seen == seen


@pytest.mark.parametrize(
    ("names", "kind"),
    [
        ("['sail', *os.listdir(root)]", " ~unordered/machine"),
        ("['sail', *sorted(os.listdir(root))]", ""),
        ("[*known, 'sail']", ""),
    ],
)
def test_the_order_of_a_list_made_of_others(program: Run, names: str, kind: str) -> None:
    text = f"""
        import os
        from openai import OpenAI
        from settings import root, known
        def ask(client: OpenAI):
            names, system = {names}, ''
            for name in names:
                system += '- ' + name
            system += RULES
            client.chat.completions.create(model='m', messages=[{{'role': 'system', 'content': system}}])
        """
    codes = program(f"RULES = {LONG!r}\n" + textwrap.dedent(text)).codes
    assert [code for code in codes if code != "PL110"] == (["PL202"] if kind else [])


ENDS = """
from openai import OpenAI
from settings import names
def ask(client: OpenAI):
    system = 'Skills:'
    for name in {names}:
        system += f'\\n<skill name="{{name}}">{printed}</skill>'
    client.chat.completions.create(model='m', messages=[{{'role': 'system', 'content': system}}])
"""


@pytest.mark.parametrize(
    ("names", "printed", "codes"),
    [
        ("set(names)", LONG, ["PL201"]),
        ("sorted(set(names))", LONG, []),
        ("set(names)", "", []),  # a few words for each
    ],
)
def test_what_an_unordered_loop_prints_is_lost(
    program: Run, names: str, printed: str, codes: list[str]
) -> None:
    found = program(ENDS.format(names=names, printed=printed)).codes
    assert [code for code in found if code != "PL110"] == codes


@pytest.mark.parametrize(
    ("names", "codes"), [("os.listdir(root)", ["PL301"]), ("sorted(os.listdir(root))", [])]
)
def test_the_description_of_a_tool_in_the_order_of_a_listing(
    program: Run, names: str, codes: list[str]
) -> None:
    text = f"""
        import openai, os
        class SkillTool:
            def tool_description(self, root):
                text = 'Loads one of these skills:'
                for name in {names}:
                    text += f'\\\\n- {{name}}'
                return text + RULES
        """
    found = program(f"RULES = {LONG!r}\n" + textwrap.dedent(text)).codes
    assert [code for code in found if code != "PL110"] == codes


UNSET = """
class Bot:
    def __init__(self, client):
        self.client, self.notes = client, {empty}
    def load(self, store, question):
        self.notes = {made}
    def ask(self, question):
        system = f"Notes: {{self.notes}}. " + RULES
        return self.client.chat.completions.create(
            model='m', messages=[{{'role': 'system', 'content': system}}, {{'role': 'user', 'content': question}}])
"""


@pytest.mark.parametrize(
    ("empty", "made", "codes"),
    [
        ("None", "store.similarity_search(question)", ["PL107"]),
        ('""', "store.similarity_search(question)", ["PL107"]),
        ('""', "store.cut(question)", ["PL110"]),  # nothing is known of it
        ("'none yet'", "store.similarity_search(question)", []),  # the text it begins with is a text
    ],
)
def test_an_attribute_is_what_a_method_sets_it_to(
    program: Run, empty: str, made: str, codes: list[str]
) -> None:
    text = f"RULES = {LONG!r}\nimport openai\n{UNSET.format(empty=empty, made=made)}"
    assert program(text).codes == codes


@pytest.mark.parametrize(
    ("before", "made", "codes"),
    [
        ("hits = store.similarity_search(question)", '"\\n".join(hit.text for hit in hits)', ["PL107"]),
        ("now = time.time()\n        stamp = f'{now}'", "stamp", ["PL101"]),
        ("kept = self.client.name\n        kept = 'Rule one. '", "kept", []),
        # Something else makes it, or changes it, before it is kept.
        ("stamp = f'{time.time()}'\n        for stamp in ('a', 'b'): pass", "stamp", []),
        ("stamp = f'{time.time()}'\n        from conf import stamp", "stamp", []),
        ("stamp = [time.time()]\n        stamp.clear()", "f'{stamp}'", []),
    ],
)
def test_what_a_method_sets_is_made_of_its_own_names(
    program: Run, before: str, made: str, codes: list[str]
) -> None:
    """``self.notes = notes`` says nothing; the assignments in front of it do."""
    body = UNSET.format(empty="None", made=made).replace(
        "question):\n        self.notes", f"question):\n        {before}\n        self.notes"
    )
    found = program(f"RULES = {LONG!r}\nimport openai, time\n{body}").codes
    assert [code for code in found if code != "PL110"] == codes


def test_attributes_made_of_one_another_end(program: Run) -> None:
    classes = "\n".join(
        f"class A{n}:\n    def load(self, a: 'A{n + 1}', b: 'A{n + 1}'):\n        self.prompt = a.prompt + b.prompt"
        for n in range(24)
    )
    start = process_time()
    program(
        f"{classes}\nclass A24:\n    prompt = 'Be brief. '\ndef system_prompt(a: A0):\n    return a.prompt\n"
    )
    assert process_time() - start < 3


def test_there_are_more_turns_each_time(program: Run) -> None:
    text = f"""
RULES = {LONG!r}
def system_prompt(history, tools):
    return f"Message {{len(history) // 2 + 1}} of at most 20, with {{len(tools)}} tools. " + RULES
"""
    assert [code for code in program(text).codes if code != "PL110"] == ["PL106"]


@pytest.mark.parametrize(
    ("made", "board"),
    [
        ("self.board = Board()", "self.board"),
        ("self.desk = Desk()", "self.desk.board"),
    ],
)
def test_a_part_of_an_object_has_been_used(program: Run, made: str, board: str) -> None:
    found = program(f"""
RULES = {LONG!r}
from dataclasses import dataclass, field
from openai import OpenAI
@dataclass
class Board:
    tasks: dict[str, str] = field(default_factory=dict)
    def move(self, title, state):
        self.tasks[title] = state
    def as_text(self):
        return "\\n".join(f"{{title}}: {{state}}" for title, state in self.tasks.items())
class Desk:
    def __init__(self):
        self.board = Board()
class Mover:
    def __init__(self, client: OpenAI):
        self.client = client
        {made}
    def step(self, text):
        system = {board}.as_text() + RULES
        return self.client.chat.completions.create(
            model='m', messages=[{{'role': 'system', 'content': system}}, {{'role': 'user', 'content': text}}])
""")
    assert found.text.startswith("<system>[for self.tasks.items()? {title ~request-input/request}: {state}]")


def test_what_a_framework_wraps_is_of_the_class_that_it_is_written_with(program: Run) -> None:
    found = program(f"""
RULES = {LONG!r}
from dataclasses import dataclass
from agents import Agent, RunContextWrapper
@dataclass
class Caller:
    name: str
    def line(self):
        return "Speaking: " + self.name
def instructions(run: RunContextWrapper[Caller], agent: Agent[Caller]) -> str:
    return run.context.line() + RULES
mate = Agent[Caller](name="mate", instructions=instructions)
""")
    assert any("Speaking: {self.name" in text for text in found.texts)


@pytest.mark.parametrize(
    ("made", "instructions"),
    [
        ("def text(run: RunContextWrapper[Desk], agent): return f'{run.context.clock()} ' + RULES", "text"),
        ("class Text:\n    def __call__(self, run): return f'{datetime.now()} ' + RULES", "Text()"),
        ("def text(head, run, agent): return f'{head} {datetime.now()} ' + RULES", "partial(text, 'Desk')"),
        (
            "class Text:\n    def made(self, run, agent): return f'{datetime.now()} ' + RULES",
            "Text().made",
        ),
    ],
)
def test_what_a_library_calls_for_the_instructions(program: Run, made: str, instructions: str) -> None:
    found = program(f"""
from datetime import datetime
from functools import partial
from agents import Agent, RunContextWrapper
RULES = {LONG!r}
class Desk:
    def clock(self): return datetime.now().isoformat()
{made}
agent = Agent(name="mate", instructions={instructions})
""")
    assert found.codes == ["PL101"]


@pytest.mark.parametrize(("cls", "user"), [("UserInfo", True), ("Customer", True), ("UserStore", False)])
def test_whose_an_attribute_is_tells_the_class(program: Run, cls: str, user: bool) -> None:
    found = program(f"""
from dataclasses import dataclass
from agents import Agent, RunContextWrapper
@dataclass
class {cls}:
    name: str
def text(run: RunContextWrapper[{cls}], agent): return f"For {{run.context.name}}. " + {LONG!r}
agent = Agent(name="mate", instructions=text)
""")
    assert ("PL104" in found.codes) is user


SETS = """
from openai import OpenAI
class Loader:
    def __init__(self):
        self.names{declared} = {{}}
    def add(self, scope, name):
        self.names.setdefault(scope, {made}).{put}(name)
    def ask(self, scope):
        shown = ", ".join({asked})
        return OpenAI().chat.completions.create(model="m", messages=[
            {{"role": "system", "content": shown + "Answer in plain words. " * 20}}])
"""


@pytest.mark.parametrize(
    ("declared", "made", "put", "asked", "codes"),
    [
        ("", "set()", "add", "self.names.get(scope, ())", ["PL201"]),
        ("", "set()", "add", "self.names[scope]", ["PL201"]),
        (": dict[str, set[str]]", "None", "update", "self.names.get(scope, ())", ["PL201"]),
        ("", "[]", "append", "self.names.get(scope, ())", []),
        ("", "set()", "add", "sorted(self.names.get(scope, ()))", []),
        (": dict[str, set[int]]", "None", "update", "self.names.get(scope, ())", []),
    ],
)
def test_sets_under_the_keys_of_a_mapping(
    program: Run, declared: str, made: str, put: str, asked: str, codes: list[str]
) -> None:
    found = program(SETS.format(declared=declared, made=made, put=put, asked=asked))
    assert [code for code in found.codes if code == "PL201"] == codes
