from __future__ import annotations

import json
import re
import subprocess
import tomllib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import click
import pytest
import yaml
from click.testing import CliRunner

from promptlint.cli.watching import changes
from promptlint.config import Config, load
from promptlint.engine.judge import Judge
from promptlint.findings import Edit, Finding, Fix
from promptlint.layout import Layout

Tree = Callable[[dict[str, str]], Path]
Run = Callable[..., tuple[int, str, str]]
BAD = "It is {{ now() }}.\nYou are a helpful assistant.\n"


@pytest.mark.parametrize(
    "command", ["check", "layout", "fix", "diff", "explain", "rules", "init", "completion"]
)
def test_every_command_has_help(run: Run, command: str) -> None:
    code, out, _ = run(command, "--help")
    assert code == 0
    assert out.startswith(f"Usage: promptlint {command}")


def test_help_lists_the_commands_and_exit_codes(run: Run) -> None:
    code, out, _ = run("--help")
    assert code == 0
    assert "Find what breaks the prefix cache in code and templates." in out
    assert "Exit codes: 0 clean, 1 findings, 2 usage, 3 nothing to check, 4 internal error." in " ".join(
        out.split()
    )


def test_rules_and_explain(run: Run) -> None:
    code, out, _ = run("rules", "--format", "json")
    assert code == 0
    rules = json.loads(out)
    for rule in rules[:3]:
        code, out, _ = run("explain", rule["code"].lower())
        assert code == 0
        assert out.startswith(f"{rule['code']} {rule['name']}")
        assert rule["summary"] in out
        assert run("explain", rule["name"])[0] == 0


def test_explain_suggests(run: Run) -> None:
    code, _, err = run("explain", "clock-before-stabel")
    assert code == 2
    assert "clock-before-stabel: no such rule" in err


def test_explain_lists_a_family(run: Run) -> None:
    code, out, _ = run("explain", "pl4")
    assert code == 0
    assert [line.split()[0] for line in out.splitlines()] == ["PL401", "PL402", "PL403", "PL404"]
    assert out.splitlines()[1].endswith(
        "renders an earlier turn differently once the conversation has gone on."
    )
    assert run("explain", "")[0] == 2


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion(run: Run, shell: str) -> None:
    code, out, _ = run("completion", shell)
    assert code == 0
    assert "_PROMPTLINT_COMPLETE" in out


def test_init_writes_config_and_hook_once(run: Run, tree: Tree) -> None:
    root = tree({})
    code, out, _ = run("init")
    assert code == 0
    assert "promptlint.toml: written" in out
    assert load(root / "promptlint.toml") == Config(root=root, source=root / "promptlint.toml")
    hooks = yaml.safe_load((root / ".pre-commit-config.yaml").read_text())
    assert hooks["repos"][0]["hooks"][0]["entry"] == "promptlint check --force-exclude"
    before = {p.name: p.read_text() for p in root.iterdir()}
    assert run("init")[0] == 0
    assert {p.name: p.read_text() for p in root.iterdir()} == before


def test_init_adds_to_what_is_there(run: Run, tree: Tree) -> None:
    root = tree(
        {
            "pyproject.toml": '[project]\nname = "x"\n',
            ".pre-commit-config.yaml": "repos:\n- repo: local\n  hooks: []\nci:\n  skip: []\n",
        }
    )
    assert run("init", "--no-hook")[0] == 0
    assert "promptlint" not in (root / ".pre-commit-config.yaml").read_text()
    data = tomllib.loads((root / "pyproject.toml").read_text())
    assert data["project"]["name"] == "x"
    assert data["tool"]["promptlint"] == {"scopes": {}}


def test_init_leaves_hooks_it_does_not_understand(run: Run, tree: Tree) -> None:
    text = "repos: [{repo: local, hooks: []}]\n"
    root = tree({".pre-commit-config.yaml": text})
    code, _, err = run("init")
    assert code == 2
    assert "add the hook by hand" in err
    assert (root / ".pre-commit-config.yaml").read_text() == text


@pytest.mark.parametrize(
    ("text", "repositories", "keys"),
    [
        ("repos:\n- repo: one\n  hooks: []\nci:\n  skip: []\n", ["one", "local"], ["repos", "ci"]),
        (
            "repos:\n  - repo: one\n    hooks: []\n\n# of the service\nci: {}\n",
            ["one", "local"],
            ["repos", "ci"],
        ),
        (
            "repos:\n  - repo: one\n    hooks:\n      - id: a\n    # b\n  - repo: two\n    hooks: []",
            ["one", "two", "local"],
            ["repos"],
        ),
        ("repos:\r\n- repo: one\r\n  hooks: []\r\n", ["one", "local"], ["repos"]),
        ("# hooks\nrepos:\n", ["local"], ["repos"]),
        ("# none yet\n", ["local"], ["repos"]),
    ],
)
def test_init_adds_its_hook_to_the_list(
    run: Run, tree: Tree, text: str, repositories: list[str], keys: list[str]
) -> None:
    path = tree({}) / ".pre-commit-config.yaml"
    path.write_bytes(text.encode())
    assert run("init")[0] == 0
    new = path.read_bytes().decode()
    data = yaml.safe_load(new)
    assert ([one["repo"] for one in data["repos"]], list(data)) == (repositories, keys)
    assert data["repos"][-1]["hooks"][0]["id"] == "promptlint"
    assert new.count("\r\n") == (new.count("\n") if "\r" in text else 0)


def test_init_leaves_a_hidden_configuration(run: Run, tree: Tree) -> None:
    root = tree({".promptlint.toml": ""})
    assert run("init", "--no-hook")[1] == ".promptlint.toml: left as it is\n"
    assert not (root / "promptlint.toml").exists()


