"""Turns that are shown otherwise by how many came after them, told by their form alone."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.frontends.python.build import Program

Run = Callable[..., Program]


def rewritten(found: Program) -> list[str]:
    assert set(found.seen) <= {"history-rewritten"}
    return sorted(found.source(o.place) for o in found.observations)


@pytest.mark.parametrize(
    ("made", "changed"),
    [
        ('{"role": e.role, "content": f"({n - i} ago) {e.text}"}', True),
        ('{"role": e.role, "content": e.text if i >= len(events) - 4 else e.text[:99]}', True),
        ('e if i > n - 4 else {"role": e.role, "content": "[old]"}', True),
        ("HumanMessage(e.text[:99]) if n - i > 9 else HumanMessage(e.text)", True),
        # A position from the front stays what it was.
        ('{"role": e.role, "content": f"#{i} {e.text}"}', False),
        ('{"role": e.role, "content": e.text if i > 3 else e.text[:99]}', False),
        # A mark on the last turns is no part of them, and a page for people is no request.
        ('{**e, "cache_control": MARK} if i >= n - 2 else e', False),
        ('f"{n - i}: {e.text}"', False),
    ],
)
def test_a_comprehension(talking: Run, made: str, changed: bool) -> None:
    found = talking(f"""
def shown(events):
    n = len(events)
    return [{made} for i, e in enumerate(events)]
""")
    assert rewritten(found) == ([f"[{made} for i, e in enumerate(events)]"] if changed else [])


LOOP = """
def shown(steps, keep, page):
    out = []
    for i, step in enumerate(steps):
        {body}
    return out
"""
NEW = 'out.append({"role": "user", "content": step.text})'
NUMBERED = 'out.append({"role": "user", "content": f"{len(steps) - i}: {step.text}"})'
OLD = 'out.append({"role": "user", "content": "[old]"})'


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (f"if i < len(steps) - keep: {OLD}\n        else: {NEW}", "i < len(steps) - keep"),
        (f"age = len(steps) - i\n        if age > 5: {OLD}\n        else: {NEW}", "age > 5"),
        (
            f"text = step.text\n        if i < len(steps) - 1: text = text[:99]\n        {NEW.replace('step.text', 'text')}",
            "i < len(steps) - 1",
        ),
        (
            NUMBERED,
            '{"role": "user", "content": f"{len(steps) - i}: {step.text}"}',
        ),
        # By what the turn is, by its place from the front, for people only.
        (f"if len(step.text) > keep: {OLD}\n        else: {NEW}", ""),
        (f"if i < keep: {OLD}\n        else: {NEW}", ""),
        (f"if i == len(steps) - 1: page.write(step.text)\n        {NEW}", ""),
        (f"if i == len(steps) - 1: step.cache_control = keep\n        {NEW}", ""),
    ],
)
def test_a_loop(talking: Run, body: str, told: str) -> None:
    assert rewritten(talking(LOOP.format(body=body))) == ([told] if told else [])
