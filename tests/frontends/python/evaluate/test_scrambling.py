"""Collections that loops without fixed order fill, however much of the loop is followed."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.frontends.python.build import LONG, Program, send

System = Callable[..., str]

LOAD = """
from pathlib import Path
from other import folder, parse
def load(known):
    found = {start}
    for path in {over}:
        skill = parse(path)
        if skill is None or {early}:
            continue
        {keep}
    {end}
    return found
"""


@pytest.mark.parametrize(
    ("values", "disorder"),
    [
        ({}, True),
        ({"early": "True"}, True),  # what is kept was not come to
        ({"over": "sorted(Path(folder).iterdir())"}, False),
        ({"end": "found.sort()"}, False),
        ({"early": "True", "end": "found.sort()"}, False),
        ({"start": "{}", "keep": "found[path.name] = skill", "early": "True"}, True),
        ({"end": "found = sorted(found)"}, False),
        ({"keep": "known.append(skill)", "early": "True"}, False),
    ],
)
def test_what_a_loop_fills_has_its_order(system: System, values: dict[str, str], disorder: bool) -> None:
    given = {
        "start": "[]",
        "over": "Path(folder).iterdir()",
        "early": "skill.hidden",
        "keep": "found.append(skill)",
        "end": "pass",
    }
    found = system("'Skills: ' + ', '.join(load([]))", LOAD.format(**(given | values)))
    assert ("~unordered" in found) is disorder


REGISTRY = """
from pathlib import Path
class Registry:
    def __init__(self):
        self.skills = {}
    def register(self, skill):
        self.skills[skill.name] = skill
    def load(self, folder):
        for path in PATHS:
            self.register(Skill(path))
    def names(self):
        return ", ".join(self.skills)
"""
LAZY = """
made = None
def registry():
    global made
    if made is None:
        made = Registry()
    return made
"""


@pytest.mark.parametrize("over", ["Path(folder).glob('*.md')", "sorted(Path(folder).glob('*.md'))"])
@pytest.mark.parametrize(
    ("head", "body", "expression"),
    [
        (LAZY, "registry().load(folder)", "f'Skills: {registry().names()}'"),
        (LAZY, "", "f'Skills: {registry().names()}'"),  # somebody else loads them
        ("made = Registry()", "", "f'Skills: {made.names()}'"),
    ],
)
def test_a_registry_that_a_process_has_one_of_was_filled_by_its_methods(
    system: System, head: str, body: str, expression: str, over: str
) -> None:
    found = system(expression, REGISTRY.replace("PATHS", over) + head, body, arguments="question, folder")
    assert ("~unordered" in found) is (not over.startswith("sorted"))


def test_an_object_of_one_request_holds_what_was_put_into_it(system: System) -> None:
    registry = REGISTRY.replace("PATHS", "Path(folder).glob('*.md')")
    assert "~unordered" not in system("f'Skills: {made.names()}'", registry, "made = Registry()")


def test_alternatives_are_as_long_as_the_longest(program: Callable[..., Program]) -> None:
    body = """
    if folder:
        shown = ", ".join(set(folder))
    elif question:
        shown = "Nothing was found."
    else:
        shown = "Nothing to find."
    """
    found = program(send(f"f'Skills: {{shown}} {LONG}'", "", body, "question, folder"))
    assert {found.source(f.primary) for f in found.findings if f.code == "PL201"} == {"{shown}"}


ROWS = """
from other import library
def section(names, hidden):
    rows = ["<available_skills of the shop>"]
    {loop}
    rows.append("</available_skills>")
    return "\\n".join({joined})
"""
PRINTS = "for name in {}:\n        rows.append(f'- {{name}}')"


@pytest.mark.parametrize(
    ("loop", "joined", "expected"),
    [
        (PRINTS.format("set(names) - set(hidden)"), "rows", "set(names) - set(hidden)"),
        (PRINTS.format("set(names)"), "rows", "set(names)"),
        (PRINTS.format("sorted(set(names) - set(hidden))"), "rows", None),
        (PRINTS.format("set(names)"), "sorted(rows)", None),
        # An element that is left out, and one that is long in the making.
        (
            "for name in set(names):\n        one = library.get(name)\n        if one is not None:\n            rows.append(one)",
            "rows",
            "set(names)",
        ),
        ("rows += [f'- {name}' for name in set(names)]", "rows", '"\\n".join(rows)'),
    ],
)
def test_the_order_of_lines_comes_in_at_the_loop_that_makes_them(
    program: Callable[..., Program], loop: str, joined: str, expected: str | None
) -> None:
    source = ROWS.format(loop=loop, joined=joined)
    found = program(
        send("section(names, hidden) + LONG", f"{source}LONG = {LONG!r}", "", "question, names, hidden")
    )
    places = [found.source(one.primary) for one in found.findings if one.code == "PL201"]
    assert places == ([] if expected is None else [expected])


def test_lines_that_another_function_makes_come_in_where_they_are_joined(
    program: Callable[..., Program],
) -> None:
    head = f"""
def lines(names):
    rows = ["Here is all that you can do for the people who ask:"]
    for name in set(names):
        rows.append("- " + name)
    return rows
LONG = {LONG!r}
"""
    found = program(send("' '.join(lines(names)) + LONG", head, "", "question, names"))
    (finding,) = [one for one in found.findings if one.code == "PL201"]
    assert found.source(finding.primary) == "' '.join(lines(names))"