def git(root: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    subprocess.run(["git", *identity, *arguments], cwd=root, check=True, capture_output=True)


@pytest.mark.usefixtures("toy_rules")
def test_diff_reports_only_what_is_new(run: Run, tree: Tree) -> None:
    root = tree({"a.j2": BAD, "sub/b.j2": "x"})
    git(root, "init", "-q")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "one")
    assert run("diff")[0] == 0
    tree({"a.j2": "moved\n" + BAD, "sub/c.j2": "Now: {{ now() }}"})
    code, out, _ = run("diff", "HEAD", "--format", "concise")
    assert code == 1
    assert out.startswith("sub/c.j2:1:6: PL101")
    assert "1 already in HEAD" in out
    assert run("diff", "HEAD", "a.j2")[0] == 0
    assert run("diff", "HEAD", "sub/c.j2")[0] == 1  # not there before
    assert "`promptlint diff HEAD a.j2` compares this path" in run("diff", "a.j2")[2]
    assert run("diff", "HEAD", "--ignore", "PL101", "--quiet") == (0, "", "")
    assert run("diff", "HEAD", "-o", "out.json", "--format", "json")[:2] == (1, "")
    assert json.loads((root / "out.json").read_text())["summary"]["active"] == 1
    code, _, err = run("diff", "no-such-branch")
    assert code == 2
    assert "no-such-branch" in err


@pytest.fixture
def fixable(toy_rules: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the toy rule offer an edit: drop the clock."""
    inner = Judge.findings

    def findings(self: Judge, layouts: Iterable[Layout]) -> Iterator[Finding]:
        from dataclasses import replace

        for finding in inner(self, layouts):
            yield replace(finding, fix=Fix("drop it", (Edit(finding.primary, "today"),), safe=True))

    monkeypatch.setattr(Judge, "findings", findings)


@pytest.mark.usefixtures("fixable")
def test_fix_writes_files_as_they_were(run: Run, tree: Tree) -> None:
    root = tree({})
    original = "\ufeffé {{ now() }}\r\n{{ now() }}\r\n".encode()
    (root / "a.j2").write_bytes(original)
    code, out, err = run("fix", "--diff")
    assert code == 1
    assert out == "--- a/a.j2\n+++ b/a.j2\n@@ -1,2 +1,2 @@\n-é {{ now() }}\n-{{ now() }}\n+é today\n+today\n"
    assert "2 findings would be mended in 1 file; remaining: 0" in err
    assert (root / "a.j2").read_bytes() == original
    code, _, err = run("fix")
    assert code == 0
    assert (root / "a.j2").read_bytes() == "\ufeffé today\r\ntoday\r\n".encode()
    assert sorted(p.name for p in root.iterdir()) == [".cache", "a.j2"]
    assert run("check")[0] == 0


LISTING = """
import os

from openai import OpenAI

RULES = "Answer questions about ships and their cargo, and name the file that you took the answer from. " * 20


def ask(client: OpenAI, question: str, folder: str):
    text = f"Files: {chr(10).join(os.listdir(folder))}\\n{RULES}"
    messages = [{"role": "system", "content": text}, {"role": "user", "content": question}]
    return client.chat.completions.create(model="gpt-4o", messages=messages)


def say(client: OpenAI, question: str):
    text = f"The question: {question}\\n{RULES}"
    return client.chat.completions.create(model="gpt-4o", messages=[{"role": "system", "content": text}])
"""


def test_fix_names_what_it_leaves(run: Run, tree: Tree) -> None:
    root = tree({"app.py": LISTING, "build/b.py": LISTING, ".git/x": ""})
    code, out, err = run("fix", "app.py")
    assert code == 1
    assert "sorted(os.listdir(folder))" in (root / "app.py").read_text()
    left = out.splitlines()
    assert all(line.startswith("app.py:") for line in left)
    assert any(": PL108 warning: the input `question`" in line for line in left)
    assert not any("PL202" in line for line in left)
    assert err == f"1 finding mended in 1 file; remaining: {len(left)}\n"
    code, out, err = run("fix", "app.py", "--exit-zero")
    assert (code, out.splitlines()) == (0, left)
    assert err == f"no finding that can be mended safely; remaining: {len(left)}\n"
    assert run("fix", "--force-exclude", "build/b.py") == (0, "", "")
    assert run("fix", "app.py", "--select", "PL701") == (0, "", "nothing to mend\n")
    assert (root / "build/b.py").read_text() == LISTING
    assert run("fix", "--ignore", "PL1", "app.py")[0] == 0


def test_fix_names_the_file_it_cannot_write(run: Run, tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    tree({"app.py": LISTING})

    def refuse(path: Path) -> None:
        raise OSError(13, "Permission denied", f"{path}.tmp")

    monkeypatch.setattr("promptlint.cli.fix.replacing", refuse)
    code, _, err = run("fix", "app.py")
    assert (code, err.splitlines()[0]) == (2, "error: app.py: cannot be written: Permission denied")


def test_watch_yields_after_a_change(tree: Tree) -> None:
    root = tree({"a.j2": "x"})
    seen = changes(["."], Config(root=root), pause=0.01)
    next(seen)
    (root / "b.j2").write_text("y")
    next(seen)  # would wait for ever if the new file were not seen


@pytest.mark.parametrize("name", ["check", "trace", "replay"])
def test_help_names_every_option_under_a_heading(name: str) -> None:
    from importlib import import_module

    command = import_module(f"promptlint.cli.{name}").command
    text = CliRunner().invoke(command, ["--help"]).output
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            assert max(parameter.opts, key=len) in text
    # Only --help is left for the last heading: a new option belongs to a section.
    assert re.search(r"\nOptions:\n\s+(-h, )?--help\s[^\n]*\n\Z", text), text[-300:]
