"""What happens to earlier turns: kept, cut, dropped, rewritten, inserted into."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.frontends.python.build import Program

Run = Callable[..., Program]
BOT = """
from openai import OpenAI
class Bot:
    def __init__(self):
        self.client = OpenAI()
        self.messages = [{{'role': 'system', 'content': 'Be brief'}}]
    def ask(self, question):
        self.messages.append({{'role': 'user', 'content': question}})
        {edit}
        reply = self.client.chat.completions.create(model='m', messages={sent})
        self.messages.append({{'role': 'assistant', 'content': reply.choices[0].message.content}})
"""
ASK = """
from datetime import datetime
from openai import OpenAI
def ask(messages):
    {edit}
    return OpenAI().chat.completions.create(model='m', messages=messages)
"""


def test_a_history_that_only_grows_is_silent(program: Run) -> None:
    found = program(BOT.format(edit="pass", sent="self.messages"))
    assert found.seen == []
    assert (
        found.text == "<system>Be brief<>{messages[] ~history/session}<user>{question ~request-input/request}"
    )
    assert found.findings == []


@pytest.mark.parametrize(
    ("edit", "sent"),
    [
        ("self.messages = self.messages[-10:]", "self.messages"),
        ("pass", "self.messages[-10:]"),
        ("self.messages.pop(0)", "self.messages"),
    ],
)
def test_a_kept_history_is_cut(program: Run, edit: str, sent: str) -> None:
    found = program(BOT.format(edit=edit, sent=sent))
    assert "history-cut" in found.seen
    assert "PL311" in found.codes


@pytest.mark.parametrize(
    ("edit", "expected"),
    [
        ("messages = messages[-5:]", ["history-cut"]),
        ("messages.pop(0)", ["history-cut"]),
        ("del messages[0]", ["history-cut"]),
        ("if len(messages) > 60:\n        del messages[:10]", ["history-cut"]),
        ("if len(messages) > 60:\n        del messages[:40]", []),
        ("if len(messages) > 60:\n        messages = messages[-20:]", []),
        ("if len(messages) > 60:\n        messages = messages[-50:]", ["history-cut"]),
        (
            "for i in range(9):\n        if messages[i]['type'] == 'summary':\n            del messages[:i]",
            [],
        ),
        (
            "for i in range(9):\n        if len(messages) - i < 20:\n            del messages[:i]",
            ["history-cut"],
        ),
        # The system's message is taken out to be sent beside the turns.
        ("if messages[0]['role'] == 'system':\n        system = messages.pop(0)", []),
        # A result without its call, which no provider takes.
        ("first = messages[0]\n    if first['role'] != 'user':\n        messages.pop(0)", []),
        ("if messages[0].role is Role.SYSTEM:\n        del messages[0]", []),
        ("messages = messages[-1:]", []),
        ("messages.append({'role': 'user', 'content': 'more'})", []),
        ("messages = [*messages, {'role': 'user', 'content': 'more'}]", []),
        ("last = messages[-1]", []),
        ("messages.insert(0, {'role': 'system', 'content': f'{datetime.now()}'})", ["history-inserted"]),
        ("messages.insert(0, {'role': 'system', 'content': 'Be brief.'})", []),
    ],
)
def test_a_given_history(program: Run, edit: str, expected: list[str]) -> None:
    assert program(ASK.format(edit=edit)).seen == expected


def test_turns_rewritten_by_their_distance_from_the_end(program: Run) -> None:
    edit = (
        "for i, message in enumerate(messages):\n        if i < len(messages) - 4:\n"
        "            message['content'] = 'gone'"
    )
    found = program(ASK.format(edit=edit))
    assert found.seen == ["history-rewritten"]


def test_turns_that_decide_for_themselves_stay_as_they_are_once_rewritten(program: Run) -> None:
    edit = "for message in messages:\n        if message['role'] == 'tool':\n            message['content'] = 'gone'"
    assert program(ASK.format(edit=edit)).seen == []


def test_a_helper_that_shapes_one_turn_rewrites_none(program: Run) -> None:
    """The loop is the caller's: what the helper sets is part of the dictionary that it makes itself."""
    found = program(
        """
        from openai import OpenAI
        def shaped(message, names):
            result = {'role': 'assistant'}
            if message.text:
                result['content'] = message.text
            return result
        def ask(messages):
            sent = []
            for message in messages:
                sent.append(shaped(message, []))
            return OpenAI().chat.completions.create(model='m', messages=sent)
        """
    )
    assert found.seen == []


