"""Templates met by code: Jinja and LangChain."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.frontends.python.build import LONG, Program

JINJA = (
    "from datetime import datetime\nfrom jinja2 import Environment, FileSystemLoader, Template\n"
    "env = Environment(loader=FileSystemLoader('t'))\n"
)


@pytest.mark.parametrize(
    ("expression", "extra", "files", "expected"),
    [
        ("Template('Hi {{ x }}').render(x='y')", "", {}, "Hi y"),
        ("env.from_string('Hi {{ x }}').render(x=name)", "", {}, "Hi {x}"),
        (
            "env.get_template('s.j2').render(now=datetime.now())",
            "",
            {"t/s.j2": "At {{ now }}. {% if admin %}Admin{% endif %}"},
            "At {now ~clock/request}. [admin? Admin]",
        ),
        (
            "env.get_template('s.j2').render()",
            "env.globals['now'] = datetime.now",
            {"t/s.j2": "At {{ now() }} end"},
            "At {now ~clock/request} end",
        ),
        (
            "env.get_template('s.j2').render(x='y')",
            "",
            {"t/s.j2": "A {% include 'b.j2' %}", "t/b.j2": "B {{ x }}"},
            "A B y",
        ),
        ("env.get_template('s.j2').render(x=1, unused=datetime.now())", "", {"t/s.j2": "A {{ x }}"}, "A 1"),
    ],
)
def test_jinja(
    system: Callable[..., str], expression: str, extra: str, files: dict[str, str], expected: str
) -> None:
    assert system(expression, f"{JINJA}{extra}\n", files=files) == expected


LANGCHAIN = """
from datetime import datetime
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder
p = ChatPromptTemplate.from_messages([
    ('system', 'You are {role}. Now {now}. Answer well.'), MessagesPlaceholder('history'), ('human', '{question}')])
def ask(question, history):
    return p.partial(now=lambda: datetime.now().isoformat()).invoke(
        {'role': 'a guide', 'question': question, 'history': history})
"""


def test_a_callable_partial_is_called_each_time(program: Callable[..., Program]) -> None:
    assert program(LANGCHAIN).texts[-1] == (
        "<system>You are a guide. Now {now ~clock/request}. Answer well."
        "<>{history ~history/session}<user>{question ~request-input/request}"
    )


def test_a_value_partial_is_kept(program: Callable[..., Program]) -> None:
    found = program(LANGCHAIN.replace("lambda: datetime.now().isoformat()", "'noon'"))
    assert found.texts[-1].startswith("<system>You are a guide. Now noon.")


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        ("{'folder': lambda x: os.getcwd(), 'question': RunnablePassthrough()}", " ~environment/machine"),
        ("RunnablePassthrough.assign(folder=lambda x: os.getcwd())", " ~environment/machine"),
        ("RunnableParallel(folder=lambda x: os.getcwd())", " ~environment/machine"),
        ("RunnablePassthrough() | RunnableLambda(placed)", " ~environment/machine"),
        ("RunnableLambda(placed) | RunnableLambda(lambda x: {'day': x})", ""),
        ("RunnablePassthrough()", ""),
        ("{'folder': lambda x: x['folder']}", ""),
    ],
)
def test_a_mapping_in_front_of_a_template_fills_it(
    program: Callable[..., object], values: str, shown: str
) -> None:
    found = program(
        "import os\nfrom langchain_core.prompts import ChatPromptTemplate\n"
        "from langchain_core.runnables import RunnableLambda, RunnableParallel, RunnablePassthrough\n"
        "def placed(inputs): return {**inputs, 'folder': os.getcwd()}\n"
        "prompt = ChatPromptTemplate.from_messages([('system', 'In {folder}. Be brief.')])\n"
        f"chain = {values} | prompt\n"
    )
    assert f"<system>In {{folder{shown}}}. Be brief." in found.texts  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("switches", "reported"),
    [
        ("add_datetime_to_context=True, add_history_to_context=True", True),
        ("add_datetime_to_context=True, expected_output=RULES", True),
        ("add_datetime_to_context=True", False),  # nothing known stands behind it
        ("add_datetime_to_context=False, add_history_to_context=True", False),
    ],
)
def test_a_switch_prints_the_time_into_the_system_text(
    program: Callable[..., Program], switches: str, reported: bool
) -> None:
    found = program(f"""
from agno.agent import Agent
RULES = "{LONG}"
agent = Agent(instructions=RULES, {switches})
""")
    assert ("PL101" in found.codes) is reported


@pytest.mark.parametrize(
    ("store", "reported"),
    [
        ("st.session_state.messages", True),
        ("st.session_state['messages']", True),
        ("st.session_state.get('messages')", True),
        ("cl.user_session.get('history')", True),
        ("cl.user_session.get('id')", False),  # no turns: nothing known stands behind the time
    ],
)
def test_what_a_session_keeps_under_a_name_of_turns_are_turns(
    program: Callable[..., Program], store: str, reported: bool
) -> None:
    found = program(f"""
import chainlit as cl
import streamlit as st
from datetime import datetime
from openai import OpenAI
def ask():
    turns = [{{"role": "system", "content": f"It is {{datetime.now()}}"}}, *{store}]
    return OpenAI().chat.completions.create(model="m", messages=turns)
