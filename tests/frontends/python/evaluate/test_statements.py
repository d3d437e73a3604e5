"""Statements: what a name holds when the prompt is sent."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.frontends.python.build import LONG, Program

System = Callable[..., str]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("p = 'a'\np += 'b'\np = 'c' + p", "cab"),
        ("p: str = 'a'", "a"),
        ("x, y = 'a', 'b'\np = y + x", "ba"),
        ("x, *y = ['a', 'b', 'c']\np = x + '|' + ''.join(y)", "a|bc"),
        ("(x, y), z = ('a', 'b'), 'c'\np = z + y + x", "cba"),
        ("p = q = 'a'\np += 'b'\np += q", "aba"),
        ("if flag:\n    p = 'a'\nelse:\n    p = 'b'", "[flag? a][flag#1? b]"),
        ("p = 'a'\nif flag:\n    p += 'b'\np += 'c'", "a[flag? b]c"),
        # Where an error is raised there is no request, and what follows is in all others.
        ("l = ['a']\nif flag:\n    raise E\nl.append('b')\np = ''.join(l)", "ab"),
        ("l = ['a']\nif flag:\n    x = 1\nelse:\n    raise E\nl.append('b')\np = ''.join(l)", "ab"),
        (
            "p = 'a'\nif flag:\n    p += 'b'\nelif more:\n    p += 'c'\np += 'd'",
            "a[flag? b][flag#1? [more? c]]d",
        ),
        ("p = 'a'\nif True:\n    p += 'b'", "ab"),
        ("p = 'a'\nfor x in ['b', 'c']:\n    p += x", "abc"),
        ("p = 'a'\nfor x in 'b', 'c':\n    if x == 'b':\n        continue\n    p += x", "ac"),
        ("p = 'a'\nfor x in ['b', 'c', 'd']:\n    p += x\n    if x == 'c':\n        break", "abc"),
        ("p = 'a'\nfor x in ['b']:\n    break\nelse:\n    p = 'z'", "a"),
        ("p = 'a'\nfor x in ['b']:\n    p += x\nelse:\n    p += 'z'", "abz"),
        ("p = 'a'\nfor n in range(3):\n    p += str(n)", "a012"),
        (
            "p = 'a'\nfor doc in items:\n    p += f'- {doc}\\n'\np += 'z'",
            "a[for items? - {doc ~retrieved/request}\n]z",
        ),
        ("p = 'a'\nwhile more():\n    p += 'b'\np += 'c'", "a[while more()? b]c"),
        ("p = 'a'\ntry:\n    p += 'b'\nexcept OSError:\n    p = 'z'", "ab"),
        ("try:\n    p = 'b'\nfinally:\n    p += 'c'", "bc"),
        ("with lock:\n    p = 'a'", "a"),
        (
            "match flag:\n    case 'x':\n        p = 'a'\n    case _:\n        p = 'b'",
            "[match flag? a][match flag#1? b]",
        ),
        ("p = 'a'\ndel x\np += 'b'", "ab"),
        ("def inner(y):\n    return p + y\np = 'a'\np = inner('b')", "ab"),
        ("d = {'p': 'a'}\nd['q'] = 'b'\np = d['p'] + d['q']", "ab"),
    ],
)
def test_blocks(system: System, body: str, expected: str) -> None:
    assert system("p", body=body, arguments="question, flag, items") == expected


def test_early_return(system: System) -> None:
    head = "def pick(kind):\n    if kind:\n        return 'text A'\n    return 'text B'"
    assert system("pick(flag)", head, arguments="question, flag") == "[kind? text A][kind#1? text B]"


def test_known_arguments_decide(system: System) -> None:
    head = "def pick(kind, extra=None):\n    if kind == 'a':\n        return 'A'\n    if extra is None:\n        return 'B'\n    return 'C'"
    assert system("pick('a') + pick('b') + pick('c', extra='e')", head) == "ABC"


def test_bodies_of_type_checking_count(system: System) -> None:
    head = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from texts import TEXT\n"
    assert system("TEXT", head, files={"texts.py": "TEXT = 'typed'"}) == "typed"


@pytest.mark.parametrize(
    "target", ["agent.system_prompt", "agent.texts['system_prompt']", "payload['system_prompt']"]
)
def test_a_prompt_that_is_put_into_what_a_library_made(program: Callable[..., object], target: str) -> None:
    found = program(
        "import os\nfrom library import agent\ndef prepare(payload):\n"
        f"    {target} = f'You work in {{os.getcwd()}}. Be brief.'\n"
    )
    assert found.texts == ["<system>You work in {os.getcwd() ~environment/machine}. Be brief."]  # type: ignore[attr-defined]


@pytest.mark.parametrize(("index", "expected"), [("-1", ["PL601"]), ("0", [])])
def test_an_element_is_replaced_though_another_comes_and_goes(
    program: Callable[..., Program], index: str, expected: list[str]
) -> None:
    found = program(f"""
        import anthropic
        from datetime import datetime
        def blocks(tell):
            out = [{{"type": "text", "text": "{LONG * 8}"}}]
            if tell:
                out.append({{"type": "text", "text": f"Now: {{datetime.now()}}"}})
            return out
        def mark(blocks):
            blocks[{index}] = {{**blocks[{index}], "cache_control": {{"type": "ephemeral"}}}}
            return blocks
        def ask(question, tell):
            return anthropic.Anthropic().messages.create(
                model="claude-sonnet-4-5",
                system=mark(blocks(tell)),
                messages=[{{"role": "user", "content": question}}],
            )
        """)
    assert found.codes == expected
