"""What a request is about, followed through data, helpers and templates that are not known."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from promptlint.frontends.python.evaluate.conditions import truth
from promptlint.frontends.python.values.values import Const, DictV, Item, ListV
from promptlint.layout import Guard, Kind, Scope
from promptlint.source import Place, Span
from tests.frontends.python.build import LONG, Program, run, send

System = Callable[..., str]
GUARD = Guard("if", "flag", Place("a.py", Span(0, 1)))


@pytest.mark.parametrize(
    "made",
    [
        "json.dumps(thing)",
        "json.dumps(json.loads(thing.get('body') or '{}'), indent=2)",
        "json.dumps([{'index': i, 'item': one.body} for i, one in enumerate(thing)])",
        "[{'item': one.body} for one in thing]",
        "pd.DataFrame([{'item': one.body} for one in thing]).to_csv(index=False)",
        "yaml.safe_dump(thing)",
    ],
)
def test_data_of_an_argument_is_about_the_request(system: System, made: str) -> None:
    head = "import json, yaml\nimport pandas as pd"
    found = system("f'Merge {made} and more.'", head, f"made = {made}", arguments="question, thing")
    assert found == "Merge {made ~request-input/request} and more."


@pytest.mark.parametrize(
    "made",
    [
        "json.dumps(settings)",  # what the author chose
        "json.dumps(json.load(open(thing)))",  # which file it is says nothing of what is in it
        "json.dumps({'a': len(thing)})",
        "json.dumps(LIMITS)",
    ],
)
def test_data_of_no_argument_is_not(system: System, made: str) -> None:
    head = "import json\nLIMITS = {'a': 1}"
    found = system("f'Merge {made} and more.'", head, f"made = {made}", arguments="question, thing, settings")
    assert "~" not in found


REPLACING = """
def put(text, variables=None):
    if not variables:
        variables = {}
    for name, value in variables.items():
        text = text.replace(f"{{{name}}}", str(value))
    return text
"""


def test_a_helper_that_replaces_each_field(system: System) -> None:
    """A mapping with an entry is true: what stands in for none does not get in its way."""
    found = system("put('Find {topic} in {place}.', {'topic': question, 'place': 'Bonn'})", REPLACING)
    assert found == "Find {value ~request-input/request} in Bonn."


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (ListV([Item(Const(0))]), True),
        (ListV([]), None),  # something may have been put in that was not seen
        (ListV([Item(Const(0), (GUARD,))]), None),
        (ListV([Item(Const(0), spread=True)]), None),
        (ListV([Item(Const(0), spread=True), Item(Const(1))]), True),
        (DictV(), None),
    ],
)
def test_whether_a_collection_is_true(value: ListV | DictV, expected: bool | None) -> None:
    assert truth(value) is expected


CHAT = """
from openai import OpenAI
client = OpenAI()
def ask(dialog, messages, store, wish, **given):
    {body}
    turns = [{{'role': 'system', 'content': system}}, *messages]
    return client.chat.completions.create(model='m', messages=turns)
"""


@pytest.mark.parametrize(
    ("body", "codes"),
    [
        ("system = dialog.config['system'].format(knowledge=wish)", ["PL107"]),
        ("system = dialog.config['system'].format(found=store.similarity_search(wish))", ["PL107"]),
        ("system = dialog.config['system'].format(found=store.retrieval(wish))", ["PL107"]),
        ("given['x'] = store.retrieve(wish); system = dialog.config['system'].format(**given)", ["PL107"]),
        ("given['x'] = 'a'; system = dialog.config['system'].format(**given)", []),
        ("system = dialog.config['system'].format(language='en', tone='calm')", []),
    ],
)
def test_a_template_that_is_not_known_still_shows_what_fills_it(
    program: Callable[..., Program], body: str, codes: list[str]
) -> None:
    assert program(CHAT.format(body=body)).codes == codes


ENTERING = """
from openai import OpenAI
client = OpenAI()
PROMPT = "You help {who}. Now it is __NOW__ and the question is {question}. " + "Answer in one sentence. " * 9

def ask(question, user):
    text = PROMPT.format(question=question, who=user.name)
    text = text.replace("__NOW__", str(user.last_login))
    return client.chat.completions.create(model="gpt-4o", messages=[{"role": "system", "content": text}])
