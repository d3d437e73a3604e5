"""What a value fills tells of it where its own name does not: a template's field, an argument of the function."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.frontends.python.build import LONG, Program

Run = Callable[..., Program]

FIELD = """
from openai import OpenAI
SUMMARY = "Sum up: {{{field}}}. {long}"
def ask(store):
    text = SUMMARY.format({field}={value})
    return OpenAI().chat.completions.create(model='m', messages=[{{'role': 'user', 'content': text}}])
"""


@pytest.mark.parametrize(
    ("field", "value", "shown"),
    [
        # The field's name is asked where the value's own tells nothing …
        ("question", "shorten(load())", "{question ~request-input/request}"),
        ("documents", "shorten(load())", "{documents ~retrieved/request}"),
        ("lines", "shorten(load())", "{lines}"),
        # … and not against what the value's name says.
        ("question", "settings.opening", "{question}"),
        ("documents", "user_name", "{documents ~per-user/user}"),
        ("question", "'Who?'", "Who?"),
    ],
)
def test_a_field_names_what_fills_it(program: Run, field: str, value: str, shown: str) -> None:
    found = program(FIELD.format(field=field, value=value, long=LONG))
    assert found.text == f"<user>Sum up: {shown}. {LONG}"


ARGUMENT = """
from openai import OpenAI
def ask({arguments}):
    text = f"Look at {{{value}}}. {long}"
    return OpenAI().chat.completions.create(model='m', messages=[{{'role': 'user', 'content': text}}])
"""


@pytest.mark.parametrize(
    ("arguments", "value", "known"),
    [
        ("dossier", "dossier", True),
        ("dossier", "dossier.description", True),
        ("state", "state['notes']", True),
        ("state", "state.get('notes')", True),
        ("papers", "papers[0].strip()", True),
        ("dossier=None", "dossier", True),
        # A setting by its name, its default or its type.
        ("language", "language", False),
        ("agent", "agent.description", False),
        ("flavour='vanilla'", "flavour", False),
        ("depth: int", "depth", False),
        ("description", "description", False),
        # Not out of an argument.
        ("dossier", "other", False),
    ],
)
def test_an_argument_is_what_a_request_is_about(
    program: Run, arguments: str, value: str, known: bool
) -> None:
    found = program(ARGUMENT.format(arguments=arguments, value=value, long=LONG))
    hole = found.request.segments[1]
    assert (hole.cause is not None) is known
    if hole.cause is not None:
        assert hole.cause.variant == "argument"
        assert found.codes == ["PL108"]


def test_a_constructor_keeps_its_arguments(program: Run) -> None:
    found = program(
        f"""
        class Prompts:
            def __init__(self, dossier):
                self.system_prompt = f"Look at {{dossier}}. {LONG}"
        """
    )
    assert "PL108" not in found.codes


def test_an_argument_does_not_lead_where_a_name_says_more(program: Run) -> None:
    found = program(
        f"""
        from openai import OpenAI
        def ask(dossier, user_question):
            text = f"Look at {{dossier}} and {{user_question}}. {LONG}"
            return OpenAI().chat.completions.create(model='m', messages=[{{'role': 'user', 'content': text}}])
        """
    )
    told = [f for f in found.findings if f.code == "PL108"]
    assert {found.source(f.primary) for f in told} == {"{user_question}"}
    assert {found.source(step.place) for f in told for step in f.related} == {"{dossier}"}


@pytest.mark.parametrize(
    ("form", "shown"),
    [
        ("{now:%Y}", "{now}"),
        ("{now:%B}", "{now}"),
        ("{now:%d}", "{now ~clock/day}"),
        ("{now:%H}", "{now ~clock/request}"),
    ],
)
def test_what_is_left_of_a_time_is_not_read_off_its_name(program: Run, form: str, shown: str) -> None:
    found = program(
        f"""
        from datetime import datetime
        from openai import OpenAI
        def ask():
            now = datetime.now()
            text = f"It is {form}. {LONG}"
            return OpenAI().chat.completions.create(model='m', messages=[{{'role': 'user', 'content': text}}])
        """
    )
    assert found.text == f"<user>It is {shown}. {LONG}"


def test_what_a_state_holds_is_an_argument_of_the_step(program: Run) -> None:
    found = program(
        f"""
        from typing import TypedDict
        from openai import OpenAI
        class State(TypedDict):
            dossier: str
        def step(state: State):
            text = f"Look at {{state['dossier']}}. {LONG}"
            return OpenAI().chat.completions.create(model='m', messages=[{{'role': 'user', 'content': text}}])
        """
    )
    assert found.text == f"<user>Look at {{state['dossier'] ~request-input/request}}. {LONG}"


CACHED = """
from pathlib import Path
from jinja2 import Environment
from openai import OpenAI
_loaded = {}
def load_prompt(name):
    if name in _loaded:
        return _loaded[name]
    text = (Path(__file__).parent / f"{name}.md").read_text()
    _loaded[name] = text
    return text
