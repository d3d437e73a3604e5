"""Lists that loops fill with turns are lists of turns, whatever they are called."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.frontends.python.build import Program

Run = Callable[..., Program]


def cut(found: Program) -> list[str]:
    assert set(found.seen) <= {"history-cut"}
    return sorted({found.source(o.place) for o in found.observations})


@pytest.mark.parametrize(
    ("filled", "kept"),
    [
        ("for m in messages: units.append(m)", "units[-self.n:]"),
        (
            "for i in range(0, len(messages), 2): units.append((messages[i], messages[i + 1]))",
            "units[-self.n:]",
        ),
        (
            "for i in range(len(messages)):\n        one = messages[i]\n        units.append(one)",
            "units[-self.n:]",
        ),
        (
            "for m in messages:\n        one = {'role': m.role, 'content': m.text}\n        units.append(one)",
            "units[-self.n:]",
        ),
        # What is taken out of turns is no list of them.
        ("for m in messages: units.append(m.id)", ""),
        ("for i, m in enumerate(messages): units.append(i)", ""),
        ("for row in rows: units.append(row)", ""),
    ],
)
@pytest.mark.parametrize("back", ["kept", "list(kept)", "out"])
def test_a_window_over_what_was_gathered(talking: Run, filled: str, kept: str, back: str) -> None:
    found = talking(f"""
class Window:
    def limited(self, messages, rows):
        units, out = [], []
        {filled.replace(chr(10) + "    ", chr(10) + "        ")}
        kept = units[-self.n:]
        for one in kept:
            out.append(one)
        return {back}
""")
    assert cut(found) == [kept] * bool(kept)


@pytest.mark.parametrize(
    ("owner", "attr", "found"),
    [
        ("ConversationMemory", "runs", True),
        ("ConversationMemory", "max_runs", False),
        ("Benchmark", "runs", False),
    ],
)
def test_what_a_memory_keeps(talking: Run, owner: str, attr: str, found: bool) -> None:
    source = (
        f"class {owner}:\n    def add(self, run):\n        while len(self.{attr}) > 5: self.{attr}.pop(0)\n"
    )
    assert cut(talking(source)) == [f"self.{attr}.pop(0)"] * found
