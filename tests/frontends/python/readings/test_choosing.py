"""Tools and settings that a function which a library asks chooses for each request, told by the form."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.frontends.python.build import Program

Run = Callable[..., Program]


def told(found: Program) -> list[tuple[str, str]]:
    return [(o.what, found.source(o.place)) for o in found.observations]


@pytest.mark.parametrize(
    ("body", "what", "where"),
    [
        (
            "if len(request.state['messages']) > 10: request = request.override(tools=FEW)",
            "tools-changed",
            "FEW",
        ),
        ("request.tools = FEW if request.state['stage'] == 'review' else ALL", "tools-changed", "FEW if"),
        ("request = request.override(tools=[t for t in ALL if t.stage == stage])", "tools-changed", "[t for"),
        (
            (
                "many = len(request.messages) > 10\n    model = LARGE if many else SMALL\n"
                "    request = request.override(model=model)"
            ),
            "parameter-flips",
            "model",
        ),
        ("if request.runtime.context.role == 'guest': request = request.override(tools=FEW)", "", ""),
        ("if request.state['phase'] == 'answer': request.config.tools = []", "tools-changed", "[]"),
        ("request = request.override(tools=ALL)", "", ""),
        ("if len(request.messages) > 10: window.tools = FEW", "", ""),
    ],
)
def test_a_request_is_changed_on_its_way(talking: Run, body: str, what: str, where: str) -> None:
    found = told(
        talking(f"def select(request, handler, stage, window):\n    {body}\n    return handler(request)\n")
    )
    assert [one[0] for one in found] == ([what] if what else [])
    assert not found or found[0][1].startswith(where)


@pytest.mark.parametrize(
    ("made", "test", "changes"),
    [
        ("Agent(prepare_tools=choose)", "ctx.run_step > 3", True),
        ("Tool(refund, prepare=choose)", "'refund' in ctx.prompt", True),
        ("function_tool(is_enabled=choose)", "ctx.context.turn > 2", True),
        ("Agent(prepare_tools=choose)", "ctx.deps.is_admin", False),
        ("Agent(show=choose)", "ctx.run_step > 3", False),
    ],
)
def test_a_library_asks_for_tools(talking: Run, made: str, test: str, changes: bool) -> None:
    found = talking(
        f"def choose(ctx, tools):\n    if {test}:\n        return []\n    return tools\n{made}\n# is_enabled"
    )
    assert told(found) == ([("tools-changed", "return []")] if changes else [])