""")
    assert ("PL101" in found.codes) is reported


@pytest.mark.parametrize(
    ("page", "scope"), [("st.title('Bank')", "request"), ("def page():\n    st.title('Bank')", "process")]
)
def test_a_page_of_streamlit_runs_anew_for_each_input(
    program: Callable[..., Program], page: str, scope: str
) -> None:
    found = program(f"""
import streamlit as st
from datetime import datetime
{page}
SYSTEM_PROMPT = f"It is {{datetime.now()}}. {LONG}"
""")
    (prompt,) = [one for one in found.layouts if one.name.startswith("SYSTEM_PROMPT")]
    assert [s.cause.scope.value for s in prompt.segments if s.cause] == [scope]


@pytest.mark.parametrize(
    ("found", "given"),
    [
        (
            "'\\n'.join(bm25.get_top_n(q.split(), docs, n=3))",
            "import rank_bm25; bm25 = rank_bm25.BM25Okapi(docs)",
        ),
        ("requests.get(URL, params={'q': q}).text", "import requests"),
        ("parts['store'].search(q)", "pass"),  # what stands under a key is called by it
    ],
)
def test_what_is_found_for_a_question(program: Callable[..., Program], found: str, given: str) -> None:
    ran = program(f"""
from openai import OpenAI
def ask(q, docs, parts):
    {given}
    text = f"Sources: {{{found}}} {LONG} {{q}}"
    return OpenAI().responses.create(model="m", input=text)
""")
    assert "retrieved" in [s.cause.kind.value for s in ran.request.segments if s.cause]


def test_a_selector_chooses_examples_for_each_request(program: Callable[..., Program]) -> None:
    found = program(f"""
from langchain_core.prompts import FewShotPromptTemplate, PromptTemplate
def build(llm, selector, q):
    one = PromptTemplate.from_template("Q: {{q}}")
    shots = FewShotPromptTemplate(example_selector=selector, example_prompt=one, suffix="{LONG} Q: {{q}}")
    return llm.invoke(shots.format(q=q))
""")
    (finding,) = found.findings
    assert (finding.code, found.source(finding.primary)) == ("PL107", "selector")


@pytest.mark.parametrize(
    ("marks", "template", "shown"),
    [
        ("variable_start_string='<<', variable_end_string='>>'", "Hi << x >>, {{ y }}", "Hi {x}, {{ y }}"),
        ("variable_start_string='${', variable_end_string='}'", "Hi ${HOME}", "Hi {HOME}"),
        ("block_start_string='<%', block_end_string='%>'", "Hi <% if x %>you<% endif %>", "Hi [x? you]"),
    ],
)
def test_the_marks_of_an_environment(
    system: Callable[..., str], marks: str, template: str, shown: str
) -> None:
    head = f"from jinja2 import Environment\nown = Environment({marks})\n"
    assert system(f"own.from_string({template!r}).render()", head) == shown


DICT = """
from jinja2 import ChoiceLoader, DictLoader, FileSystemLoader
TEXTS = {'s': 'At {{ now() }} end'}
env = Environment(loader=LOADER)
env.globals.update({'now': datetime.now})
"""


@pytest.mark.parametrize(
    "loader", ["DictLoader(TEXTS)", "ChoiceLoader([FileSystemLoader('t'), DictLoader(TEXTS)])"]
)
def test_templates_may_stand_in_a_mapping(system: Callable[..., str], loader: str) -> None:
    head = JINJA + DICT.replace("LOADER", loader)
    assert system("env.get_template('s').render()", head) == "At {now ~clock/request} end"


def test_a_global_is_named_as_what_is_called(program: Callable[..., Program]) -> None:
    text = f"""
        {JINJA.replace(chr(10), chr(10) + "        ")}
        from openai import OpenAI
        env.globals['now'] = datetime.now
        def ask(q):
            text = env.from_string('It is {{{{ now() }}}}. {LONG}').render()
            return OpenAI().responses.create(model='m', instructions=text, input=q)
    """
    (finding,) = program(text).findings
    assert finding.message.startswith("the time from `datetime.now()` changes with every request")


@pytest.mark.parametrize(
    ("template", "given", "causes"),
    [
        ("{{ it.at }} Be brief.", "it=Stamp()", ["clock"]),
        ("{% for one in them %}{{ one.at }} Be brief.{% endfor %}", "them=[Stamp(), Stamp()]", ["clock"]),
        ("{{ it.at }} Be brief.", "it={'at': datetime.now()}", ["clock"]),
        ("{{ it.kind }} Be brief.", "it=Stamp()", []),
        # Each of the program's own words, though they stand like data.
        ("{% for rule in rules %}\n- {{ rule }}\n{% endfor %}\nBe brief.", "rules=('Lend ten.', 'Ask.')", []),
    ],
)
def test_a_field_asks_for_a_part_of_what_it_is_given(
    program: Callable[..., Program], template: str, given: str, causes: list[str]
) -> None:
    found = program(f"""
from dataclasses import dataclass, field
from datetime import datetime
from jinja2 import Template
from openai import OpenAI
@dataclass
class Stamp:
    kind: str = "radio"
    at: str = field(default_factory=lambda: datetime.now().isoformat())
def ask(documents):
    text = Template({template!r}).render({given})
    return OpenAI().chat.completions.create(model="m", messages=[{{"role": "system", "content": text + {LONG!r}}}])
""")
    kinds = {f.kind.value for f in found.findings if f.code != "PL110"}
    assert sorted(kinds) == causes
