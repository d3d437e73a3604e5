from __future__ import annotations

import io
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from promptlint.cli.stdin import guessed

Tree = Callable[[dict[str, str]], Path]
Run = Callable[..., tuple[int, str, str]]
CODE = "import os\n\nNAME = 1\n"


@pytest.mark.parametrize(
    ("text", "ending"),
    [
        (CODE, ".py"),
        ("# a note\n\nfrom app import ask\n\ndef f(:\n", ".py"),  # half typed
        ('"""Words."""\nPROMPT = f"It is {now()}"\n', ".py"),
        ("You are kind.\nimport os is a line of Python.\n", ".jinja"),
        ("{{ question }}", ".jinja"),
        ("question", ".jinja"),
        ("role: system\ncontent: hello\n", ".jinja"),  # annotations, to Python
        ("", ".jinja"),
        ('[{"role": "system", "content": "hello"}]', ".json"),
        ("{not json}", ".jinja"),
    ],
)
def test_what_a_text_looks_like(text: str, ending: str) -> None:
    assert guessed(text) == ending


@pytest.fixture
def pipe(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    return lambda text: monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))


@pytest.mark.usefixtures("toy_rules")
def test_an_assumption_is_said(run: Run, tree: Tree, pipe: Callable[[str], None]) -> None:
    tree({})
    pipe(CODE)
    code, out, err = run("check", "-")
    assert (code, out) == (0, "No findings in 1 file\n")
    assert err == "note: standard input is read as Python; --stdin-filename NAME says what it is\n"
    pipe(CODE)
    assert run("check", "-", "--quiet") == (0, "", "")
    code, _, err = run("check", "-", "--watch")
    assert (code, err.splitlines()[0]) == (2, "error: `-` cannot be watched")
    pipe("It is {{ now() }}.")
    code, out, err = run("check", "-", "--format", "concise")
    assert out.startswith("stdin.jinja:1:7: PL101")
    assert "read as a Jinja template" in err


@pytest.mark.usefixtures("toy_rules")
def test_a_name_decides_how_it_is_read_and_whether(run: Run, tree: Tree, pipe: Callable[[str], None]) -> None:
    root = tree({"sub/promptlint.toml": 'include = ["*.ask"]\nignore = ["PL101"]'})
    clock = "It is {{ now() }}.\nYou help.\n"
    pipe(clock)
    code, out, err = run("check", "-", "--stdin-filename", str(root / "a.j2"), "--format", "concise")
    assert (code, err) == (1, "")
    assert out.startswith("a.j2:1:7: PL101")  # as imports and includes know it
    pipe(clock)
    assert run("check", "-", "--stdin-filename", "sub/a.ask")[0] == 0  # the configuration beside the name
    pipe(clock)
    assert run("check", "-", "--stdin-filename", "build/a.j2", "--force-exclude") == (0, "", "")
