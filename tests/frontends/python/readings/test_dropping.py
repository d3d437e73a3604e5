"""Functions that leave turns out, or show the older ones otherwise, told by their form alone."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.frontends.python.build import Program

Run = Callable[..., Program]


def places(found: Program) -> list[tuple[str, str]]:
    return sorted({(o.what, " ".join(found.source(o.place).split())) for o in found.observations})


@pytest.mark.parametrize(
    ("signature", "made", "window"),
    [
        ("filter_messages(self, messages)", "recent = others[-self.n:]\n    out = system + recent\n    return out", ""),
        ("filter_messages(self, messages)", "recent = other_messages[-self.n:]\n    out = system + recent\n    return out", "other_messages[-self.n:]"),
        ("window(self, rounds_kept)", "return first + rounds_kept[-self.last:]", "return first + rounds_kept[-self.last:]"),
        # What a caller asks for, the very last one, and what nobody says is for a request.
        ("recent(self, n)", "return self.chat_messages[-n:]", ""),
        ("recent(self)", "return self.chat_messages[-1:]", ""),
        ("page(self)", "return chat_messages[-self.rows:]", ""),
        ("filter_ids(self, messages)", "return message_ids[-self.n:]", ""),
    ],
)  # fmt: skip
def test_a_window_over_the_last_turns(talking: Run, signature: str, made: str, window: str) -> None:
    found = talking(f"""
def {signature}:
    system = [m for m in self.all if m["role"] == "system"]
    {made}
""")
    assert places(found) == ([("history-cut", window)] if window else [])


@pytest.mark.parametrize(
    ("loop", "cut"),
    [
        ("while i < len(self.messages) and gone < to_remove:\n        if image(self.messages[i]):\n            self.messages.pop(i)", "self.messages.pop(i)"),
        ("for m in images[1:-2]:\n        self.messages.remove(m)", "self.messages.remove(m)"),
        # Somebody deletes one message, the system's is moved, empty ones are no turns.
        ("while gone < to_remove:\n        if self.messages[i].id == wanted:\n            self.messages.pop(i)", ""),
        ("for m in images[:-2]:\n        if m['role'] == 'system':\n            self.messages.remove(m)", ""),
        ("for m in images:\n        self.messages.remove(m)", ""),
        # A queue.
        ("while gone < to_remove:\n        self.jobs.pop(i)", ""),
    ],
)  # fmt: skip
def test_turns_that_are_taken_out_of_the_middle(talking: Run, loop: str, cut: str) -> None:
    found = talking(f"""
def shorter(self, images, to_remove, wanted):
    prompt = "Answer"
    gone, i = 0, 2
    {loop}
    return self.messages, prompt, "role"
""")
    assert places(found) == ([("history-cut", cut)] if cut else [])


def test_parts_of_the_first_turns_are_left_out_until_enough_are(talking: Run) -> None:
    text = """
def fewer_images(messages, keep):
    excess = count(messages) - keep
    for message in messages:
        kept = []
        for block in message["content"]:
            if is_image(block):
                if excess > 0:
                    excess -= 1
                    continue
            kept.append(block)
        message["content"] = kept
    return messages, "role"
"""
    assert ("history-cut", "excess -= 1") in places(talking(text))
    assert places(talking(text.replace("messages", "lines").replace("message", "line"))) == []


@pytest.mark.parametrize(
    ("call", "cut"),
    [
        ("trim_messages(messages, max_tokens=400, strategy='last')", True),
        ("tokens.trim(messages, model=m, max_tokens=left)", True),
        ("trim_messages(max_tokens=400, token_counter=m).invoke(messages)", True),
        ("trim_messages(state['messages'], max_tokens=400, token_counter=m)", True),
        ("trim_messages(state['lines'], max_tokens=400, token_counter=m)", False),
        ("trim(text, max_tokens=400)", False),
        ("trim_messages(messages)", False),
    ],
)
def test_a_library_trims(talking: Run, call: str, cut: bool) -> None:
    found = talking(f"""
def ask(messages, text, left, m, state):
    role = "role"
    return send({call})
""")
    assert places(found) == ([("history-cut", call.removesuffix(".invoke(messages)"))] if cut else [])


@pytest.mark.parametrize(
    ("test", "changed"),
    [
        ("i < len(steps) - 1", True),
        ("not is_last_step", True),
        # That depends on the turn alone.
        ("len(step.result.message) > 1000", False),
        ("step.result.summary", False),
    ],
)
def test_the_newest_in_full_and_the_others_summarised(talking: Run, test: str, changed: bool) -> None:
    found = talking(f"""
def history(steps, is_last_step):
    messages = []
    for i, step in enumerate(steps):
        if {test}:
            text = step.result.summary
        else:
            text = step.result.message
        messages.append({{"role": "user", "content": text}})
    return messages
""")
    assert places(found) == ([("history-rewritten", "step.result.summary")] if changed else [])


def test_a_list_that_prints_both_is_no_choice(talking: Run) -> None:
    found = talking("""
def history(items, last):
    messages = "role"
    if not last:
        for item in items:
            messages += f"{item.summary}: {item.content}"
    else:
        messages += "There is nothing."
    return messages
