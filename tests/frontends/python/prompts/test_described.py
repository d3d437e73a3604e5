"""Tools that are told their description by a decorator or in a call, as a text or as a function that makes it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.frontends.python.build import Program

Run = Callable[..., Program]

HEAD = """
from datetime import date, datetime
from acme import Registry, find, function_tool, registry, router
def words(): return f"Finds free courts. It is {datetime.now()}."
def fixed(): return "Finds free courts on a day."
"""


@pytest.mark.parametrize(
    ("decorator", "changes"),
    [
        ("@registry.tool({}, describe=words)", True),
        ("@registry.tool(words)", True),
        ("@registry.tool(lambda: f'Finds courts. It is {datetime.now()}.')", True),
        ("@function_tool(description_override=f'Finds courts. It is {datetime.now()}.')", True),
        ("@registry.tool({}, describe=fixed)", False),
        ("@registry.tool(day=words)", False),
        ("@router.get(description=words)", False),  # of a page
        ("@function_tool", False),
    ],
)
def test_a_decorator(program: Run, decorator: str, changes: bool) -> None:
    found = program(
        f"{HEAD}\ndef prompt():\n    {decorator}\n    def inner(day): return day\n    return inner\n"
    )
    assert found.codes == (["PL302"] if changes else [])


@pytest.mark.parametrize(
    ("call", "changes"),
    [
        ("Registry().add_tool('find', find, description=words)", True),
        ("Registry().add('find', handler=find, describe=words)", True),
        ("Registry().add('find', handler=find, describe=fixed)", False),
        ("Registry().page('find', describe=words)", False),
    ],
)
def test_a_call(program: Run, call: str, changes: bool) -> None:
    found = program(f"{HEAD}\ndef tools():\n    return {call}\n")
    assert found.codes == (["PL302"] if changes else [])


RULES = "Find a court for the guest. Never book one twice. Say which hall it is in, and which shoes are allowed there."


@pytest.mark.parametrize(
    ("tool", "changes"),
    [
        ("@function_tool(description_override=f'Of {date.today()}.')\ndef courts(day): return day", True),
        ("@function_tool(description_override='Of today.')\ndef courts(day): return day", False),
        (
            (
                "class CourtsTool:\n    def __init__(self):\n        self.description = f'Of {date.today()}.'\n"
                "courts = CourtsTool()"
            ),
            True,
        ),
        (
            (
                "class CourtsTool:\n    @property\n    def description(self):\n        return f'Of {date.today()}.'\n"
                "courts = CourtsTool()"
            ),
            True,
        ),
        ("class CourtsTool:\n    description = 'Of today.'\ncourts = CourtsTool()", False),
        ("def courts(day): return day\ncourts.__doc__ = f'Of {date.today()}.'", True),
        ("def courts(day): return day\ncourts.__doc__ = 'Of today.'", False),
        (
            "from acme import CourtsTool\ncourts = CourtsTool(name='courts', description=f'Of {date.today()}.')",
            True,
        ),
    ],
)
def test_what_a_tool_says_stands_in_front_of_the_instructions(program: Run, tool: str, changes: bool) -> None:
    found = program(
        f"{HEAD}\nfrom agents import Agent\n{tool}\nAgent(instructions={RULES!r}, tools=[courts])\n"
    )
    assert ("PL302" in found.codes) is changes


@pytest.mark.parametrize(
    ("annotation", "found"),
    [
        ("Annotated[str, Field(description='The meal.', json_schema_extra={'enum': list(ids)})]", True),
        ("Annotated[str, Field(json_schema_extra={'enum': [*ids, 'none']})] | None", True),
        ("Literal[tuple(ids)]", True),
        ("Annotated[str, Field(json_schema_extra={'enum': sorted(ids)})]", False),
        ("Literal[tuple(sorted(ids))]", False),
        ("Literal['small', 'large']", False),
    ],
)
@pytest.mark.parametrize("decorator", ["function_tool", "agent.tool", "tool(strict=True)"])
def test_what_a_tool_may_be_given_has_no_order(
    program: Run, annotation: str, found: bool, decorator: str
) -> None:
    """The values of an argument stand in the definition of the tool, in front of everything."""
    source = f"""
        # for an LLM
        def build(items):
            ids = {{item.id for item in items}}

            @{decorator}
            async def order(meal: {annotation}) -> str:
                '''Call this for each meal.'''
                return meal
            return order
        """
    assert program(source).codes == ["PL301"] * found


@pytest.mark.parametrize(
    ("set_by", "changes"),
    [
        ("schema['function']['description'] = TEXT", True),
        ("tool.schema['description'] = TEXT", True),
        ("tool.set_function_description(TEXT)", True),
        ("tool.set_function_name(TEXT)", False),
        ("page['description'] = TEXT", False),
        ("page.set_description(TEXT)", False),
    ],
)
@pytest.mark.parametrize("text", ["f'Loads one of {names}. ' + RULES", "'Loads one of the skills. ' + RULES"])
def test_a_description_that_is_set_later(program: Run, set_by: str, changes: bool, text: str) -> None:
    found = program(f"""
        import os
        RULES = {RULES!r}  # behind each prompt
        def get_tools(tool, page, schema):
            names = os.listdir('skills')
            {set_by.replace("TEXT", text)}
            return [tool]
        """)
    assert found.codes == (["PL301"] if changes and "{" in text else [])
