"""What Python asks of an object by itself: elements, text, entries, operators, and what a block is given."""

from __future__ import annotations

from collections.abc import Callable

import pytest

System = Callable[..., str]

NOW = "{datetime.now() ~clock/request}"
HEAD = "from datetime import datetime\n"
CLASS = HEAD + "class Doc:\n    def __init__(self):\n        self.parts = ['Be brief. ']\n"


@pytest.mark.parametrize(
    "methods",
    [
        "    def __iter__(self): return iter(self.parts)\n",
        "    def __iter__(self): yield from self.parts\n",
        "    def __iter__(self):\n        for part in self.parts:\n            yield part\n",
    ],
)
@pytest.mark.parametrize(
    "shown", ["''.join(d)", "''.join(p for p in d)", "''.join([*d])", "''.join(list(d))"]
)
def test_an_object_is_iterated_as_its_class_says(system: System, methods: str, shown: str) -> None:
    head = f"{CLASS}{methods}d = Doc()\nd.parts.append(f'Now {{datetime.now()}}')\n"
    assert system(shown, head).startswith("Be brief. Now {")


def test_what_a_view_goes_through_is_there_under_the_views_conditions(system: System) -> None:
    head = (
        f"{CLASS}    def __iter__(self): yield from self.parts\n"
        "class View:\n    def __init__(self, doc, hidden):\n        self.doc, self.hidden = doc, hidden\n"
        "    def __iter__(self):\n        for part in self.doc:\n            if self.hidden(part):\n"
        "                continue\n            yield part\n"
        "    def text(self): return ''.join(part for part in self)\n"
    )
    assert "Be brief. " in system("View(Doc(), hidden).text()", head)


@pytest.mark.parametrize("method", ["__str__(self)", "__repr__(self)", "__format__(self, spec)"])
def test_an_object_is_shown_as_its_class_says(system: System, method: str) -> None:
    head = f"{HEAD}class Now:\n    def {method}: return f'Now {{datetime.now()}}'\n"
    assert system("f'{Now()}. Be brief.'", head) == f"Now {NOW}. Be brief."
    assert system("'{x}. Be brief.'.format(x=Now())", head).startswith("Now {")


def test_operators(system: System) -> None:
    head = (
        "class Text:\n    def __init__(self, text): self.text = text\n"
        "    def __add__(self, other): return Text(self.text + other)\n"
        "    def __iadd__(self, other):\n        self.text += other\n        return self\n"
        "    def __str__(self): return self.text\n"
        "def both():\n    text = Text('Be ') + 'brief'\n    text += ' and kind.'\n    return str(text)\n"
    )
    assert system("both()", head) == "Be brief and kind."


def test_entries(system: System) -> None:
    head = (
        "class Prompts:\n    def __init__(self): self.all = {'system': 'Be brief.'}\n"
        "    def __getitem__(self, key): return self.all[key]\n"
        "    def __setitem__(self, key, value): self.all[key] = value\n"
        "def changed():\n    p = Prompts()\n    p['system'] = 'Be kind.'\n    return p['system']\n"
    )
    assert system("Prompts()['system']", head) == "Be brief."
    assert system("changed()", head) == "Be kind."


def test_a_block_is_given_what_its_manager_enters_with(system: System) -> None:
    head = (
        "class Section:\n    def __init__(self, lines, name):\n        self.lines, self.name = lines, name\n"
        "    def __enter__(self):\n        self.lines.append(f'<{self.name}>')\n        return self.lines\n"
        "    def __exit__(self, *error):\n        self.lines.append(f'</{self.name}>')\n"
        "class Builder:\n    def __init__(self): self.lines = []\n"
        "    def section(self, name): return Section(self.lines, name)\n"
        "def built():\n    b = Builder()\n    with b.section('rules') as lines:\n"
        "        lines.append('Be brief.')\n    return ''.join(b.lines)\n"
    )
    assert system("built()", head) == "<rules>Be brief.</rules>"


@pytest.mark.parametrize(
    ("base", "fill", "shown"),
    [
        ("list", "p.append('Be brief.')", "''.join(self)"),
        ("UserList", "p.append('Be brief.')", "''.join(self)"),
        ("dict", "p['rule'] = 'Be brief.'", "''.join(self.values())"),
        ("UserDict", "p['rule'] = 'Be brief.'", "self['rule']"),
    ],
)
def test_classes_of_collections(system: System, base: str, fill: str, shown: str) -> None:
    head = (
        f"from collections import UserDict, UserList\nclass Prompt({base}):\n    def text(self): return {shown}\n"
        f"def made():\n    p = Prompt()\n    {fill}\n    return p.text()\n"
    )
    assert system("made()", head) == "Be brief."


def test_a_class_of_texts(system: System) -> None:
    head = (
        "class Prompt(str):\n    def fill(self, **values): return Prompt(self.format(**values))\n"
        "P = Prompt('Be {how}.')\n"
    )
    assert system("P.fill(how='brief')", head) == "Be brief."


def test_a_class_of_texts_that_formats_in_its_own_way(system: System) -> None:
    head = (
        "class Prompt(str):\n    @property\n    def fields(self): return fields_of(self)\n"
        "    def format(self, *args, **values):\n        kept = {key: '{' + key + '}' for key in self.fields}\n"
        "        kept.update(values)\n        return Prompt(super().format(*args, **kept))\n"
        "P = Prompt('Be {how} to {who}.')\n"
    )
    assert system("str(P.format(how='kind', who='all'))", head) == "Be kind to all."


def test_a_list_that_its_constructor_fills(system: System) -> None:
    head = (
        "class Rules(list):\n    def __init__(self, first):\n        super().__init__([first])\n"
        "        self.append(' Be kind.')\n"
    )
    assert system("''.join(Rules('Be brief.'))", head) == "Be brief. Be kind."


def test_a_named_tuple_is_taken_apart(system: System) -> None:
    head = "from typing import NamedTuple\nclass Part(NamedTuple):\n    title: str\n    body: str\n"
    assert system("''.join(f'{t}: {b}' for t, b in [Part('Rule', 'be brief')])", head) == "Rule: be brief"


def test_an_object_made_of_its_maker_changes_that(system: System) -> None:
    head = (
        "class Child:\n    def __init__(self, parent): self.parent = parent\n"
        "    def add(self, text): self.parent.lines.append(text)\n"
        "class Parent:\n    def __init__(self): self.lines = []\n    def child(self): return Child(self)\n"
        "def made():\n    p = Parent()\n    p.child().add('Be brief.')\n    p.child().add(' Be kind.')\n"
        "    return ''.join(p.lines)\n"
    )
    assert system("made()", head) == "Be brief. Be kind."