""")
    assert places(found) == []


@pytest.mark.parametrize(
    ("made", "changed"),
    [
        ('[{"role": "user", "content": OMITTED} if is_screen(m) and i != newest else m for i, m in enumerate(items)]', True),
        ("[m if i in kept else placeholder for i, m in enumerate(messages)]", True),
        ('[{**row, "image": OMITTED} if row.get("image") else row for row in rows_found]', False),
        ("[m if m.text else empty for m in messages]", False),
    ],
)  # fmt: skip
def test_a_placeholder_in_the_place_of_some(talking: Run, made: str, changed: bool) -> None:
    found = talking(f"""
def fit(items, messages, kept, newest, rows_found):
    prompt = "Answer"
    return {made}, "role"
""")
    assert [what for what, _ in places(found)] == (["history-rewritten"] if changed else [])


@pytest.mark.parametrize(
    ("turns", "test", "cut"),
    [
        ("messages[1:]", "size(m) <= remaining_tokens", True),
        ("messages", "used + size(m) <= budget", True),
        ("messages", "len(kept) < 4", True),
        ("lines", "size(m) <= remaining_tokens", False),
    ],
)
def test_turns_are_put_in_from_the_newest_on_while_they_fit(
    talking: Run, turns: str, test: str, cut: bool
) -> None:
    found = talking(f"""
def fit(messages, lines, remaining_tokens, used, budget):
    kept = []
    for m in reversed({turns}):
        if {test}:
            kept.insert(0, m)
            used += size(m)
            remaining_tokens -= size(m)
    return kept, "role"
""")
    assert places(found) == ([("history-cut", test)] if cut else [])


@pytest.mark.parametrize(
    ("kept", "cut"),
    [
        ('m for m in self.messages if m["role"] != "tool"', True),
        ('m for m in self.messages if not m.get("tool_calls")', True),
        ('m for m in self.messages if now - m["at"] < 600', True),
        # The system message has a place of its own; another list.
        ('m for m in self.messages if m["role"] != "system"', False),
        ('m for m in shown if m["role"] != "tool"', False),
    ],
)
def test_an_object_forgets_what_tools_gave(talking: Run, kept: str, cut: bool) -> None:
    found = talking(f"""
def start(self, shown):
    self.messages = [{kept}]
""")
    assert places(found) == ([("history-cut", f"[{kept}]")] if cut else [])


@pytest.mark.parametrize(
    ("test", "cut"),
    [
        ("self.history[i][0] < 0", True),
        ("self.history[i].left <= 0", True),
        ("self.history[i][0] == 0", False),  # by what it is
        ("left < 0", False),
    ],
)
def test_turns_that_have_run_out(talking: Run, test: str, cut: bool) -> None:
    found = talking(f"""
def step(self, left):
    role = "role"
    for i in reversed(range(len(self.history))):
        if {test}:
            self.history.pop(i)
""")
    assert places(found) == ([("history-cut", "self.history.pop(i)")] if cut else [])


@pytest.mark.parametrize(
    ("limit", "gone"), [("images > max_images", True), ("messages[i].id == picked", False)]
)
def test_turns_deleted_by_their_places(talking: Run, limit: str, gone: bool) -> None:
    found = talking(f"""
def thinned(messages, max_images, picked):
    images = 0
    for i in reversed(range(len(messages))):
        images += is_image(messages[i])
        if {limit}:
            del messages[i]
    return messages
""")
    assert [(o.what, found.source(o.place)) for o in found.observations] == (
        [("history-cut", "del messages[i]")] if gone else []
    )


def test_cache_marks_that_are_taken_off_change_no_turn(program: Callable[..., Program]) -> None:
    code = """
from anthropic import Anthropic
def limit_marks(messages, used):
    left = 4 - used
    for message in reversed(messages):
        for block in reversed(message["content"]):
            if "cache_control" in block:
                if left > 0:
                    left -= 1
                else:
                    del block["cache_control"]
"""
    assert program(code).seen == []


@pytest.mark.parametrize(
    ("given", "cut"),
    [("start_index=-9", "-9"), ("start=-self.most", "-self.most"), ("start=9", ""), ("step=-1", "")],
)
def test_the_last_ones_are_asked_for(talking: Run, given: str, cut: str) -> None:
    found = talking(f"""
def ask(self):
    return self.send(self.memory.to_messages({given}))
""")
    assert places(found) == ([("history-cut", cut)] if cut else [])


@pytest.mark.parametrize(
    ("given", "cut"),
    [
        ('return {"messages": [RemoveMessage(id=ALL), *turns[-5:]]}', "turns[-5:]"),
        (
            'recent = turns[-5:]\n    return {"messages": [RemoveMessage(id=ALL), turns[0], *recent]}',
            "turns[-5:]",
        ),
        ('return {"llm_input_messages": state["messages"][-5:]}', 'state["messages"][-5:]'),
        ("return handler(request.override(messages=request.messages[-5:]))", "request.messages[-5:]"),
        ("return ModelInputData(input=data.model_data.input[-5:])", "data.model_data.input[-5:]"),
        # A page shows the last ones; another call is given some; all of them are sent.
        ('return {"messages": turns[-5:]}', ""),
        ("return handler(request.title(messages=turns[-5:]))", ""),
        ("return handler(request.override(messages=turns))", ""),
    ],
)
def test_turns_that_a_library_is_given_in_place_of_all(talking: Run, given: str, cut: str) -> None:
    found = talking(f"""
def step(state, request, handler, data):
    turns = state["messages"]
    {given}
""")
    assert places(found) == ([("history-cut", cut)] if cut else [])
