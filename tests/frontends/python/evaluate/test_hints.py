"""What annotations tell of values that nothing else is known of."""

from __future__ import annotations

from collections.abc import Callable

import pytest

System = Callable[..., str]

HEAD = """
from abc import abstractmethod
from datetime import datetime

class Clock:
    zone: str
    def stamp(self):
        return self.form(datetime.now())
    def form(self, moment):
        return moment.isoformat()
    def label(self):
        return f"Zone {self.zone}"

class Parts:
    clock: Clock
    main: "Clock | None" = None
    clocks: list[Clock]
    pair: tuple[str, Clock]
    named: dict[str, Clock]
    labels: set[str]
    ids: set[int]

class Agent:
    parts: Parts
    def __init__(self):
        self.kept: list[Clock] = []
    def keep(self, clock):
        self.kept.append(clock)
    @abstractmethod
    def made(self) -> Clock: ...
"""
TIME = "datetime.now() ~clock/request"


@pytest.mark.parametrize(
    ("expression", "found"),
    [
        ("agent.parts.clock.stamp()", True),
        ("agent.parts.main.stamp()", True),
        ("''.join(c.stamp() for c in agent.parts.clocks)", True),
        ("agent.parts.clocks[0].stamp()", True),
        ("''.join(c.stamp() for c in agent.parts.named.values())", True),
        ("''.join(c.stamp() for name, c in agent.parts.named.items())", True),
        ("agent.parts.named['main'].stamp()", True),
        ("agent.parts.named.get(question).stamp()", True),
        ("''.join(c.stamp() for c in agent.kept)", True),
        ("agent.made().stamp()", True),
        ("agent.parts.clock.label()", False),  # nothing in it changes unseen: it is not run
        ("agent.parts.pair[0].stamp()", False),  # which of a pair has which type is not asked
    ],
)
def test_a_method_of_the_class_that_an_annotation_names(system: System, expression: str, found: bool) -> None:
    shown = system(expression, HEAD, arguments="question, agent: Agent")
    assert ("~clock/request" in shown) is found


@pytest.mark.parametrize(
    ("expression", "found"),
    [
        ("', '.join(agent.parts.labels)", True),
        ("', '.join(tags)", True),
        ("', '.join(label for label in tags if label)", True),
        ("', '.join(sorted(tags))", False),
        ("f'{len(tags)} tags'", False),
        ("'yes' if question in tags else 'no'", False),
        ("', '.join(map(str, agent.parts.ids))", False),  # numbers stand the same way each time
        ("', '.join(numbers)", False),
    ],
)
def test_a_set_has_no_order(system: System, expression: str, found: bool) -> None:
    shown = system(expression, HEAD, arguments="question, agent: Agent, tags: set[str], numbers: set[int]")
    assert ("~unordered/process" in shown) is found


STORE = """
from datetime import datetime
class {name}:
    def latest(self):
        raise NotImplementedError
class Newest({name}):
    def latest(self):
        return datetime.now().isoformat()
class Agent:
    source: {name}
"""


@pytest.mark.parametrize(("name", "found"), [("Source", True), ("FileStore", False)])
def test_what_keeps_data_is_not_followed(system: System, name: str, found: bool) -> None:
    shown = system("agent.source.latest()", STORE.format(name=name), arguments="question, agent: Agent")
    assert ("~clock/request" in shown) is found


def test_a_context_variable_holds_what_it_is_annotated_to(system: System) -> None:
    head = HEAD + "from contextvars import ContextVar\nCLOCK: ContextVar[Clock] = ContextVar('clock')\n"
    assert "~clock/request}" in system("f'It is {CLOCK.get().stamp()}.'", head)


def test_a_name_is_what_it_is_annotated_to_be(system: System) -> None:
    head = (
        HEAD
        + "def shown():\n    clock: Clock = container.resolve('clock')\n    return f'It is {clock.stamp()}.'\n"
    )
    assert "~clock/request}" in system("shown()", head)


def test_a_method_that_was_written_in_another_module(system: System) -> None:
    other = (
        "\n" * 80 + "from datetime import datetime\ndef stamp(self):\n    return datetime.now().isoformat()\n"
    )
    head = "import other\nclass Clock:\n    stamp = other.stamp\nclass Agent:\n    clock: Clock\n"
    shown = system("agent.clock.stamp()", head, arguments="question, agent: Agent", files={"other.py": other})
    assert "~clock/request" in shown
