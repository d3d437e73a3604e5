"""Registries that other modules fill while they are imported."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from tests.frontends.python.build import LONG, Program

Run = Callable[..., Program]
HEAD = "from datetime import datetime\nfrom app.registry import *\n"
CLOCK = "return f'It is {datetime.now():%H:%M:%S}.'"
SEND = f"""
from openai import OpenAI
from app.registry import NAME
RULES = {LONG!r}
def ask(question):
    OpenAI().chat.completions.create(model='m', messages=[
        {{'role': 'system', 'content': TEXT + RULES}}, {{'role': 'user', 'content': question}}])
"""


def sending(text: str) -> str:
    """Return a module that sends a text, and imports what that begins with or goes over."""
    named = re.search(r"SECTIONS|[rR]egistry|Section", text)
    assert named
    return SEND.replace("NAME", named[0]).replace("TEXT", text)


DECORATED = """
SECTIONS = {}
def section(name):
    def wrap(make):
        SECTIONS[name] = make
        return make
    return wrap
"""
LISTED = "SECTIONS = []\ndef section(make):\n    SECTIONS.append(make)\n    return make\n"
CALLED = "SECTIONS = {}\ndef register(name, make): SECTIONS[name] = make\n"
OBJECT = """
class Registry:
    def __init__(self): self._parts = []
    def register(self, order=0):
        def wrap(make):
            self._parts.append((order, make))
            return make
        return wrap
    def render(self): return ' '.join(make() for _, make in sorted(self._parts, key=lambda p: p[0]))
registry = Registry()
"""
CLASS = """
class Registry:
    _makers = {}
    @classmethod
    def register(cls, name):
        def wrap(maker):
            cls._makers[name] = maker
            return maker
        return wrap
    @classmethod
    def get(cls, name): return cls._makers[name]
"""
SUBCLASSED = """
class Section:
    every = []
    def __init_subclass__(cls, **options):
        super().__init_subclass__(**options)
        Section.every.append(cls)
"""
BARE = "class Section:\n    def text(self): raise NotImplementedError\n"

FUNCTION = f"def clock(): {CLOCK}\n"
METHOD = f"    def text(self): {CLOCK}\n"


@pytest.mark.parametrize(
    ("registry", "handed", "text"),
    [
        (DECORATED, f"@section('head')\n{FUNCTION}", "' '.join(make() for make in SECTIONS.values())"),
        (DECORATED, f"@section('head')\n{FUNCTION}", "SECTIONS['head']()"),
        (LISTED, f"@section\n{FUNCTION}", "' '.join(make() for make in SECTIONS)"),
        (CALLED, f"{FUNCTION}register('head', clock)\n", "' '.join(make() for make in SECTIONS.values())"),
        (OBJECT, f"@registry.register(order=2)\n{FUNCTION}", "registry.render()"),
        (CLASS, f"@Registry.register('head')\nclass Clock:\n{METHOD}", "Registry.get('head')().text()"),
        (SUBCLASSED, f"class Clock(Section):\n{METHOD}", "' '.join(one().text() for one in Section.every)"),
        (BARE, f"class Clock(Section):\n{METHOD}", "' '.join(c().text() for c in Section.__subclasses__())"),
    ],
)
def test_what_other_modules_hand_over(program: Run, registry: str, handed: str, text: str) -> None:
    """Nobody imports the module that does: programs find theirs by listing a folder."""
    files = {"app/__init__.py": "", "app/registry.py": registry, "app/send.py": sending(text)}
    assert "PL101" not in program(files).codes
    assert program({**files, "app/clock.py": HEAD + handed}).codes == ["PL101"]
    fixed = handed.replace("{datetime.now():%H:%M:%S}", "always late")
    assert program({**files, "app/clock.py": HEAD + fixed}).codes == []


def test_imports_of_other_forms(program: Run) -> None:
    """A package hands the decorator on; the module itself is imported; a function gives the registry."""
    text = "' '.join(make() for make in SECTIONS.values())"
    files = {"app/registry.py": DECORATED, "app/send.py": sending(text)}
    through = {**files, "app/__init__.py": "from .registry import section"}
    for given in (
        f"from app import section\n@section('head')\n{FUNCTION}",
        f"from app import registry\n@registry.section('head')\n{FUNCTION}",
        f"import app.registry as r\n@r.section('head')\n{FUNCTION}",
        "from . import registry as r\nr.section('head')(lambda: f'It is {datetime.now()}')\n",
    ):
        clock = f"from datetime import datetime\n{given}"
        assert program({**through, "app/clock.py": clock}).codes == ["PL101"], given


def test_examples_are_programs_of_their_own(program: Run) -> None:
    text = "' '.join(make() for make in SECTIONS.values())"
    files = {"app/__init__.py": "", "app/registry.py": DECORATED, "app/send.py": sending(text)}
    handed = f"{HEAD}@section('head')\n{FUNCTION}"
    assert program({**files, "examples/clock.py": handed}).codes == []


def test_a_decorator_that_keeps_nothing_changes_nothing(program: Run) -> None:
    """What a body runs on the way, and what functions put into collections later, is not there for all."""
    registry = "SECTIONS = {}\ndef timed(make): return make\ndef later(name, make): SECTIONS[name] = make\n"
    text = "' '.join(make() for make in SECTIONS.values())"
    clock = f"{HEAD}@timed\n{FUNCTION}\ndef start(): later('clock', clock)\n"
    files = {"app/__init__.py": "", "app/registry.py": registry, "app/send.py": sending(text)}
    assert program({**files, "app/clock.py": clock}).codes == []
