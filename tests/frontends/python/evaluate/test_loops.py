"""Loops around a call: what differs from turn to turn is not the first turn's text."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.frontends.python.build import LONG, Program, show

Run = Callable[..., Program]

LOOP = """
from openai import OpenAI
client = OpenAI()
def ask(question):
    {before}
    while True:
        {first}
        client.chat.completions.create(messages=[
            {{'role': 'system', 'content': {system}}}, {{'role': 'user', 'content': question}}])
        {last}
"""


def loop(system: str, before: str = "pass", first: str = "pass", last: str = "pass") -> str:
    return LOOP.format(system=system, before=before, first=first, last=last)


@pytest.mark.parametrize(
    ("before", "first", "last"),
    [
        ("step = 0", "step += 1", "pass"),
        ("step = 0", "pass", "step += 1"),
        ("step = 0", "pass", "step = step + 1"),
        ("step = budget(question)", "pass", "step -= 1"),
        ("step = budget(question)", "pass", "step = step - 1"),
    ],
)
def test_counters(program: Run, before: str, first: str, last: str) -> None:
    found = program(loop("f'Step {step}. Be brief.'", before, first, last))
    assert found.text.startswith("<system>Step {step ~counter/request}. Be brief.")


def test_counters_of_range_and_enumerate(program: Run) -> None:
    for header in ("for turn in range(limit):", "for turn, _ in enumerate(limit):"):
        found = program(
            "from openai import OpenAI\ndef ask(limit):\n    " + header + "\n"
            "        OpenAI().chat.completions.create(messages=[{'role': 'system', 'content': f'Turn {turn} of many'}])\n"
        )
        assert found.text == "<system>Turn {turn ~counter/request} of many"


@pytest.mark.parametrize("shown", ["turn + 1", "limit - turn", "1 + turn * 2"])
def test_what_is_reckoned_from_a_counter_counts(program: Run, shown: str) -> None:
    found = program(
        "from openai import OpenAI\ndef ask(limit):\n    for turn in range(limit):\n"
        "        OpenAI().chat.completions.create(messages=[{'role': 'system', 'content': f'Turn {"
        + shown
        + "} of many'}])\n"
    )
    assert found.text == f"<system>Turn {{{shown} ~counter/request}} of many"


def test_a_counter_within_the_text_is_none_of_requests(program: Run) -> None:
    found = program(
        "from openai import OpenAI\ndef ask(rules):\n    text = ''\n    for i, rule in enumerate(rules):\n"
        "        text += f'Rule {i + 1}. '\n"
        "    OpenAI().chat.completions.create(messages=[{'role': 'system', 'content': text}])\n"
    )
    assert "counter" not in found.text


def test_a_flag_set_in_the_loop_is_not_known(program: Run) -> None:
    found = program(loop("'Hello' if first else 'Again'", "first = True", last="first = False"))
    assert found.text.startswith("<system>[first? Hello][first#1? Again]")


def test_a_text_made_before_the_loop_stays(program: Run) -> None:
    found = program(loop("base", "base = 'Be brief.'"))
    assert found.text.startswith("<system>Be brief.<user>")
    assert found.request.repeated


def test_conditions_around_the_call_say_nothing_of_its_text(program: Run) -> None:
    found = program(
        "from openai import OpenAI\n"
        "def ask(question, flag):\n"
        "    text = 'Be brief.'\n"
        "    if flag:\n"
        "        text += ' Use tools.'\n"
        "        OpenAI().chat.completions.create(messages=[{'role': 'system', 'content': text}])\n"
    )
    assert found.text == "<system>Be brief. Use tools."


def test_a_list_that_grows_in_an_unordered_loop_has_no_order(program: Run) -> None:
    found = program(
        "from openai import OpenAI\n"
        "def ask(names):\n"
        "    lines = []\n"
        "    for name in set(names):\n"
        "        lines.append(name)\n"
        "    OpenAI().chat.completions.create(messages=[{'role': 'system', 'content': ', '.join(lines)}])\n"
    )
    assert found.text == "<system>{join ~unordered/process}"


def test_a_text_that_is_empty_at_first_is_set_in_each_round(program: Run) -> None:
    text = f"""
    from openai import OpenAI
    def translate(paragraphs):
        summary = ""
        for text in paragraphs:
            system = f"So far: {{summary}}. " + {LONG!r}
            answer = OpenAI().chat.completions.create(model='m', messages=[
                {{'role': 'system', 'content': system}}, {{'role': 'user', 'content': text}}])
            summary = answer.choices[0].message.content
    """
    assert "PL108" in program(text).codes


@pytest.mark.parametrize(
    ("sent", "codes"),
    [
        ("messages=[{'role': 'user', 'content': prompt}]", ["PL101"]),
        # What the server keeps of earlier rounds stands in front of it.
        ("messages=[{'role': 'user', 'content': prompt}], session_id=session", []),
    ],
)
def test_a_request_of_one_message_is_made_anew_in_each_round(
    program: Run, sent: str, codes: list[str]
) -> None:
    text = f"""
    from datetime import datetime
    from openai import OpenAI
    def play(session):
        while True:
            prompt = f"It is {{datetime.now()}}. " + {LONG!r}
            OpenAI().chat.completions.create(model='m', {sent})
    """
    found = program(text)
    assert [f.code for f in found.findings if f.prompt.startswith("request")] == codes


@pytest.mark.parametrize(
    ("before", "printed", "last"),
    [
        ("notes = []", "'\\n'.join(notes)", "notes.append(found())"),
        ("notes = ''", "notes", "notes += found()"),
        ("notes = {}", "'\\n'.join(f'{k}: {v}' for k, v in notes.items())", "notes[found()] = found()"),
    ],
)
def test_what_the_rounds_before_have_left(program: Run, before: str, printed: str, last: str) -> None:
    rules = f"RULES = {LONG!r}\n"
    found = program(rules + loop(f"f'Notes: ' + {printed} + RULES", before=before, last=last))
    first, second = (show(one).partition("You answer")[0] for one in found.requests)
    assert first == "<system>Notes: "  # in the first round there is nothing
    assert "~request-input/request" in second
    behind = program(rules + loop(f"RULES + 'Notes: ' + {printed}", before=before, last=last))
    assert "PL108" in found.codes
    assert "PL108" not in behind.codes


@pytest.mark.parametrize(
    "first",
    ["log = len(notes)", "pass", "if notes: stop()"],  # how many there are is no text
)
def test_no_second_round_for_what_is_only_kept(program: Run, first: str) -> None:
    made = loop("'Be brief.'", before="notes = []", first=first, last="notes.append(found())")
    assert len(program(made).requests) == 1


SECTIONS = """
from openai import OpenAI
LAST = 'Answer in French. ' * 3
def ask(question, brief, notes):
    parts = [('Now', 'Be kind to each of them, always.')]
    if brief:
        parts.append(('Brief', 'Be brief.'))
    for note in notes:
        parts.append(('Note', note))
    parts.append(('Last', LAST))
    {make}
    OpenAI().chat.completions.create(messages=[{{'role': 'system', 'content': text}}])