"""


def test_what_is_known_by_its_name_shows_where_it_was_given() -> None:
    program = run(ENTERING)
    ways = {
        program.source(segment.place): [
            (step.note, program.source(step.place)) for step in segment.cause.chain
        ]
        for segment in program.request.segments
        if segment.cause is not None
    }
    assert ways["{who}"] == [("given as who", "user.name")]
    assert ways["{question}"] == [("given as question", "question")]


def test_a_replaced_word_shows_what_is_put_in_its_place() -> None:
    program = run(
        """
        import time
        from openai import OpenAI
        client = OpenAI()
        PROMPT = "You help. Now it is __NOW__. Answer in one sentence, and say where you know it from."

        def ask():
            text = PROMPT.replace("__NOW__", time.ctime())
            return client.chat.completions.create(model="gpt-4o", messages=[{"role": "system", "content": text}])
        """
    )
    [clock] = [s for s in program.request.segments if s.cause is not None and s.cause.kind is Kind.CLOCK]
    assert program.source(clock.place) == "__NOW__"
    assert clock.cause is not None
    assert [(s.note, program.source(s.place)) for s in clock.cause.chain] == [
        ("put in place of __NOW__", "time.ctime()")
    ]


def test_a_machine_is_the_same_in_each_of_its_processes() -> None:
    program = run(
        "import os, platform, time\n"
        + ENTERING.replace('"You help', 'f"{platform.machine()} {time.time()} You help')
    )
    scopes = {s.cause.kind: s.scope for s in program.request.segments if s.cause is not None}
    assert (scopes[Kind.ENVIRONMENT], scopes[Kind.CLOCK]) == (Scope.MACHINE, Scope.PROCESS)


def test_an_empty_set_is_called_by_its_name() -> None:
    program = run(
        ENTERING.replace("question=question", "question=', '.join(seen)").replace(
            "    text =", "    seen = set()\n    seen.add(question)\n    seen.add(user)\n    text =", 1
        )
    )
    [order] = [
        s.cause for s in program.request.segments if s.cause is not None and s.cause.kind is Kind.UNORDERED
    ]
    assert order.what == "seen"


@pytest.mark.parametrize(
    ("value", "head", "shown"),
    [
        ("f'Use {obs}.'", "obs = ENV.reset()", "Use {obs ~retrieved/request}."),
        ("f'Use {one[\"article\"]}.'", "one = ENV.reset()", 'Use {one["article"] ~request-input/request}.'),
        ("f'Use {person[\"name\"]}.'", "person = json.load(f)", 'Use {person["name"] ~per-user/user}.'),
        ("f'Use {x}.'", "x = ENV.reset()", "Use {x}."),
        # What a call is named counts before what keeps its result.
        ("f'Use {x}.'", "x = ENV.get_user_profile()", "Use {x ~per-user/user}."),
    ],
)
def test_a_result_has_the_name_that_keeps_it(system: System, value: str, head: str, shown: str) -> None:
    assert system(value, "import json", head, arguments="question, f") == shown


def test_one_of_known_mappings_is_known(system: System) -> None:
    roles = "ROLES = {'a': {'title': 'a nurse'}, 'b': {'title': 'a pilot'}}"
    shown = system("f'You are {ROLES[kind][\"title\"]}.'", roles, arguments="question, kind")
    assert "nurse" in shown
    assert "pilot" in shown


def test_what_is_written_out_has_the_name_of_its_elements(system: System) -> None:
    found = system(
        "f'Read {made}.'",
        "import json",
        "made = json.dumps([d for d in documents])",
        arguments="question, documents",
    )
    assert found == "Read {made ~retrieved/request}."


def test_what_an_outside_constructor_was_given_it_has() -> None:
    text = f"""
from datetime import datetime
from elsewhere import Context
RULES = {LONG!r}
def build_prompt(user):
    ctx = Context(stamp=datetime.now().isoformat(), team="red")
    prompt = f"{{ctx.team}} {{ctx.stamp}} " + RULES
    return prompt
"""
    [finding] = [one for one in run(text).findings if one.code == "PL101"]
    assert "`datetime.now()`" in finding.message
    later = text.replace("    prompt =", "    ctx.stamp = 'a Monday'\n    prompt =")
    assert "PL101" not in run(later).codes


KEPT = """
class Idea:
    def __init__(self, name: str, text: str):
        self.name = name
        self.text = text
class Settings:
    def __init__(self, query: str):
        self.query = query
