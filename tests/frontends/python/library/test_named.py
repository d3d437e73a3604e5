"""Templates that reach the program on ways that cannot be followed, found by file name and fields."""

from __future__ import annotations

from collections.abc import Callable

import pytest

System = Callable[..., str]
HEAD = """
from loading import load, settings
class Planner:
    def __init__(self):
        self.template = load(settings.path('prompt_file', '{name}'))['head']
planner = Planner()
"""


def prompt(system: System, path: str, text: str, given: str, name: str = "") -> str:
    return system(
        f"planner.template.format({given})",
        HEAD.format(name=name or path.rsplit("/", 1)[-1]),
        files={path: text},
        path="src/app.py",
        arguments="question, place, now",
    )


NOT_FOUND = "{planner.template.format(place='Rome')}"
YAML = "head: |-\n  Be kind.\n  {place} at {now}.\nother: |-\n  Only {place}.\n"


@pytest.mark.parametrize(
    ("path", "text", "given", "expected"),
    [
        (
            "src/plan.yaml",
            YAML,
            "place=place, now=now",
            "Be kind.\n{place ~request-input/request} at {now ~clock/request}.",
        ),
        ("src/plan.yaml", YAML, "place='Rome'", "Only Rome."),
        ("src/plan.md", "In {place}: {{x}}.", "place='Rome'", "In Rome: {x}."),
        ("src/plan.json", '{"a": ["no field", "At {now}"]}', "now='3'", "At 3"),
        # A text that needs more than it is given would fail; two that fit equally say nothing.
        ("src/plan.md", "In {place} at {hour}.", "place='Rome'", NOT_FOUND),
        ("src/plan.json", '["In {place}.", "At {place}."]', "place='Rome'", NOT_FOUND),
    ],
)
def test_a_text_with_these_fields_is_the_template(
    system: System, path: str, text: str, given: str, expected: str
) -> None:
    assert prompt(system, path, text, given) == expected


def test_a_file_that_is_not_named_is_not_looked_into(system: System) -> None:
    found = prompt(system, "src/plan.md", "In {place}.", "place='Rome'", name="route.md")
    assert found == NOT_FOUND
