"""Messages that are objects of the program's own, and the first message of a conversation that is changed."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.frontends.python.build import LONG, Program, show

Run = Callable[..., Program]

CLASSES = {
    "a data class": """
        from dataclasses import dataclass
        @dataclass
        class Message:
            role: str
            content: str
            pinned: bool = False
        """,
    "its own constructor": """
        class Message:
            def __init__(self, role, content, pinned=False):
                self.role, self.content = role, content
        """,
}


@pytest.mark.parametrize("kind", CLASSES)
def test_a_generator_of_messages(program: Run, kind: str) -> None:
    found = program(
        {
            "chat.py": CLASSES[kind],
            "prompts.py": f"""
                from datetime import date
                from chat import Message
                def prompt_time():
                    yield Message("system", f"Today is {{date.today()}}.")
                def prompt_rules():
                    yield Message("system", "{LONG}")
                def prompt_all(short):
                    yield from prompt_time()
                    yield from prompt_rules()
                """,
        }
    )
    assert found.named("prompt_all") == f"<system>Today is {{date.today() ~clock/day}}.<system>{LONG}"
    assert found.codes == ["PL101"]


def test_messages_named_after_who_speaks(program: Run) -> None:
    found = program(
        f"""
        class SystemMessage:
            def __init__(self, content):
                self.content = content
        class UserMessage:
            def __init__(self, content):
                self.content = content
        def build_prompt(question):
            return [SystemMessage("{LONG}"), UserMessage(question)]
        """
    )
    assert found.named("build_prompt") == f"<system>{LONG}<user>{{question ~request-input/request}}"


def test_a_result_that_is_appended_once_is_no_prompt(program: Run) -> None:
    found = program(
        {
            "chat.py": CLASSES["a data class"],
            "tool.py": f"""
                import time
                from chat import Message
                def execute(code):
                    yield Message("system", f"Ran at {{time.time()}}. {LONG}")
                """,
        }
    )
    assert found.findings == []


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ("messages[0]['content'] += f'Known: {documents}'", "PL107"),
        ("messages[0]['content'] = rules + str(datetime.now())", "PL101"),
        ("messages[0].content += f'Known: {documents}'", "PL107"),
        # The same text in every request, or a turn at the end.
        ("messages[0]['content'] += ' Be brief.'", ""),
        ("messages[-1]['content'] += f'Known: {documents}'", ""),
    ],
)
def test_what_stands_in_front_of_the_turns(program: Run, change: str, code: str) -> None:
    found = program(
        f"""
        from datetime import datetime
        def enrich(messages, documents, rules):
            {change}
            return messages
        """
    )
    assert [c for c in found.codes if c != "PL110"] == ([code] if code else [])


@pytest.mark.parametrize(
    ("before", "config"),
    [
        ("pass", '{"system_instruction": system, "temperature": 0}'),
        ("kept = {'system_instruction': system}", "kept"),
        ("pass", "types.GenerateContentConfig(system_instruction=system)"),
        ("kept = {'system_instruction': system}", "types.GenerateContentConfig(**kept)"),
        ("kept = types.GenerateContentConfig(system_instruction=system)", "kept"),
    ],
)
def test_a_system_text_within_a_configuration(program: Run, before: str, config: str) -> None:
    found = program(
        f"""
        from datetime import date
        from google import genai
        from google.genai import types
        client = genai.Client()
        def ask(question):
            system = f"Today is {{date.today()}}. {LONG}"
            {before}
            return client.models.generate_content(model="gemini-2.5-flash", contents=question, config={config})
        """
    )
    (sent,) = [one for one in found.requests if one.model == "gemini-2.5-flash"]
    assert show(sent) == (
        f"<system>Today is {{date.today() ~clock/day}}. {LONG}<user>{{question ~request-input/request}}"
    )
    assert found.codes == ["PL101"]


@pytest.mark.parametrize(
    ("condition", "codes"),
    [
        ("user.is_admin", ["PL109"]),
        ("user.may(tool)", ["PL109"]),
        ("tool['function']['name'] in user.permissions", ["PL109"]),
        # Settings, and what differs between requests by its name alone.
        ("tool['function']['name'] in config.enabled", []),
        ("tool['function']['name'] in request.tools", []),
    ],
)
def test_tools_that_a_user_may_use(program: Run, condition: str, codes: list[str]) -> None:
    found = program(
        f"""
        from openai import OpenAI
        TOOLS = [{{"type": "function", "function": {{"name": "sea", "description": "Tells the weather at sea."}}}}]
        def ask(user, config, request, question):
            return OpenAI().chat.completions.create(
                model="gpt-4o",
                tools=[tool for tool in TOOLS if {condition}],
                messages=[{{"role": "system", "content": "{LONG}"}}, {{"role": "user", "content": question}}],
            )
        """
    )
    assert found.codes == codes


@pytest.mark.parametrize(
    ("first", "reported"),
    [("role='system', content='You remove duplicates.'", True), ("role='user', content='Hello.'", False)],
)
def test_a_list_that_a_request_starts_with_is_one_whatever_returns_it(
    program: Callable[..., Program], first: str, reported: bool
) -> None:
    found = program(f"""
