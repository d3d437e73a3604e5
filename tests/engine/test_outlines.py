"""A change in a module is only read again by who uses what changed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from promptlint.config import Config
from promptlint.engine import Request, check
from promptlint.frontends import python
from promptlint.report import Report

sys.setrecursionlimit(6000)  # as the analysis does; hypothesis minds a change within an example
Tree = Callable[[dict[str, str]], Path]

STABLE = "Answer with care, and say so when you do not know. " * 12
ASK = (
    "from openai import OpenAI\n"
    "from lib import head\n"
    "def ask(question):\n"
    f"    system = head() + '{STABLE}'\n"
    "    return OpenAI().chat.completions.create(model='gpt-4o', messages=[{'role': 'system', 'content': system}])\n"
)
LIB = "import time\ndef head():\n    return 'Hello. '\ndef other():\n    return time.time()\n"


@pytest.fixture
def analysed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the list of files that were analysed."""
    seen: list[str] = []
    inner = python.analyze

    def noting(*args: object, paths: Iterable[str], **options: object) -> Iterator[python.Unit]:
        def noted() -> Iterator[str]:
            for path in paths:
                seen.append(path)
                yield path

        return inner(*args, paths=noted(), **options)  # type: ignore[arg-type]

    monkeypatch.setattr(python, "analyze", noting)
    return seen


def run(root: Path, *, cache: bool = True) -> Report:
    return check(Request((".",), Config(root=root, cache=cache, jobs=1), root))


def test_who_does_not_use_what_changed_is_left_alone(tree: Tree, analysed: list[str]) -> None:
    root = tree({"app.py": ASK, "lib.py": LIB})
    assert run(root).active == ()
    analysed.clear()
    tree({"lib.py": "# a comment\n" + LIB.replace("time.time()", "'noon'")})
    assert run(root).active == ()
    assert analysed == ["lib.py"]
    analysed.clear()
    tree({"lib.py": LIB.replace("'Hello. '", "f'It is {time.time()}. '")})
    assert [f.code for f in run(root).active] == ["PL101"]
    assert analysed == ["app.py", "lib.py"]


def test_what_another_function_may_set_is_part_of_a_name(tree: Tree) -> None:
    quiet = "import time\nloud = False\ndef head():\n    return f'{time.time()} ' if loud else ''\ndef shout():\n    loud = True\n"
    root = tree({"app.py": ASK, "lib.py": quiet})
    assert run(root).active == ()
    tree({"lib.py": quiet.replace("    loud = True", "    global loud\n    loud = True")})
    assert [f.code for f in run(root).active] == ["PL101"]


def test_a_finding_that_points_into_a_file_moves_with_it(tree: Tree, analysed: list[str]) -> None:
    root = tree({"app.py": ASK, "lib.py": LIB.replace("'Hello. '", "f'It is {time.time()}. '")})
    (before,) = run(root).active
    analysed.clear()
    tree({"lib.py": "# one more line\n" + LIB.replace("'Hello. '", "f'It is {time.time()}. '")})
    (after,) = run(root).active
    assert analysed == ["app.py", "lib.py"]
    assert before.origin is not None
    assert after.origin is not None
    assert after.origin.span.start == before.origin.span.start + len("# one more line\n")


def test_a_run_over_one_file_does_not_spoil_the_others(tree: Tree, analysed: list[str]) -> None:
    root = tree({"app.py": ASK, "b.py": ASK, "lib.py": LIB})
    run(root)
    tree({"lib.py": LIB + "# one\n"})
    check(Request(("app.py",), Config(root=root, jobs=1), root))
    tree({"lib.py": LIB + "# two\n"})
    analysed.clear()
    run(root)
    assert analysed == ["lib.py"]


# The parts of a module that another one takes `head` from, each in several forms.
PARTS = (
    ("import time\n", "from datetime import datetime as time\n", "import uuid as time\n"),
    (
        "WORD = 'Hello. '\n",
        "WORD = f'{time.time()}'\n",
        "try:\n    WORD = str(time.time())\nexcept OSError:\n    WORD = ''\n",
    ),
    ("def word():\n    return WORD\n", "def word():\n    return 'Hi. '\n", "word = lambda: WORD\n"),
    ("", "# nothing\n", '"""Text."""\n', "WORDS = []\nWORDS.append(WORD)\n"),
    (
        "def head():\n    return word()\n",
        "def head():\n    return 'Hi. '\n",
        "head = word\n",
        "from more import head\n",
    ),
    (
        "",
        "word = str\n",
        "def unused():\n    return time.time()\n",
        "if __name__ == '__main__':\n    print(head())\n",
    ),
)
MORE = (
    "def head():\n    return 'More. '\n",
    "import uuid\ndef head():\n    return str(uuid.uuid4())\n",
    "from lib import word as head\n",
)
FORMS = st.tuples(*(st.integers(0, len(forms) - 1) for forms in PARTS), st.integers(0, len(MORE) - 1))


def files(forms: tuple[int, ...]) -> dict[str, str]:
    lib = "".join(part[at] for part, at in zip(PARTS, forms, strict=False))
    return {"app.py": ASK, "lib.py": lib, "more.py": MORE[forms[-1]]}


@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(versions=st.lists(FORMS, min_size=2, max_size=4))
def test_kept_results_are_those_of_a_run_without_any(
    versions: list[tuple[int, ...]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    root = tmp_path_factory.mktemp("tree")
    for forms in versions:
        for name, text in files(forms).items():
            (root / name).write_text(text, encoding="utf-8")
        assert run(root).findings == run(root, cache=False).findings
