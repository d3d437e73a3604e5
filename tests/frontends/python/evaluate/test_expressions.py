"""Expressions whose text is a prompt: what is known stands as Python prints it, the rest as holes."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.frontends.python.build import LONG, Program

System = Callable[..., str]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("f'a {name} b'", "a {name} b"),
        ("f'{f\"<{name}>\"} b'", "<{name}> b"),
        ("f'''a\n{name}\n''' 'c' f'{{x}}'", "a\n{name}\nc{x}"),
        ("f'{name=}'", "name={name}"),
        ("f'{3=} {1 + 1 = !r:>4}'", "3=3 1 + 1 =    2"),
        ("f'{7:03d} {3.14159:.2f} {\"x\":>3}|{True} {None}'", "007 3.14   x|True None"),
        ("f'{\"it\"!r} {name!r}'", "'it' {name}"),
        ("f'{7:{width}d}'", "{7}"),
        ("'Total: ' + name + '.' * 3", "Total: {name}..."),
        ("'a' 'b' + \"c\"", "abc"),
        ("'x' if True else name", "x"),
        ("'' or 'fallback'", "fallback"),
        ("'given' or name", "given"),
        ("str(1 + 2 * 3)", "7"),
        ("f'{-3} {10 // 4} {10 / 4}'", "-3 2 2.5"),
        ("(text := 'walrus') + text", "walruswalrus"),
        ("'Hi {} {}!'.format(name, 'you')", "Hi {name} you!"),
        ("'{0}{1}{0}'.format('a', 'b')", "aba"),
        ("'Hi {a} {b} {{c}}'.format(a='x', b=name)", "Hi x {b} {c}"),
        ("'Hi {a}'.format_map({'a': 'x'})", "Hi x"),
        ("'Hi %s, %d%%' % (name, 3)", "Hi {name}, 3%"),
        ("'Hi %(who)s' % {'who': 'you'}", "Hi you"),
        ("'a-b'.replace('-', name)", "a{name}b"),
        ("' s '.strip() + 'Ab'.lower() + 'ab'.title() + 'abcd'[1:3] + 'abc'[-1]", "sabAbbcc"),
        ("'pre-x'.removeprefix('pre-')", "x"),
        ("f'{name.upper()}'", "{name.upper()}"),
    ],
)
def test_text(system: System, expression: str, expected: str) -> None:
    assert system(expression) == expected


def test_conditional_expression(system: System) -> None:
    assert system("'a' if flag else 'b'", arguments="question, flag") == "[flag? a][flag#1? b]"
    assert (
        system("'same ' + ('a' if flag else '') + 'end'", arguments="question, flag") == "same [flag? a]end"
    )


def test_stripping_goes_on_where_a_branch_leaves_nothing(system: System) -> None:
    flag = "question, flag"
    assert system("(('a' if flag else ' ') + ' b ').strip()", arguments=flag) == "[flag? a ]b"
    assert system("(' b ' + ('' if flag else 'a')).strip()", arguments=flag) == "b[flag#1?  a]"


def test_template_strings(system: System) -> None:
    head = "from string import Template\nT = Template('Hi $a ${b} $$5')"
    assert system("T.substitute(a=name, b='k')", head) == "Hi {a} k $5"
    assert system("T.safe_substitute(a='x')", head) == "Hi x {b} $5"


def test_dedent_keeps_the_text_that_is_printed(system: System) -> None:
    head = "import textwrap\nfrom inspect import cleandoc"
    assert system("textwrap.dedent('''\\\n    Hi\n      there\n''')", head) == "Hi\n  there\n"


def test_replacing_marks_in_a_loaded_text(system: System) -> None:
    head = "T = 'x <A> y <B> z'"
    assert system("T.replace('<A>', name).replace('<B>', 'q')", head) == "x {name} y q z"


def test_places(program: Callable[..., object]) -> None:
    source = (
        "from openai import OpenAI\n"
        "def ask(name):\n"
        "    OpenAI().chat.completions.create(messages=[{'role': 'user', 'content': f'é {name} \\n end'}])\n"
    )
    found = program(source)
    assert [found.source(s.place) for s in found.request.segments] == ["é ", "{name}", " \\n end"]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("expression", "shown"),
    [
        ("'builtin://plan.md'[len('builtin://'):]", "plan.md"),
        ("f'Ask {name}, '[:-2]", "Ask {name}"),
        ("f'- {name}!'[2:-1]", "{name}"),
        ("f'Ask {name}'[:-2]", "{f'Ask {name}'[:-2]}"),  # what is cut off is not known
    ],
)
def test_slices(system: System, expression: str, shown: str) -> None:
    assert system(expression, arguments="question, name, flag") == shown


def test_what_is_loaded_from_a_path_is_not_the_path(program: Callable[..., Program]) -> None:
    source = f"""
        import importlib.util
        from pathlib import Path
        def prompt(path):
            at = Path(path).resolve()
            tool = importlib.util.module_from_spec(importlib.util.spec_from_file_location("m", at)).run
            return f"{{SHOWN}}\\n{LONG}"
        """
    assert "PL105" in program(source.replace("SHOWN", "at")).codes
    assert "PL105" not in program(source.replace("SHOWN", "tool.__name__")).codes


@pytest.mark.parametrize(
    ("expression", "made"),
    [
        ("call.tool_call_id or uuid4().hex", False),
        ("self.session_id or uuid4().hex", True),
        ("session_id or uuid4().hex", True),
        ("call.name or uuid4().hex", True),
    ],
)
def test_an_identifier_for_what_has_none(system: System, expression: str, made: bool) -> None:
    head = "from uuid import uuid4\n"
    assert (
        "~identifier/request" in system(expression, head, arguments="self, question, call, session_id")
    ) is made
