"""Texts that grow piece by piece: few of very many stages are looked at, and the whole where it is sent."""

from __future__ import annotations

import ast

from promptlint.frontends.python.prompts.stages import MAX_STAGES, Stages
from promptlint.frontends.python.syntax.slicing import skipped
from tests.frontends.python.build import analyze


def test_few_stages_are_all_looked_at_and_of_many_those_that_are_longer_by_a_quarter() -> None:
    stages = Stages()
    looked_at = [n for n in range(1, 130) if not stages.between("prompt", n)]
    assert looked_at == [*range(1, MAX_STAGES + 1), 80, 100, 125]


def test_a_shorter_text_of_the_same_name_is_looked_at() -> None:
    stages = Stages()
    assert not any(stages.between("prompt", n) for n in range(1, MAX_STAGES + 1))
    assert not stages.between("prompt", 7)
    assert stages.between("prompt", 70)
    assert not stages.between("other", 70)


def test_a_prompt_of_a_thousand_steps_is_sent_whole_and_shown_in_few_stages() -> None:
    steps = "".join(
        f'    if mode == {n}:\n        prompt += "Rule {n} of this long list.\\n"\n' for n in range(1000)
    )
    program = (
        "from openai import OpenAI\n"
        "def ask(mode):\n"
        '    prompt = "You follow these rules."\n'
        f"{steps}"
        '    OpenAI().chat.completions.create(model="gpt-4o", messages=[{"role": "system", "content": prompt}])\n'
    )
    [unit] = analyze({"ask.py": program})
    assert len(unit.layouts) < 2 * MAX_STAGES
    sent = next(layout for layout in unit.layouts if layout.name == "request in ask")
    assert sum(segment.text is not None for segment in sent.segments) == 1001


def test_what_a_statement_needs_is_followed_through_thousands_of_names() -> None:
    chain = "\n".join(f"    a{n} = a{n - 1} + 1\n    b{n} = b{n - 1} + 1" for n in range(3000, 0, -1))
    [function] = ast.parse(f"def ask(a0, b0):\n{chain}\n    complete(a3000)\n").body
    assert isinstance(function, ast.FunctionDef)
    idle = skipped(function)
    assert len(idle) == 3000
    assert {s.targets[0].id[0] for s in function.body if id(s) in idle and isinstance(s, ast.Assign)} == {"b"}  # type: ignore[attr-defined]


def test_a_chain_of_alternatives_runs_where_one_of_them_does() -> None:
    tests = "".join(f"    elif mode == {n}:\n        idle = {n}\n" for n in range(1, 400))
    text = f"def ask(mode):\n    if mode == 0:\n        idle = 0\n{tests}    else:\n        complete(mode)\n"
    [function] = ast.parse(text).body
    assert isinstance(function, ast.FunctionDef)
    assert len(skipped(function)) == 400  # the assignments, not the conditions around the call
