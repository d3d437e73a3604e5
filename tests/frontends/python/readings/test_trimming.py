"""Functions that shorten a conversation, told by their form alone."""

from __future__ import annotations

import textwrap
from collections.abc import Callable

import pytest

from tests.frontends.python.build import Program

Run = Callable[..., Program]

WINDOW = """
def fit(messages, budget):
    kept, used = [], 0
    for m in reversed(messages):
        used += count(m["role"])
        if {test}:
            break
        {keep}
    return kept
"""


@pytest.mark.parametrize(
    ("test", "keep", "cut"),
    [
        ("used > budget", "kept.insert(0, m)", True),
        ("used > budget", "kept.append(m)", True),
        ("used > budget", "kept = [m] + kept", True),
        ("len(kept) >= 20", "kept.append(m)", True),
        # The last question is looked for, not a window.
        ('m["role"] == "user"', "kept.append(m)", False),
        ("len(kept) == 4", "kept.append(m)", True),
        # Nothing is kept.
        ("used > budget", "total = used", False),
    ],
)
def test_a_window_that_is_filled_from_the_end(talking: Run, test: str, keep: str, cut: bool) -> None:
    found = talking(WINDOW.format(test=test, keep=keep))
    assert found.seen == (["history-cut"] if cut else [])
    if cut:
        (seen,) = found.observations
        assert found.source(seen.place) == test


def test_turns_that_the_provider_keeps_are_not_cut(talking: Run) -> None:
    trimmed = """
def fit(messages, last):
    kept = []
    for m in reversed(messages):
        if len(kept) >= 20:
            break
        kept.insert(0, m)
    return client.responses.create(model="m", input=kept{})
"""
    assert talking(trimmed.format("")).seen == ["history-cut"]
    assert talking(trimmed.format(", previous_response_id=last")).seen == []


@pytest.mark.parametrize(
    ("parameter", "cut"),
    [
        ("log: list[Message]", True),
        ("log: 'Sequence[ChatMessage]'", True),
        ("log: list[str]", False),
        ("log", False),
        ("chat_history", True),
    ],
)
def test_a_conversation_by_name_or_type(talking: Run, parameter: str, cut: bool) -> None:
    name = parameter.partition(":")[0]
    found = talking(
        f"""
        from chat import Message, system_prompt
        def fit({parameter}, limit):
            kept = []
            for turn in {name}[::-1]:
                if len(kept) >= limit:
                    break
                kept.append(turn)
            return kept
        """
    )
    assert found.seen == (["history-cut"] if cut else [])


def test_a_window_by_a_falling_index(talking: Run) -> None:
    found = talking(
        """
        def window(messages, left):
            kept, k = [], len(messages) - 1
            while k > -1:
                turn = messages[k]
                if left == 0:
                    break
                if turn["role"] == "user":
                    left -= 1
                kept = [turn] + kept
                k -= 1
            return kept
        """
    )
    (seen,) = found.observations
    assert (seen.what, found.source(seen.place)) == ("history-cut", "left == 0")


@pytest.mark.parametrize(
    ("last", "cut"),
    [
        ("kept.append(messages[-1])", True),
        ("kept = kept + [messages[-1]]", True),
        ("kept.extend(messages)", False),
    ],
)
def test_all_but_the_first_and_the_last_turn(talking: Run, last: str, cut: bool) -> None:
    found = talking(
        f"""
        def fit(messages, limit):
            kept = [m for m in messages if m["role"] == "system"]
            {last}
            return kept
        """
    )
    assert found.seen == (["history-cut"] if cut else [])


@pytest.mark.parametrize(
    ("value", "rewritten"),
    [
        ("messages[:i] + [summary] + messages[i + 1:]", True),
        ("messages[:1] + [summary] + messages[-1:]", False),
        ("messages + [summary]", False),
    ],
)
def test_a_turn_that_is_replaced(talking: Run, value: str, rewritten: bool) -> None:
    found = talking(
        f"""
        def shorten(messages, i):
            summary = {{"role": "user", "content": "…"}}
            messages = {value}
            return messages
        """
    )
    assert ("history-rewritten" in found.seen) is rewritten


def test_the_last_turn_of_a_copy(talking: Run) -> None:
    found = talking(
        """
        from copy import deepcopy
        def step(history, model, reminder):
            hist = deepcopy(history)
            if hist[-1]["role"] == "user":
                hist[-1]["content"] += reminder
            return model.chat(hist)
        """
    )
    assert found.seen == ["history-rewritten"]


def test_a_list_whose_elements_have_roles_is_a_conversation(talking: Run) -> None:
    found = talking(
        """
        def fit(said, limit):
            kept = [m for m in said if m["role"] == "system"]
            kept.append(said[-1])
            return {"messages": kept}
        """
    )
    assert found.seen == ["history-cut"]


@pytest.mark.parametrize(
    ("loop", "keep", "cut"),
    [
        ("for i in range(len(messages) - 1, -1, -1):", "kept.insert(0, messages[i])", True),
        ("for i in range(len(messages) - 1, -1, -1):", "m = messages[i]; kept.append(m)", True),
        ("for i in range(len(messages)):", "kept.append(messages[i])", False),
        ("for i in range(len(messages) - 1, -1, -1):", "total = used", False),
    ],
)
def test_a_window_by_the_indices_of_a_range(talking: Run, loop: str, keep: str, cut: bool) -> None:
    found = talking(f"""
def fit(messages, budget):
    kept, used = [], 0
    {loop}
        used += count(messages[i]["role"])
        if used > budget:
            break
        {keep}
    return kept
""")
    assert [(o.what, found.source(o.place)) for o in found.observations] == (
        [("history-cut", "used > budget")] if cut else []
    )


def test_a_loop_from_the_end_that_gives_the_rest(talking: Run) -> None:
    found = talking("""
        def split(history, limit):
            used, i = 0, len(history)
            for m in reversed(history):
                used += count(m["role"])
                if used > limit:
                    return history[:i], history[i:]
                i -= 1
            return [], history
    """)
    assert [(o.what, found.source(o.place)) for o in found.observations] == [("history-cut", "used > limit")]


@pytest.mark.parametrize(
    ("loop", "cut"),
    [
        # What was counted is compared, whatever it is called; the turns are those that the object keeps.
        ("for m in reversed(self.items):\n n += len(m.text)\n if n > 99: break\n out.insert(0, m)", "n > 99"),
        (
            'for who, t in reversed(self.items):\n n -= len(t)\n if n < cost: break\n out.append({"role": who, "text": t})',
            "n < cost",
        ),
        # Nothing is counted, or nothing is kept.
        ("for m in reversed(self.items):\n if m.text > 'm': break\n out.insert(0, m)", ""),
        ("for m in reversed(self.items):\n n += len(m.text)\n if n > 99: break", ""),
        ("for m in reversed(self.things):\n n += len(m.text)\n if n > 99: break\n out.insert(0, m)", ""),
    ],
)
def test_a_window_over_what_an_object_keeps(talking: Run, loop: str, cut: str) -> None:
    found = talking(f"""
class Memory:
    def add(self, role, text):
        self.items.append({{"role": role, "content": text}})
    def window(self, cost):
        out, n = [], 0
{textwrap.indent(loop, "        ")}
        return out
""")
    assert [found.source(o.place) for o in found.observations] == ([cut] if cut else [])