"""
SHOWN = (
    "<system>Now: Be kind to each of them, always.\n[brief? Brief: Be brief.\n][for notes? Note: {said ~request-input/request}\n]"
    "Last: " + "Answer in French. " * 3 + "\n"
)


@pytest.mark.parametrize(
    "make",
    [
        "text = ''.join(f'{title}: {said}\\n' for title, said in parts)",
        "text = ''\n    for title, said in parts:\n        text += f'{title}: {said}\\n'",
        "lines = []\n    for title, said in parts:\n        lines.append(f'{title}: {said}\\n')\n    text = ''.join(lines)",
    ],
)
def test_a_loop_over_parts_that_are_there_under_conditions(program: Run, make: str) -> None:
    assert program(SECTIONS.format(make=make)).text == SHOWN


@pytest.mark.parametrize(
    ("shown", "text"),
    [
        (
            "''.join(map(str.upper, parts))",
            "BE KIND TO EACH OF THEM, ALWAYS AND EVERYWHERE.[brief? BE BRIEF.]",
        ),
        (
            "''.join(map(lambda part: part + '!', parts))",
            "Be kind to each of them, always and everywhere.![brief? Be brief.!]",
        ),
        (
            "''.join(f'{i}. {p}' for i, p in enumerate(parts))",
            "{i}. Be kind to each of them, always and everywhere.[brief? {i}. Be brief.]",
        ),
        (
            "''.join(sorted(parts, key=lambda part: -len(part)))",
            "Be kind to each of them, always and everywhere.[brief? Be brief.]",
        ),
    ],
)
def test_what_is_made_of_parts_under_conditions_keeps_these(program: Run, shown: str, text: str) -> None:
    found = program(
        "from openai import OpenAI\ndef ask(brief):\n    parts = ['Be kind to each of them, always and everywhere.']\n"
        "    if brief:\n        parts.append('Be brief.')\n"
        f"    OpenAI().chat.completions.create(messages=[{{'role': 'system', 'content': {shown}}}])\n"
    )
    assert found.text == f"<system>{text}"


def test_a_loop_over_the_keys_of_a_mapping(program: Run) -> None:
    found = program(
        "from openai import OpenAI\n"
        "def fill(text, values):\n    for key in values:\n        text = text.replace('{' + key + '}', values[key])\n"
        "    return text\n"
        "def ask(a, b, c, d, e):\n"
        "    text = fill('Of {a}, {b} and {c}.', {'a': a, 'b': b, 'c': c, 'd': d, 'e': e})\n"
        "    OpenAI().chat.completions.create(messages=[{'role': 'system', 'content': text}])\n"
    )
    assert found.text.startswith("<system>Of {")
    assert found.text.count("{") == 3


def test_whether_a_set_has_elements_does_not_depend_on_their_order(program: Run) -> None:
    found = program(
        "from openai import OpenAI\ndef ask(names):\n    tags = set(names)\n    text = 'Be kind.'\n"
        "    if tags & {'a', 'b'}:\n        text += ' Be brief.'\n"
        "    OpenAI().chat.completions.create(messages=[{'role': 'system', 'content': text}])\n"
    )
    assert found.text == "<system>Be kind.[tags & {'a', 'b'}?  Be brief.]"


@pytest.mark.parametrize(
    ("loop", "seen"),
    [
        # Each step is a request of one conversation, and any may be the last.
        ("for step in range(8):", ["parameter-flips"]),
        ("for step in range(2, STEPS):", ["parameter-flips"]),
        # A list of jobs is run job by job.
        ("for step in (0, 1):", []),
    ],
)
def test_a_loop_that_counts_its_requests(program: Run, loop: str, seen: list[str]) -> None:
    found = program(f"""
