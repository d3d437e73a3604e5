"""Imports resolved to files of the project."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.frontends.python.build import run

CLOCK = "from datetime import datetime\ndef stamp():\n    return datetime.now().isoformat()\nTEXT = 'fixed'\n"
TRACED = "{%s ~clock/request} x"


@pytest.mark.parametrize(
    ("head", "callee", "path", "files"),
    [
        ("from clock import stamp", "stamp()", "app.py", {"clock.py": CLOCK}),
        ("import clock", "clock.stamp()", "app.py", {"clock.py": CLOCK}),
        ("import pkg.clock as c", "c.stamp()", "app.py", {"pkg/clock.py": CLOCK, "pkg/__init__.py": ""}),
        ("import pkg.clock", "pkg.clock.stamp()", "app.py", {"pkg/clock.py": CLOCK, "pkg/__init__.py": ""}),
        ("from pkg import clock", "clock.stamp()", "app.py", {"pkg/clock.py": CLOCK, "pkg/__init__.py": ""}),
        (
            "from pkg import now",
            "now()",
            "app.py",
            {"pkg/clock.py": CLOCK, "pkg/__init__.py": "from .clock import stamp as now"},
        ),
        (
            "from pkg import *",
            "stamp()",
            "app.py",
            {"pkg/clock.py": CLOCK, "pkg/__init__.py": "from .clock import *"},
        ),
        ("from .clock import stamp", "stamp()", "pkg/app.py", {"pkg/clock.py": CLOCK, "pkg/__init__.py": ""}),
        ("from ..util.clock import stamp", "stamp()", "pkg/sub/app.py", {"pkg/util/clock.py": CLOCK}),
        (
            "from . import clock",
            "clock.stamp()",
            "pkg/app.py",
            {"pkg/clock.py": CLOCK, "pkg/__init__.py": ""},
        ),
        (
            "from mypkg.clock import stamp",
            "stamp()",
            "src/mypkg/app.py",
            {"src/mypkg/clock.py": CLOCK, "src/mypkg/__init__.py": ""},
        ),
        (
            "from mypkg.clock import stamp",
            "stamp()",
            "scripts/app.py",
            {"src/mypkg/clock.py": CLOCK, "src/mypkg/__init__.py": ""},
        ),
        ("from ns.clock import stamp", "stamp()", "ns/app.py", {"ns/clock.py": CLOCK}),
        ("from a.b.clock import stamp", "stamp()", "app.py", {"a/b/clock.py": CLOCK}),
    ],
)
def test_ways_to_import(
    system: Callable[..., str], head: str, callee: str, path: str, files: dict[str, str]
) -> None:
    assert system(f"f'{{{callee}}} x'", head, files=files, path=path) == TRACED % callee


def test_of_two_modules_of_one_name_the_nearer_is_meant(system: Callable[..., str]) -> None:
    files = {"one/util/text.py": "TEXT = 'of one'", "two/util/text.py": "TEXT = 'of two'"}
    for root in ("one", "two"):
        shown = system("TEXT", "from util.text import TEXT", files=files, path=f"{root}/app.py")
        assert shown == f"of {root}"


def test_a_module_of_the_standard_library_is_not_a_file_of_that_name(system: Callable[..., str]) -> None:
    files = {"other/random.py": "def choice(xs):\n    return 'mine'\n"}
    assert (
        system("random.choice(['a', 'b'])", "import random", files=files) == "{random.choice ~random/request}"
    )


def test_modules_that_import_each_other(system: Callable[..., str]) -> None:
    files = {"two.py": "import app\nB = 'b'\ndef f():\n    return app.A + B\n"}
    assert system("two.f()", "import two\nA = 'a'\n", files=files) == "ab"


def test_an_import_inside_a_function(system: Callable[..., str]) -> None:
    assert system("TEXT", body="from clock import TEXT", files={"clock.py": CLOCK}) == "fixed"


def test_what_is_computed_at_import_is_fixed_for_the_process(system: Callable[..., str]) -> None:
    files = {"clock.py": f"{CLOCK}STARTED = stamp()\n"}
    assert system("f'{STARTED} x'", "from clock import STARTED", files=files) == "{STARTED ~clock/process} x"


def test_the_finding_names_origin_and_way(program: Callable[..., object]) -> None:
    found = program(
        {
            "app.py": (
                "from openai import OpenAI\nfrom clock import stamp\nRULES = 'You answer questions about ships. ' * 20\n"
                "def ask(question):\n    system = f'It is {stamp()}. {RULES}'\n"
                "    return OpenAI().chat.completions.create(messages=[{'role': 'system', 'content': system}])\n"
            ),
            "clock.py": CLOCK,
        }
    )
    finding = next(f for f in found.findings if f.code == "PL101")  # type: ignore[attr-defined]
    assert found.source(finding.primary) == "{stamp()}"  # type: ignore[attr-defined]
    assert finding.origin is not None
    assert (finding.origin.path, found.source(finding.origin)) == ("clock.py", "datetime.now()")  # type: ignore[attr-defined]


def test_stars_in_a_circle_end_where_a_name_is_nowhere() -> None:
    files = {f"m{i}.py": "".join(f"from m{j} import *\n" for j in range(9) if j != i) for i in range(9)}
    files["app.py"] = (
        "from openai import OpenAI\nfrom m0 import *\n"
        "def ask():\n"
        "    text = nowhere() + 'You are a kind helper.'\n"
        "    return OpenAI().chat.completions.create(messages=[{'role': 'system', 'content': text}])\n"
    )
    assert run(files).text.endswith("You are a kind helper.")


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("deep", "[settings.deep? Think. ]Answer."),  # another file may set it
        ("client", "[settings.client? Think. ]Answer."),
        ("DEEP", "Answer."),
        ("on", "[settings.on? Think. ]Answer."),
        ("limit", "Think. Answer."),
    ],
)
def test_a_switch_of_a_module_is_set_elsewhere(system: Callable[..., str], name: str, shown: str) -> None:
    settings = {"settings.py": "deep = False\nclient = None\nDEEP = False\non = True\nlimit = 3\n"}
    body = f"text = ''\nif settings.{name}:\n    text += 'Think. '"
    assert system("text + 'Answer.'", "import settings", body, files=settings) == shown