from pydantic import BaseModel
class Message(BaseModel):
    role: str
    content: str
def nodes(context: dict) -> list[Message]:
    return [
        Message({first}),
        Message(role='user', content=f"<GIVEN>{{context['found_before']}}</GIVEN> {LONG}"),
    ]
""")
    assert ("PL108" in found.codes) is reported


def test_a_message_given_in_pieces(program: Run) -> None:
    text = f"""
    from livekit.agents.llm import ChatContext
    def greet(store, text):
        chat = ChatContext()
        chat.add_message(role="system", content=f"Notes: {{store.similarity_search(text)}}. " + {LONG!r})
        chat.add_message(role="user", content=f"{{text}} and " + {LONG!r})
    """
    assert program(text).codes == ["PL107"]


SECTIONS = """
from agent import run
def wrap(code):
    return f"<{code}>"
def draft(task, node):
    prompt = {
        "Introduction": "You are a careful engineer, who mends programs.",
        "Broken code": wrap(node.code),
        "Rules": {},
    }
    prompt["Rules"] |= {"Style": RULES}
    return run(prompt)
"""


def test_a_mapping_of_sections_is_a_prompt(program: Run) -> None:
    found = program(f"RULES = {LONG!r}\n{SECTIONS}")
    (finding,) = (f for f in found.findings if f.code == "PL108")
    assert "`code`" in finding.message
    assert found.source(finding.primary) in SECTIONS


@pytest.mark.parametrize("keys", [("introduction", "task", "rules"), ("INTRO", "TASK", "RULES")])
def test_other_mappings_are_none(program: Run, keys: tuple[str, str, str]) -> None:
    text = SECTIONS.replace("Introduction", keys[0]).replace("Broken code", keys[1])
    found = program(f"RULES = {LONG!r}\n{text.replace('Rules', keys[2])}")
    assert "PL108" not in found.codes


def test_messages_of_a_chat_template_are_templates(program: Run) -> None:
    text = f"""
    from llama_index.core.prompts import ChatMessage, ChatPromptTemplate
    ANSWER = ChatPromptTemplate([ChatMessage(role="system", content="Use {{context_str}}. " + {LONG!r})])
    """
    assert "PL107" in program(text).codes


def test_what_is_written_around_a_picture_is_no_text(program: Run) -> None:
    found = program(
        "from openai import OpenAI\ndef look(question, url):\n    return OpenAI().chat.completions.create(model='m', messages=[\n"
        "        {'role': 'user', 'content': [{'type': 'text', 'text': question},\n"
        "            {'type': 'image_url', 'image_url': {'url': url, 'detail': 'high'}}]}])\n"
    )
    assert found.text == "<user>{question ~request-input/request}{url ~request-input/request}"


@pytest.mark.parametrize(
    ("steps", "shown"),
    [
        (["if flag:", "    m['content'] = 'Hi'"], "<user>[flag? Hi]"),
        (
            ["if flag:", "    m['content'] = 'Hi'", "else:", "    m['content'] = 'Ho'"],
            "<user>[flag? Hi][flag#1? Ho]",
        ),
    ],
)
def test_an_entry_is_there_under_its_condition(program: Run, steps: list[str], shown: str) -> None:
    lines = "\n    ".join(["m = {'role': 'user'}", *steps])
    found = program(
        f"from openai import OpenAI\ndef ask(flag):\n    {lines}\n"
        "    return OpenAI().chat.completions.create(model='m', messages=[m])\n"
    )
    assert found.text == shown


ASKED = """
    from openai import OpenAI
    from {module} import told
    RULES = "{long}"
    def ask(question):
        note = told()
        return OpenAI().chat.completions.create(model="m", messages=[
            {{"role": "system", "content": {system}}}, {{"role": "user", "content": question}}])