from openai import OpenAI
client, STEPS = OpenAI(), 9
def ask(messages, tools):
    {loop}
        out = client.chat.completions.create(
            model="m", messages=messages, tools=tools, tool_choice="required" if step == 0 else "auto")
        messages.append(out.choices[0].message)
""")
    assert found.seen == seen


@pytest.mark.parametrize(
    ("added", "sent", "codes"),
    [
        # Each round adds a turn, which stays as it was sent …
        ("turns.append({'role': 'user', 'content': f'Claim {number}: {claim}'})", "*turns", []),
        # … and what is made again for each request, in front of the turns, is another each time.
        (
            "turns.append({'role': 'user', 'content': claim})",
            "{'role': 'user', 'content': f'{number} done'}, *turns",
            ["PL106"],
        ),
    ],
)
def test_a_number_in_a_turn(program: Run, added: str, sent: str, codes: list[str]) -> None:
    found = program(f"""
from openai import OpenAI
client = OpenAI()
def translate(claims):
    turns = []
    for number, claim in enumerate(claims, start=1):
        {added}
        out = client.chat.completions.create(
            model="m", messages=[{{"role": "system", "content": "Translate each claim."}}, {sent}])
        turns.append({{"role": "assistant", "content": out.choices[0].message.content}})
""")
    assert found.codes == codes


@pytest.mark.parametrize(
    ("over", "goes_on"),
    [
        ("sorted(found.remarks, key=lambda one: one.line)", False),  # sorted by what turns are called, too
        ("sorted(found.lines, key=lambda one: one.number)", True),
        ("sorted(pages, key=turns_of)", False),
        ("found.remarks", False),
    ],
)
def test_by_what_elements_are_sorted_says_nothing_of_them(program: Run, over: str, goes_on: bool) -> None:
    found = program(f"""
from openai import OpenAI
def check(found, pages):
    for one in {over}:
        OpenAI().chat.completions.create(model="m", messages=[
            {{"role": "system", "content": "{LONG}"}}, {{"role": "user", "content": f"{{one.text}} in {{one.path}}"}}])
""")
    assert found.request.repeated is goes_on


@pytest.mark.parametrize(
    ("body", "counts"),
    [
        ("        prompt += f'Rule {i}: {rule}\\n'\n", False),
        ("        prompt = f'Rule {i}: ' + RULES\n", True),
        ("        prompt = f'Rule {i}: '\n        prompt += RULES\n", True),
        ("        turns.append({'role': 'user', 'content': f'Rule {i}. ' + RULES})\n", False),
        (
            "        turns = [{'role': 'user', 'content': f'Rule {i}. ' + RULES}]\n        send(messages=turns)\n",
            True,
        ),
        ("        turns.append(HumanMessage(content=f'Rule {i}. ' + RULES))\n", False),
    ],
)
def test_what_a_loop_adds_stays_as_it_is(program: Run, body: str, counts: bool) -> None:
    found = program(
        "from langchain_core.messages import HumanMessage\n"
        f"RULES = {LONG!r}\n"
        "def ask(rules):\n    prompt, turns = RULES, []\n    for i, rule in enumerate(rules):\n" + body
    )
    assert any("~counter/request" in text for text in found.texts) is counts
