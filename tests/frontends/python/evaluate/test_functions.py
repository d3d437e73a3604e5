"""Functions: arguments, defaults, closures, generators, caches."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.frontends.python.build import Program

System = Callable[..., str]
HELPER = """
def helper(x, y='z', *rest, sep='-', **more):
    return f'A {x}{sep}{y}{"".join(rest)}{more.get("end", ".")}'
"""


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("helper(name)", "A {x}-z."),
        ("helper('a', 'b')", "A a-b."),
        ("helper(y='b', x='a', sep='+')", "A a+b."),
        ("helper('a', 'b', 'c', 'd')", "A a-bcd."),
        ("helper(*['a', 'b'])", "A a-b."),
        ("helper(**{'x': 'a', 'end': '!'})", "A a-z!"),
        ("helper('a', end='?')", "A a-z?"),
    ],
)
def test_arguments(system: System, call: str, expected: str) -> None:
    assert system(call, HELPER) == expected


@pytest.mark.parametrize(
    ("head", "expression", "expected"),
    [
        ("from functools import partial\nshort = partial(helper, 'a', sep='+')", "short('b')", "A a+b."),
        ("import functools\nshort = functools.partial(helper, y='b')", "short(name)", "A {x}-b."),
        ("shout = lambda x, e='!': x + e", "shout('a') + shout('b', '?')", "a!b?"),
        (
            "def make(x):\n    def inner(y):\n        return f'{x}{y}'\n    return inner",
            "make('a')('b')",
            "ab",
        ),
        ("def make(x):\n    return lambda y: lambda z: x + y + z", "make('a')('b')('c')", "abc"),
        (
            "def parts():\n    yield 'a'\n    yield from more()\ndef more():\n    yield 'b'\n    yield 'c'",
            "'|'.join(parts())",
            "a|b|c",
        ),
        ("async def fetch():\n    return 'a'", "fetch()", "a"),
        ("def again(n):\n    return 'x' + again(n - 1)", "again(3)", "x{again(n - 1)}"),
        ("def fill(parts):\n    parts.append('b')", "'|'.join(build())", "a|b|c"),
        ("TABLE = {'a': lambda: 'of a', 'b': lambda: 'of b'}", "TABLE['b']()", "of b"),
        ("def text():\n    'The docstring.'", "text.__doc__", "The docstring."),
    ],
)
def test_forms(system: System, head: str, expression: str, expected: str) -> None:
    build = "def build():\n    parts = ['a']\n    fill(parts)\n    parts.append('c')\n    return parts\n"
    assert system(expression, f"{HELPER}\n{build}\n{head}\n") == expected


def test_a_call_on_its_own_can_fill_a_list_that_goes_on_to_the_prompt(system: System) -> None:
    head = "def add(xs, *more):\n    xs.append('from add')\n    xs.extend(more)\n"
    assert system("'|'.join(lines)", head, "lines = []\nadd(lines, 'x')\nlines.append('b')") == "from add|x|b"


@pytest.mark.parametrize(
    "decorator", ["functools.cache", "functools.lru_cache", "functools.lru_cache(maxsize=1)"]
)
def test_a_cache_freezes_for_the_process(system: System, decorator: str) -> None:
    head = (
        "import functools\nfrom datetime import datetime\n"
        f"@{decorator}\ndef stamp():\n    return f'Since {{datetime.now()}}'"
    )
    assert system("stamp()", head) == "Since {datetime.now() ~clock/process}"


def test_a_default_is_computed_once(system: System) -> None:
    head = "from datetime import datetime\ndef stamp(now=datetime.now()):\n    return f'Since {now}'"
    assert system("stamp()", head) == "Since {now ~clock/process}"


def test_an_argument_overrides_a_default(system: System) -> None:
    head = "from datetime import datetime\ndef stamp(now=None):\n    return f'Since {now or datetime.now()}'"
    assert system("stamp()", head) == "Since {now or datetime.now() ~clock/request}"
    assert system("stamp('noon')", head) == "Since noon"


def test_text_of_another_branch_is_kept_apart(system: System) -> None:
    head = "def greet(lang='en'):\n    return {'en': 'Hello', 'de': 'Hallo'}[lang]"
    assert system("greet()", head) == "Hello"
    assert system("greet('de')", head) == "Hallo"


def test_context_variables_carry_their_names(system: System) -> None:
    head = "from contextvars import ContextVar\nUSER = ContextVar('user_id')"
    assert system("f'For {USER.get()}: be brief.'", head) == "For {USER.get() ~per-user/user}: be brief."


@pytest.mark.parametrize("name", ["import os", "import os as o", "from os import getcwd"])
def test_a_lambda_sees_the_modules_that_its_file_imports(system: Callable[..., str], name: str) -> None:
    call = {"import os": "os.getcwd()", "import os as o": "o.getcwd()"}.get(name, "getcwd()")
    assert system("where()", f"{name}\nwhere = lambda: {call}\n") == "{os.getcwd ~environment/machine}"


@pytest.mark.parametrize(
    ("argument", "shown"),
    [
        ("path='p.md'", "Text of the file."),
        ("path=typer.Option('p.md', help='the prompt')", "Text of the file."),
        ("path=Option(default='p.md')", "Text of the file."),
        ("path='p'", "{open.read}"),  # a setting
        ("path=typer.Option(None)", "{open.read}"),
    ],
)
def test_a_default_that_names_a_file(system: Callable[..., str], argument: str, shown: str) -> None:
    head = "import typer\nfrom typer import Option\n"
    found = system(
        "open(path).read()", head, files={"p.md": "Text of the file."}, arguments=f"question, {argument}"
    )
    assert found == shown


@pytest.mark.parametrize("steps", [3, 200])
def test_a_worker_that_was_not_run_to_its_end_is_entered_for_itself(
    program: Callable[..., Program], steps: int
) -> None:
    before = "".join(f"        prompt += f'{{state.a{at}}}'\n" for at in range(steps))
    found = program(
        f"from openai import OpenAI\ndef ask(state):\n    def work():\n        prompt = ''\n{before}"
        "        messages = [{'role': 'system', 'content': prompt + 'Be brief.'}]\n"
        "        yield OpenAI().chat.completions.create(messages=messages)\n"
        "    def stream():\n        for one in work():\n            yield one\n    return stream()\n"
    )
    assert found.text.endswith("Be brief.")