"""


@pytest.mark.parametrize(
    ("told", "system", "code", "source"),
    [
        # Both texts stand where the prompt is made, and so does what is said of them.
        ("return time.time() > 5", 'f\'{"Be kind. " if note else ""}{RULES}\'', "PL109", "note"),
        # A condition of another file chooses between texts that stand there.
        (
            "if time.time() > 5:\n        return 'Be kind and calm today. '\n    return ''",
            "note + RULES",
            "PL109",
            "time.time() > 5",
        ),
    ],
)
def test_what_comes_and_goes_is_told_where_it_is_written(
    program: Run, told: str, system: str, code: str, source: str
) -> None:
    found = program(
        {
            "lib.py": f"import time\ndef told():\n    {told}\n",
            "app.py": ASKED.format(module="lib", long=LONG, system=system),
        }
    )
    told_of = [one for one in found.findings if one.code == code]
    assert [found.source(one.primary) for one in told_of] == [source]


@pytest.mark.parametrize("role", ["'system'", "Role.SYSTEM"])
def test_a_message_of_a_librarys_class(program: Run, role: str) -> None:
    found = program(f"""
        import uuid
        import dashscope
        from dashscope.entities import Message, Role
        def ask(question):
            system = Message(role={role}, content=f"Run {{uuid.uuid4()}}. {LONG}")
            return dashscope.Generation.call(messages=[system, Message(role="user", content=question)])
        """)
    assert found.codes == ["PL102"]


REBUILT = f"""
    import uuid
    from datetime import datetime
    from openai import OpenAI
    def turns(store):
        messages = [{{"role": "system", "content": "{LONG}"}}]
        for row in store.rows():
            if row["kind"] == "call":
                NAMED
                messages.append({{"role": "tool", "tool_call_id": name, "content": row["result"]}})
            else:
                messages.append({{"role": row["role"], "content": TEXT}})
        return messages
    def ask(store):
        return OpenAI().chat.completions.create(messages=turns(store))
"""


@pytest.mark.parametrize(
    ("named", "text", "expected"),
    [
        ("name = f'call_{uuid.uuid4().hex}'", "row['text']", ["PL102"]),
        ("name = row['name']", "f'{datetime.now()} {row[0]}'", ["PL101"]),
        ("name = row['name']", "f'{row[1]} {row[0]}'", []),
    ],
)
def test_turns_that_are_made_again_from_rows(
    program: Run, named: str, text: str, expected: list[str]
) -> None:
    found = program(REBUILT.replace("NAMED", named).replace("TEXT", text))
    assert found.codes == expected


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("turn.text", "{messages ~history/session}"),
        # Who said it, and when, was kept with it.
        ("f'[{turn.sent}] {turn.text}'", "{messages ~history/session}"),
        ("f'{datetime.now()} {turn.text}'", "{datetime.now() ~clock/request} {turn.text}"),
        (f"'{LONG}' + turn.text", f"{LONG}{{turn.text}}"),  # a text of the program
    ],
)
def test_kept_turns_with_a_label(program: Run, text: str, shown: str) -> None:
    found = program(f"""
        from datetime import datetime
        from openai import OpenAI
        def ask(store, chat):
            turns = store.turns(chat)
            messages = [{{"role": "system", "content": "Be kind."}}]
            messages += [{{"role": turn.role, "content": {text}}} for turn in turns]
            return OpenAI().chat.completions.create(messages=messages)
        """)
    assert found.text == f"<system>Be kind.<>[for turns ~history/session? {shown}]"


def test_what_is_added_behind_a_question_keeps_its_name(program: Run) -> None:
    found = program(f"""
        import uuid
        from openai import OpenAI
        client = OpenAI()
        def ask(question):
            messages = [{{"role": "system", "content": "{LONG}"}}, {{"role": "user", "content": question}}]
            out = client.chat.completions.create(messages=messages)
            for call in parse(out):
                name = f"call_{{uuid.uuid4().hex}}"
                messages.append({{"role": "assistant", "content": None, "tool_calls": [{{"id": name}}]}})
                messages.append({{"role": "tool", "tool_call_id": name, "content": run(call)}})
            return client.chat.completions.create(messages=messages)
        """)
    assert found.codes == []


@pytest.mark.parametrize(
    ("made", "expected"),
    [("", ["PL101"]), ("messages = []", [])],
    ids=["again for each request", "once for the conversation"],
)
def test_turns_with_the_time_in_a_loop_of_requests(program: Run, made: str, expected: list[str]) -> None:
    anew = "" if made else "messages = []"
    found = program(f"""
        from datetime import datetime
        import anthropic
        client = anthropic.Anthropic()
        def chat(store):
            {made or "pass"}
            while True:
                {anew or "pass"}
                for row in store.{"newest" if made else "all"}():
                    messages.append({{"role": row.role, "content": f"{{datetime.now()}} {{row.text}}"}})
                reply = client.messages.create(system="{LONG}", messages=messages)
                store.save(reply)
        """)
    assert found.codes == expected