RULES = load_prompt("rules")
def ask(overrides, dossier):
    text = Environment().from_string({source}).render(topic=dossier)
    return OpenAI().chat.completions.create(model='m', messages=[{'role': 'user', 'content': text}])
"""


@pytest.mark.parametrize("source", ["RULES", "overrides.get('rules', RULES)", "load_prompt('rules')"])
def test_a_template_out_of_a_cache_is_the_file(program: Run, source: str) -> None:
    program_text = CACHED.replace("{source}", source).replace("{{", "{").replace("}}", "}")
    found = program({"app.py": program_text, "rules.md": f"On {{{{ topic }}}}: {LONG}"})
    assert "{topic ~request-input/request}" in found.text
    assert found.text.count(LONG.strip()) >= 1


def test_one_of_the_entries_of_an_element_is_asked_for(program: Run) -> None:
    found = program(
        """
        from datetime import datetime
        from openai import OpenAI
        def ask(first, second):
            rows = []
            for text in (first, second):
                row = {'text': text, 'made': datetime.now()}
                rows.append(row)
            for row in rows:
                OpenAI().chat.completions.create(model='m', messages=[
                    {'role': 'system', 'content': "Sum up. " + row['text']}, {'role': 'user', 'content': 'Go.'}])
        """
    )
    assert not any(f.code == "PL101" for f in found.findings)


SENT = """
from openai import OpenAI
def ask(client, texts, n):
    {before}
    {loop}
        {send}
        client.chat.completions.create(model='m', messages={messages})
