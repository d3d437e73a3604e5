"""Newer syntax, rewritten in place: same length, same positions, readable by this interpreter."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from promptlint.frontends.python.syntax.newer import lower
from tests.frontends.python.build import run

pytest.importorskip("tree_sitter_python")

NEWER = [
    "type Alias[T] = list[T]\n",
    "type Plain = int | str\n",
    "def first[T: int, *Ts, **P](x: T) -> T:\n    return x\n",
    "class Box[T]:\n    item: T\n",
    "async def run[T](x: T) -> T:\n    return x\n",
    'def quote(d):\n    return f"{d["key"]} {f"{d[\'k\']}"} é"\n',
    "def lines(xs):\n    return f'{'\\n'.join(xs)}'\n",
    "def spread(xs):\n    return f'{[\n        x for x in xs\n    ]}'\n",
    "def noted(x):\n    return f'{x  # why\n    !r:>{8}}'\n",
    "def wide[\n    T,\n    U: int,\n](x: T) -> U:\n    return x\n",
    "try:\n    run()\nexcept A, B:\n    pass\n",
    "greeting = t'Hi {name}' rt\"{name!r}\"\n",
    'def padded(d):\n    return f"{d:{d["width"]}} {d:{"*"}^{d["k"]}}"\n',
    'def shown(d):\n    return f"{d["k"]=!r:>{d["width"]}}"\n',
    "def escaped(d):\n    return f\"{d['it\\'s']} {'\\\"'.join(d)}\"\n",
    'def twice(name):\n    return t"{t"{f"{name}"}"}"\n',
    'def four(name):\n    return f"{f"{f"{f"{name}"}"}"}"\n',
    "def inside(x):\n    return f'{[  # why\n    x]}'\n",
    "def above(x):\n    return f'''{[  # it's\n    x['k']]}'''\n",
    "def apart[\n    T,\n\n    U: int,  # why\n](x: T) -> U:\n    return x\n",
    "class Apart[\n    T,\n\n    U,\n]:\n    item: T\n",
    "class Below[\nT,\n\nU,\n](Base[T]):\n    item: T\n",
]
OLDER = [
    "X = 'é 世界'\n",
    "def plain(a, *, b=1):\n    return {'k': [a, b]}\n",
    "# type Alias[T] = no\n",
    "\n",
    "type = 3\n",
]


@pytest.mark.parametrize("source", NEWER)
def test_one_construct(source: str) -> None:
    low = lower(source)
    assert low is not None
    assert len(low) == len(source)
    assert low.count("\n") == source.count("\n")
    ast.parse(low)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(NEWER + OLDER), min_size=1, max_size=8))
def test_any_file_keeps_its_length_and_places(chunks: list[str]) -> None:
    source = "".join(chunks)
    low = lower(source)
    if low is None:
        assert not set(chunks) & set(NEWER)
        return
    assert len(low) == len(source)
    assert low.count("\n") == source.count("\n")
    assert [len(line) for line in low.split("\n") if "世" in line] == [
        len(line) for line in source.split("\n") if "世" in line
    ]
    names = [
        n.name
        for n in ast.walk(ast.parse(low))
        if isinstance(n, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef)
    ]
    for name in names:
        assert source.index(name) == low.index(name)


def test_what_nobody_can_read_stays_unread() -> None:
    assert lower("def broken(:\n") is None
    assert lower("print f'{x}'\n") is None


def test_a_long_file_is_read_as_well() -> None:
    source = "def quote(d):\n    return f'{d['key']}'\n" * 20_000
    low = lower(source)
    assert low is not None
    assert len(ast.parse(low).body) == 20_000


def test_a_newer_file_is_analysed() -> None:
    found = run(
        "from openai import OpenAI\n"
        "type Text = str\n"
        "def show[T](x: T, d: dict) -> str:\n"
        '    return f"Hi {d["name"]}, {x}"\n'
        "def ask(question, d):\n"
        "    return OpenAI().chat.completions.create(messages=[{'role': 'system', 'content': show(question, d)}])\n"
    )
    assert found.seen == []
    assert found.text.startswith("<system>Hi {d[")
    assert found.text.endswith(", {x ~request-input/request}")


def test_fields_within_fields_are_followed() -> None:
    """Each hole ends where 3.12 ends it: an f-string in a field may hold the same quotes and braces again."""
    found = run(
        "from openai import OpenAI\n"
        "def ask(question, name):\n"
        '    one = f"{"Dear " + f"{name["it\'s"]}"} is here. "\n'
        '    two = f"{f"{f"{name["a}"]}"}"} was here. "\n'
        '    three = f"{name:{question["width"]:{"}"}}} will be."\n'
        "    return OpenAI().chat.completions.create(messages=[{'role': 'system', 'content': one + two + three}])\n"
    )
    assert found.seen == []
    assert found.text == '<system>Dear {name["it\'s"]} is here. {name["a}"]} was here. {name} will be.'


def test_a_broken_file_is_said_and_the_others_are_read() -> None:
    found = run({"app.py": "prompt = (\n", "ok.py": "SYSTEM_PROMPT = 'You are a kind and patient helper.'\n"})
    assert found.seen == ["parse-error"]
    assert found.named("SYSTEM_PROMPT") == "<system>You are a kind and patient helper."
