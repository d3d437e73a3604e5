from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

from promptlint.config import Config
from promptlint.engine import Request, check
from promptlint.frontends import python

Tree = Callable[[dict[str, str]], Path]


def test_one_file_that_breaks_the_analysis_stands_alone(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tree({f"m{n}.py": "prompt = 'x'\n" for n in range(9)})
    given: list[list[str]] = []

    def analyze(*args: object, paths: Iterable[str], **kwargs: object) -> Iterator[python.Unit]:
        given.append([])
        for path in paths:
            given[-1].append(path)
            if path == "m5.py":
                raise ZeroDivisionError("toy")
            if path != "m4.py":  # nothing in it
                yield python.Unit(path, (), (path,))

    monkeypatch.setattr(python, "analyze", analyze)
    report = check(Request((".",), Config(root=root, cache=False, jobs=1), root))
    assert [(e.path, e.internal) for e in report.errors] == [("m5.py", True)]
    assert report.files == 8
    assert given == [[f"m{n}.py" for n in range(6)], ["m6.py", "m7.py", "m8.py"]]


def test_unchanged_files_are_skipped(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tree({"a.py": "prompt = 'x'\n", "b.py": "import a\n", "c.py": "prompt = 'z'\n"})
    given: list[list[str]] = []

    def analyze(*args: object, paths: Iterable[str], **kwargs: object) -> Iterator[python.Unit]:
        given.append([])
        for path in paths:
            given[-1].append(path)
            yield python.Unit(path, (), ("a.py", "b.py") if path == "b.py" else (path,))

    monkeypatch.setattr(python, "analyze", analyze)
    request = Request((".",), Config(root=root, jobs=1), root)
    check(request)
    check(request)
    assert given == [["a.py", "b.py", "c.py"]]
    tree({"a.py": "prompt = 'y'\n"})
    check(request)
    assert given[1:] == [["a.py", "b.py"]]  # and what was derived from it
    tree({"d.py": ""})
    check(request)
    assert given[2:] == [["a.py", "b.py", "c.py", "d.py"]]  # a new file may be what an import meant


def test_a_named_file_is_linked_with_its_project(tree: Tree) -> None:
    root = tree(
        {
            "pyproject.toml": "",
            "clock.py": "from datetime import datetime\n\n\ndef stamp():\n    return datetime.now().isoformat()\n",
            "app.py": (
                "from openai import OpenAI\n\nfrom clock import stamp\n\nRULES = 'You answer questions about ships. ' * 20\n\n\n"
                "def ask(question):\n    system = f'It is {stamp()}. {RULES}'\n"
                "    return OpenAI().chat.completions.create(model='gpt-4o', messages=[\n"
                "        {'role': 'system', 'content': system}, {'role': 'user', 'content': question}])\n"
            ),
        }
    )
    report = check(Request(("app.py",), Config(root=root, cache=False), root))
    (finding,) = report.active
    assert (finding.code, finding.primary.path) == ("PL101", "app.py")
    assert finding.origin is not None
    assert finding.origin.path == "clock.py"


@pytest.mark.parametrize("mark", ["pyproject.toml", "setup.py", ".git/HEAD"])
def test_a_named_folder_is_linked_with_its_project(tree: Tree, mark: str) -> None:
    root = tree(
        {
            mark: "",
            "clock.py": "from datetime import datetime\n\n\ndef stamp():\n    return datetime.now().isoformat()\n",
            "app/ask.py": (
                "from openai import OpenAI\n\nfrom clock import stamp\n\nRULES = 'You answer questions about ships. ' * 20\n\n\n"
                "def ask(question):\n    system = f'It is {stamp()}. {RULES}'\n"
                "    return OpenAI().chat.completions.create(model='gpt-4o', messages=[\n"
                "        {'role': 'system', 'content': system}, {'role': 'user', 'content': question}])\n"
            ),
        }
    )
    report = check(Request(("app",), Config(root=root, cache=False), root))
    (finding,) = report.active
    assert (finding.code, finding.primary.path, report.files) == ("PL101", "app/ask.py", 1)
    assert finding.origin is not None
    assert finding.origin.path == "clock.py"