"""


@pytest.mark.parametrize(
    ("loop", "goes_on"),
    [
        ("while True:", True),
        ("for step in range(n):", True),
        ("for question in texts:", True),
        ("while attempts < 3:", False),
        ("for attempt in range(3):", False),
        ("for text in texts:", False),
    ],
)
def test_loops_that_are_a_conversation(program: Run, loop: str, goes_on: bool) -> None:
    fresh = "[{'role': 'system', 'content': 'Be brief.'}, {'role': 'user', 'content': f'Sum up {texts}.'}]"
    found = program(
        SENT.format(before="pass", loop=loop, send="pass", messages=fresh).replace("OpenAI()", "")
    )
    assert all(one.repeated is goes_on for one in found.layouts)


def test_a_list_that_outlives_a_loop_over_data_is_a_conversation(program: Run) -> None:
    body = SENT.format(
        before="messages = []",
        loop="for text in texts:",
        send="messages.append({'role': 'user', 'content': f'Sum up {text}.'})",
        messages="messages",
    )
    found = program(body.replace("client.chat", "OpenAI().chat"))
    assert found.request.repeated


@pytest.mark.parametrize(("keyword", "kept"), [("collection_name", False), ("text", True)])
def test_what_something_is_looked_up_by_is_not_in_what_is_found(
    program: Run, keyword: str, kept: bool
) -> None:
    found = program(
        f"""
        from datetime import datetime
        from openai import OpenAI
        def ask(client):
            text = client.scroll({keyword}=f"notes-{{datetime.now()}}")
            return OpenAI().chat.completions.create(model='m', messages=[
                {{'role': 'user', 'content': f"Sum up {{text}}. {LONG}"}}])
        """
    )
    assert ("PL101" in found.codes) is kept


@pytest.mark.parametrize(
    ("name", "codes"),
    [("SUMMARY_TEMPLATE", ["PL101"]), ("BLOCK_MESSAGE_TEMPLATE", []), ("error_text_template", [])],
)
def test_the_text_of_a_refusal_is_no_prompt(program: Run, name: str, codes: list[str]) -> None:
    found = program(
        f"""
        from datetime import datetime
        from openai import OpenAI
        {name} = "It is {{now}}. {LONG}"
        def text():
            return {name}.format(now=datetime.now())
        """
    )
    assert found.codes == codes


@pytest.mark.parametrize(
    ("name", "imported", "text", "reported"),
    [
        ("xml_template", "", "The ship is at sea, and {LONG}", False),
        ("preamble", "", "The ship is at sea, and {LONG}", False),
        ("preamble", "", "You are a pilot. {LONG}", True),
        ("letter_template", "from openai import OpenAI", "The ship is at sea, and {LONG}", True),
        ("system_prompt", "", "The ship is at sea, and {LONG}", True),
    ],
)
def test_templates_of_programs_without_a_model(
    program: Run, name: str, imported: str, text: str, reported: bool
) -> None:
    found = program(
        f"""
        {imported or "import json"}
        from datetime import datetime
        {name.upper()} = "It is {{now}}. {text.replace("{LONG}", LONG)}"
        def render():
            {name} = {name.upper()}.format(now=datetime.now())
            return {name}
        """
    )
    assert ("PL101" in found.codes) is reported


def test_an_empty_default_is_not_another_case(program: Run) -> None:
    found = program(
        f"""
        from openai import OpenAI
        def ask(settings):
            known = settings or {{}}
            return OpenAI().chat.completions.create(model='m', messages=[
                {{'role': 'system', 'content': f"Names: {{known}}. {LONG}"}},
                {{'role': 'user', 'content': 'Go on.'}}])
        """
    )
    assert "?" not in found.text  # no case in which there is nothing


@pytest.mark.parametrize(
    "call",
    [
        "return asyncio.gather(*(one(i, batch) for i, batch in enumerate(batches)))",
        "return ThreadPoolExecutor().map(one, numbers, batches)",
        "return one",
        "app.add_route('/ask', one)",
    ],
)
def test_a_function_within_another_is_looked_at(program: Run, call: str) -> None:
    found = program(
        f"""
        import asyncio
        from concurrent.futures import ThreadPoolExecutor
        from openai import OpenAI
        TEXT = '''Review these: {{chunks}}. {LONG}'''
        def build(app, numbers, batches):
            def one(number, chunks):
                return OpenAI().chat.completions.create(model='m', messages=[
                    {{'role': 'user', 'content': TEXT.format(chunks=''.join(chunks))}}])
            {call}
        """
    )
    assert found.codes == ["PL107"]


def test_a_function_within_another_knows_its_names(program: Run) -> None:
    found = program(
        f"""
        from datetime import date
        from openai import OpenAI
        def build(app):
            system = f"Today is {{date.today()}}. {LONG}"
            client = OpenAI()
            @app.post("/chat")
            async def chat(question):
                return client.chat.completions.create(model='m', messages=[
                    {{'role': 'system', 'content': system}}, {{'role': 'user', 'content': question}}])
            return app
        """
    )
    assert found.text == (
        f"<system>Today is {{date.today() ~clock/day}}. {LONG}<user>{{question ~request-input/request}}"
    )


@pytest.mark.parametrize(
    ("name", "use", "codes"),
    [
        ("README_TEMPLATE", "path.write_text({made})", []),
        ("README_TEMPLATE", "_create_file(path, {made})", []),
        ("README_TEMPLATE", "text = {made}; path.write_text(text)", []),
        ("README_TEMPLATE", "text = {made}; path.write_text(text); return text", ["PL101"]),
        ("README_TEMPLATE", "process.stdin.write({made})", ["PL101"]),
        ("README_PROMPT", "path.write_text({made})", ["PL101"]),
    ],
)
def test_what_is_only_written_to_a_file_is_no_prompt(
    program: Run, name: str, use: str, codes: list[str]
) -> None:
    found = program(
        f"""
        from datetime import datetime
        from openai import OpenAI
        {name} = "It is {{now}}. {LONG}"
        def message(path, process):
            {use.format(made=f"{name}.format(now=datetime.now())")}
        """
    )
    assert found.codes == codes


@pytest.mark.parametrize(
    ("listing", "codes"),
    [("sorted(root.iterdir())", []), ("root.iterdir()", ["PL202"]), ("list(root.iterdir())", ["PL202"])],
)
def test_a_listing_sorted_where_it_is_looped_over(program: Run, listing: str, codes: list[str]) -> None:
    found = program(
        f"""
        from openai import OpenAI
        def ask(root):
            names = [path.name for path in {listing}]
            return OpenAI().chat.completions.create(model='m', messages=[
                {{'role': 'system', 'content': f"Files: {{', '.join(names)}} {LONG}"}},
                {{'role': 'user', 'content': 'Go on.'}}])
        """
    )
    assert [code for code in found.codes if code != "PL110"] == codes


@pytest.mark.parametrize(
    ("listing", "codes"),
    [("os.listdir(root)", ["PL202"]), ("list(root.iterdir())", ["PL202"]), ("sorted(root.glob('*'))", [])],
)
@pytest.mark.parametrize("sort", ["pass", "names.sort()", "names.sort(key=str)"])
def test_a_listing_sorted_in_place(program: Run, listing: str, sort: str, codes: list[str]) -> None:
    found = program(
        f"""
        import os
        from openai import OpenAI
        def ask(root):
            names = {listing}
            {sort}
            return OpenAI().chat.completions.create(model='m', messages=[
                {{'role': 'system', 'content': f"Files: {{', '.join(names)}} {LONG}"}},
                {{'role': 'user', 'content': 'Go on.'}}])
        """
    )
    assert [code for code in found.codes if code != "PL110"] == (codes if sort == "pass" else [])


@pytest.mark.parametrize(
    ("first", "files", "codes"),
    [
        ("pass", "files", ["PL202"]),
        ("dirs.sort()", "sorted(files)", []),
        ("dirs[:] = sorted(d for d in dirs if d != '.git')", "sorted(files)", []),
        ("dirs.sort()", "files", ["PL202"]),
        ("pass", "sorted(files)", ["PL202"]),
    ],
)
def test_a_walk_in_order(program: Run, first: str, files: str, codes: list[str]) -> None:
    found = program(
        f"""
        import os
        from openai import OpenAI
        def ask(top):
            parts = []
            for root, dirs, files in os.walk(top):
                {first}
                for file in {files}:
                    parts.append(file)
            return OpenAI().chat.completions.create(model='m', messages=[
                {{'role': 'system', 'content': f"Files: {{', '.join(parts)}} {LONG}"}},
                {{'role': 'user', 'content': 'Go on.'}}])
        """
    )
    assert [code for code in found.codes if code != "PL110"] == codes


HELPED = """
from openai import OpenAI
def numbered(items):
    out = ""
    for i, item in enumerate(items):
        out += f"{i}. {item}"
    return out