@pytest.mark.parametrize(
    ("edit", "expected"),
    [
        ("i = 1\n    while count(messages) > 9:\n        messages[i] = short(messages[i])\n        i += 1", ["history-rewritten"]),
        ("for i, one in enumerate(messages):\n        messages[i] = shaped(one)", []),
        ("turn = messages[where()]\n    turn.content = 'gone'", ["history-rewritten"]),
        ("messages[0].content = 'Be kind.'", []),
        ("messages[-1].content = 'gone'", []),
        ("messages = messages[:1] + messages[cut():]", ["history-cut"]),
        ("messages = messages[:4] + messages[4:]", []),
    ],
)  # fmt: skip
def test_turns_picked_by_a_number(program: Run, edit: str, expected: list[str]) -> None:
    assert program(ASK.format(edit=edit)).seen == expected


@pytest.mark.parametrize("kept", ["3", "self.kept"])
def test_an_inner_loop_does_not_hide_which_turns_are_changed(program: Run, kept: str) -> None:
    edit = (
        "for i, message in enumerate(reversed(messages)):\n        if i < %s:\n            continue\n"
        "        for pattern in PATTERNS:\n            message['content'] = cut(pattern, message['content'])"
    )
    assert program(ASK.format(edit=edit % kept)).seen == ["history-rewritten"]


def test_an_inner_loop_over_parts_of_each_turn(program: Run) -> None:
    edit = (
        "for message in messages:\n        if message['role'] == 'tool':\n            for pattern in PATTERNS:\n"
        "                message['content'] = cut(pattern, message['content'])"
    )
    assert program(ASK.format(edit=edit)).seen == []


def test_a_system_message_that_is_there_for_one_call(program: Run) -> None:
    found = program(
        """
        from openai import OpenAI
        def ask(messages):
            messages.insert(0, {'role': 'system', 'content': 'Be brief'})
            reply = OpenAI().chat.completions.create(model='m', messages=messages)
            messages.pop(0)
            return reply
        """
    )
    assert found.seen == []


@pytest.mark.parametrize(
    ("sent", "cut"),
    [
        ("[{'role': 'user', 'content': '\\n'.join(m['content'] for m in recent)}]", False),
        ("[{'role': 'user', 'content': f'Give a title: {recent}'}]", False),
        ("[{'role': m['role'], 'content': f'[{m.at}] {m.content}'} for m in recent]", True),
        ("[{'role': 'system', 'content': 'Be brief'}, *recent]", True),
    ],
)
def test_the_last_turns_in_a_text_are_no_window(program: Run, sent: str, cut: bool) -> None:
    found = program(
        "from openai import OpenAI\ndef title(history):\n    recent = history[-4:]\n"
        f"    return OpenAI().chat.completions.create(model='m', messages={sent})\n"
    )
    assert found.seen == (["history-cut"] if cut else [])


def test_the_last_of_some_examples(program: Run) -> None:
    found = program(
        """
        from openai import OpenAI
        SHOTS = [{'role': 'user', 'content': 'a'}, {'role': 'assistant', 'content': 'b'}] * 2
        def ask(q):
            return OpenAI().chat.completions.create(model='m', messages=[*SHOTS[-2:], {'role': 'user', 'content': q}])
        """
    )
    assert found.seen == []


def test_cuts_alike_in_one_function_are_told_once(program: Callable[..., Program]) -> None:
    found = program("""
from openai import OpenAI
class Session:
    def fit(self, size, limit):
        while size > limit:
            if len(self.messages) > 2:
                self.messages.pop(1)
            elif len(self.messages) == 2:
                self.messages.pop(1)
            size = self.count()
    def ask(self):
        return OpenAI().chat.completions.create(model="m", messages=self.messages)
""")
    assert len({f.primary for f in found.findings if f.code == "PL311"}) == 1


@pytest.mark.parametrize(("name", "told"), [("shorten", True), ("regenerate", False), ("delete_turn", False)])
def test_what_a_person_takes_back_is_the_newest(
    program: Callable[..., Program], name: str, told: bool
) -> None:
    found = program(f"""
from openai import OpenAI
def {name}(messages, start, end):
    messages = messages[:start] + messages[end:]
    return OpenAI().chat.completions.create(model="m", messages=messages)
""")
    assert ("PL311" in found.codes) is told
