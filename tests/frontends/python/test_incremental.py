"""What is kept between runs, and in which order files are read, does not change what is found."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from promptlint.frontends import python
from promptlint.frontends.base import Context
from promptlint.source import SourceFile
from tests.frontends.python.build import analyze, catalog

# Each file in several versions. They import one another in a circle and by way of a package.
VERSIONS = {
    "app.py": (
        (
            "from openai import OpenAI\nfrom lib import stamp\nfrom lib.texts import RULES, greet\nimport bot\n"
            "def ask(question):\n    system = f'{RULES} {greet(question)} {stamp()}'\n"
            "    return OpenAI().chat.completions.create(messages=[{'role': 'system', 'content': system}])\n"
        ),
        (
            "from openai import OpenAI\nfrom lib.texts import *\n"
            "def ask(question):\n    return OpenAI().chat.completions.create(messages=[{'role': 'system', 'content': RULES}])\n"
        ),
        "import lib\nsystem_prompt = f'You are here to help, {lib.stamp()}'\n",
    ),
    "lib/__init__.py": (
        "from .clock import stamp\n",
        "from .clock import other as stamp\n",
        "def stamp():\n    return 'fixed'\n",
        "",
    ),
    "lib/clock.py": (
        "from datetime import datetime\ndef stamp():\n    return datetime.now().isoformat()\ndef other():\n    return 'other'\n",
        "import uuid\ndef stamp():\n    return str(uuid.uuid4())\nother = stamp\n",
        "def stamp(:\n",
    ),
    "lib/texts.py": (
        "RULES = 'Be brief and kind in all you say.'\ndef greet(name):\n    return f'Hello {name}'\n",
        "from .clock import stamp\nRULES = f'Be brief. {stamp()}'\ndef greet(name):\n    return 'Hello'\n",
        "from pathlib import Path\nRULES = (Path(__file__).parent / 'rules.md').read_text()\ndef greet(name):\n    return name\n",
    ),
    "lib/rules.md": ("Rules from a file, quite long.", "Other rules from a file."),
    "bot.py": (
        (
            "from openai import OpenAI\nfrom lib.texts import RULES\nclass Bot:\n    def __init__(self):\n"
            "        self.messages = [{'role': 'system', 'content': RULES}]\n"
            "    def ask(self, text):\n        self.messages.append({'role': 'user', 'content': text})\n"
            "        return OpenAI().chat.completions.create(messages=self.messages)\n"
        ),
        "import app\nprompt = 'Say what you know about it.'\n",
    ),
}
States = dict[str, int]
STATES = st.fixed_dictionaries({path: st.integers(0, len(v) - 1) for path, v in VERSIONS.items()})
EDITS = st.lists(st.tuples(st.sampled_from(sorted(VERSIONS)), st.integers(0, 3)), min_size=1, max_size=4)


def texts(state: States) -> dict[str, str]:
    return {path: VERSIONS[path][at % len(VERSIONS[path])] for path, at in state.items()}


def by_path(units: list[python.Unit]) -> dict[str, python.Unit]:
    return {unit.path: unit for unit in units}


def again(files: dict[str, str], kept: dict[str, python.Unit], changed: set[str]) -> dict[str, python.Unit]:
    """Run once more over what changed and what was read from there, and keep the rest."""
    same = {path: unit for path, unit in kept.items() if not changed & {path, *unit.dependencies}}
    # A file without a unit had no trigger word; nothing it imports can give it one.
    silent = {path for path in files if path not in kept and path not in changed}
    sources = {path: SourceFile(path, text) for path, text in files.items()}
    paths = [path for path in files if path.endswith(".py")]
    context = Context(sources.get, listing=tuple(sources))
    again = [path for path in paths if path not in same and path not in silent]
    fresh = python.analyze(paths, context, catalog(), paths=again)
    return {**same, **by_path(list(fresh))}


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(STATES, st.lists(EDITS, min_size=1, max_size=3))
def test_an_edit_gives_what_a_cold_run_gives(state: States, rounds: list[list[tuple[str, int]]]) -> None:
    kept = by_path(analyze(texts(state)))
    for edits in rounds:
        before = texts(state)
        state = {**state, **dict(edits)}
        after = texts(state)
        kept = again(after, kept, {path for path in after if after[path] != before[path]})
        cold = by_path(analyze(after))
        assert {p: u.layouts for p, u in kept.items()} == {p: u.layouts for p, u in cold.items()}


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(STATES, st.permutations(sorted(VERSIONS)))
def test_the_order_of_the_files_does_not_matter(state: States, order: list[str]) -> None:
    files = texts(state)
    expected = by_path(analyze(files))
    found = by_path(analyze(files, order))
    assert {p: u.layouts for p, u in found.items()} == {p: u.layouts for p, u in expected.items()}


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(STATES)
def test_a_run_can_be_repeated(state: States) -> None:
    files = texts(state)
    assert analyze(files) == analyze(files)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(STATES, st.sets(st.sampled_from([p for p in sorted(VERSIONS) if p.endswith(".py")])))
def test_skipping_some_files_leaves_the_others_as_they_are(state: States, skipped: set[str]) -> None:
    files = texts(state)
    whole = by_path(analyze(files))
    part = by_path(analyze(files, paths=[p for p in files if p.endswith(".py") and p not in skipped]))
    assert part == {path: unit for path, unit in whole.items() if path not in skipped}
