"""One turn that is copied, sent with more than it says, and kept as it was."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.frontends.python.build import Program

Run = Callable[..., Program]


@pytest.mark.parametrize(
    ("copied", "edit", "changed"),
    [
        ("copy.deepcopy(query.user_message)", "turn.content += found", ["turn.content"]),
        ("dict(query.last_message)", "turn['content'] = f'{found} {turn}'", ["turn['content']"]),
        ("{**query.user_message}", "turn['content'].append(found)", ["turn['content'].append(found)"]),
        (
            "copy.deepcopy(query.user_message)",
            "for part in turn.content:\n        part.text = found + part.text",
            ["part.text"],
        ),
        # Only its own words, a part of them, and the turn that is kept itself.
        ("copy.deepcopy(query.user_message)", "turn.content = turn.content.strip()", []),
        ("copy.deepcopy(query.user_message)", "turn.content = [p for p in turn.content if p.text]", []),
        ("copy.deepcopy(query.user_message)", "turn.content += found\n    query.user_message = turn", []),
        ("query.user_message", "turn.content += found", []),
        ("copy.deepcopy(query.settings)", "turn.content += found", []),
    ],
)
def test_the_copy_of_a_question(talking: Run, copied: str, edit: str, changed: list[str]) -> None:
    found = talking(f"""
def ask(query, found):
    turn = {copied}
    {edit}
    return send([*query.messages, turn])
""")
    assert [found.source(o.place) for o in found.observations] == changed


def test_a_copy_that_nobody_gets(talking: Run) -> None:
    assert not talking("""
def shown(query, found):
    user_turn = copy.deepcopy(query.user_message)
    user_turn.content += found
    return user_turn.content
""").observations