def ask(questions):
    text = open("answer.txt").read().replace("{questions}", numbered(questions))
    return OpenAI().chat.completions.create(model='m', messages=[{'role': 'user', 'content': text}])
"""


def test_what_a_helper_formats_stands_in_the_file_of_the_template(program: Run) -> None:
    template = f"Answer:\n{{questions}}\n{LONG}"
    found = program({"app.py": HELPED, "answer.txt": template})
    (layout,) = (one for one in found.layouts if one.kind.name == "REQUEST")
    places = {(s.place.path, s.place.span.start) for s in layout.segments if s.text is None}
    assert places == {("answer.txt", template.index("{questions}"))}


FIELDS = """
from pydantic import BaseModel
from openai import OpenAI
class Tool(BaseModel):
    goals: list[str] = []
    rules: list[str] = ["Be kind."]
    def ask(self):
        text = f"Goals: {{', '.join(self.goals)}}. Rules: {{', '.join(self.rules)}}. {long}"
        return OpenAI().chat.completions.create(model='m', messages=[{{'role': 'user', 'content': text}}])
"""


def test_an_empty_default_of_a_field_is_filled_by_who_makes_the_object(program: Run) -> None:
    text = program(FIELDS.format(long=LONG)).text
    assert "Rules: Be kind." in text
    assert "goals" in text
    assert "Goals: . " not in text


@pytest.mark.parametrize(
    ("line", "separator", "at"),
    [
        ('f"Branch: {token}"', "\\n", "{token}"),  # a line of its own that says what it holds
        ('f"{token}:"', "\\n", '"\\n".join(parts)'),  # a value on its way
        ('f"Branch: {token}"', ", ", '", ".join(parts)'),
    ],
)
def test_a_labelled_line_enters_the_prompt_where_it_is_written(
    program: Run, line: str, separator: str, at: str
) -> None:
    found = program(f"""
import uuid
from openai import OpenAI
def ask():
    token = uuid.uuid4()
    parts = [{line}, "{LONG}"]
    return OpenAI().responses.create(model="m", input="{separator}".join(parts))
""")
    (finding,) = found.findings
    assert found.source(finding.primary) == at