"""


@pytest.mark.parametrize(
    ("annotation", "expression", "shown"),
    [
        ("Idea", "thing.name", "{thing.name ~request-input/request}"),
        ("Idea", "thing.text", "{thing.text ~request-input/request}"),
        ("'Idea | None'", "thing.name", "{thing.name ~request-input/request}"),
    ],
)
def test_what_an_argument_of_a_class_keeps_is_of_the_argument(
    annotation: str, expression: str, shown: str
) -> None:
    program = f"""
    import openai
    {KEPT.replace(chr(10), chr(10) + "    ")}
    def ask(thing: {annotation}):
        return openai.chat.completions.create(model='m', messages=[{{'role': 'user', 'content': f"Try {{{expression}}} now."}}])
    """
    assert run(program).text == f"<user>Try {shown} now."


def test_what_settings_keep_is_a_setting() -> None:
    program = f"""
    import openai
    {KEPT.replace(chr(10), chr(10) + "    ")}
    def ask(settings: Settings):
        return openai.chat.completions.create(model='m', messages=[{{'role': 'user', 'content': f"Try {{settings.query}} now."}}])
    """
    assert run(program).text == "<user>Try {settings.query} now."


@pytest.mark.parametrize(
    ("expression", "shown"),
    [
        ("kwargs['wish']", "{kwargs['wish'] ~request-input/request}"),
        ("kwargs.get('wish')", "{kwargs.get('wish') ~request-input/request}"),
        ("kwargs['tone']", "{kwargs['tone']}"),
    ],
)
def test_what_has_no_name_of_its_own_is_an_argument_too(expression: str, shown: str) -> None:
    program = f"""
    import openai
    def ask(**kwargs):
        return openai.chat.completions.create(
            model='m', messages=[{{'role': 'user', 'content': 'Try ' + {expression} + ' now.'}}])
    """
    assert run(program).text == f"<user>Try {shown} now."


@pytest.mark.parametrize(
    ("call", "scope"),
    [
        ("st.text_area('Notes')", "request"),  # the script is run again
        ("input()", "request"),
        ("requests.get(URL).text", "process"),
    ],
)
def test_a_script_is_run_for_each_answer(call: str, scope: str) -> None:
    program = f"""
    import openai, requests, streamlit as st
    text = {call}
    openai.chat.completions.create(model='m', messages=[{{'role': 'user', 'content': text + ' That is all.'}}])
    """
    kind = "retrieved" if "requests" in call else "request-input"
    assert f"~{kind}/{scope}}} That is all." in run(program).text


@pytest.mark.parametrize(
    ("template", "shown"),
    [
        (
            "conf.system_prompt.format(day=date.today())",
            "{conf.system_prompt.format(day=date.today())}{day ~clock/day}{conf.system_prompt}",
        ),
        (
            "conf.system_prompt.replace('{day}', str(date.today()))",
            "{conf.system_prompt.replace('{day}', str(date.today()))}{date.today() ~clock/day}{conf.system_prompt}",
        ),
        ("conf.title.replace('-', str(date.today()))", "{conf.title ~clock/day}"),  # no mark
        # A question may be the end of it.
        (
            "conf.intro_prompt.format(day=date.today())",
            "{conf.intro_prompt.format(day=date.today())}{day ~clock/day}",
        ),
    ],
)
def test_the_rules_of_a_system_prompt_go_on_behind_its_fields(
    system: System, template: str, shown: str
) -> None:
    found = system(template, "from datetime import date", arguments="question, conf")
    assert found == shown


def test_an_object_that_is_there_if_none_was_given(system: System) -> None:
    head = "import os\nclass Local:\n    def __init__(self):\n        self.folder = os.getcwd()\n"
    found = system(
        "f'In {place.folder}.'", head, "place = state.get('place', Local())", arguments="question, state"
    )
    assert found == "In {place.folder ~environment/machine}."


@pytest.mark.parametrize(
    ("test", "name"),
    [
        ("note.user_id not in hidden", "hidden"),
        ("note.kind in user.wanted", "user.wanted"),
        ("note.user_id", ""),
        ("user_id in note.readers", "user_id"),
    ],
)
def test_which_element_it_is_decides_nothing(test: str, name: str) -> None:
    body = f"    lines = ''.join([f'{{note.text}} ' for note in notes if {test}])"
    found = run(send("lines", body=body, arguments="question, notes, hidden, user, user_id"))
    guards = [g for s in found.request.segments for g in s.guards if g.kind == "if"]
    assert {guard.name for guard in guards} == {name}


def test_who_says_a_turn_of_the_last_ones_decides_nothing() -> None:
    said = "[turn['content'] for turn in messages[-5:] if turn['role'] != 'system']"
    found = run(send("'Go on. ' + RULES", f"RULES = {LONG!r}\n", f"    said = ''.join({said})", "messages"))
    assert "PL109" not in found.codes
    shown = run(send("said + RULES", f"RULES = {LONG!r}\n", f"    said = ''.join({said})", "messages"))
    assert shown.codes
    assert "PL109" not in shown.codes
