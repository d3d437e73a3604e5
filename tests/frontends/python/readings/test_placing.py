"""Tools that a loop, or a later call, takes away from a conversation that goes on."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.frontends.python.build import Program

Run = Callable[..., Program]


def seen(found: Program) -> list[tuple[str, str]]:
    return [(o.what, found.source(o.place)) for o in found.observations]


@pytest.mark.parametrize(
    ("later", "changed"),
    [
        ("create(messages=messages)", "create(messages=messages)"),
        ("create(messages=messages, tools=None)", "None"),
        ("create(messages=messages, tools=[])", "[]"),
        ("llm.beta.chat.parse(messages=messages)", "llm.beta.chat.parse(messages=messages)"),
        # The same tools, perhaps the same, another conversation, and another function.
        ("create(messages=messages, tools=tools)", None),
        ("create(messages=messages, **options)", None),
        ("create(messages=[question])", None),
        ("embed(messages=messages)", None),
    ],
)
def test_a_conversation_that_is_sent_on_without_its_tools(
    talking: Run, later: str, changed: str | None
) -> None:
    found = talking(f"""
def ask(question, messages, tools, options):
    reply = {"llm.chat." if "chat" in later else ""}create(messages=messages, tools=tools)
    messages.append(reply)
    return {later}
""")
    assert seen(found) == ([("tools-changed", changed)] if changed else [])


@pytest.mark.parametrize(
    ("body", "changed"),
    [
        # One call or the other, not one after the other; and one more try of the same request.
        ("if tools:\n        r = create(messages=messages, tools=tools)\n    else:\n        {later}", False),
        ("if tools:\n        return create(messages=messages, tools=tools)\n    {later}", False),
        (
            "try:\n        r = create(messages=messages, tools=tools)\n    except Refused:\n        {later}",
            False,
        ),
        ("r = create(messages=messages, tools=tools)\n    r = create(messages=messages)", False),
        ("if tools:\n        r = create(messages=messages, tools=tools)\n    {later}", True),
        ("messages.append(create(messages=messages, tools=tools))\n    r = create(messages=messages)", True),
    ],
)
def test_calls_of_which_only_one_is_made(talking: Run, body: str, changed: bool) -> None:
    later = "messages.append(note); r = create(messages=messages)"
    found = talking(f"""
def ask(messages, tools, note):
    {body.format(later=later)}
    return r
""")
    assert seen(found) == ([("tools-changed", "create(messages=messages)")] if changed else [])


def test_calls_in_functions_inside(talking: Run) -> None:
    found = talking("""
def run(messages, tools, note):
    for _ in range(9):
        def once(turns=messages):
            return create(messages=turns, tools=tools)
        messages.append(tried(once))
    messages.append(note)
    def at_last():
        return create(messages=messages, tools=None)
    return tried(at_last)
""")
    assert seen(found) == [("tools-changed", "None")]


@pytest.mark.parametrize(
    ("tools", "changed"),
    [
        ("TOOLS if i < 8 else None", True),
        ("[] if final_round else TOOLS", True),
        ("TOOLS if wanted else OTHERS", False),
        ("TOOLS if model.has_tools else None", False),  # the same in every round
    ],
)
@pytest.mark.parametrize("way", ["create(messages=messages, tools={})", "tools = {}"])
def test_tools_of_some_rounds(talking: Run, tools: str, changed: bool, way: str) -> None:
    found = talking(f"""
def run(messages, wanted, model, final_round):
    for i in range(9):
        {way.format(tools)}
""")
    assert seen(found) == ([("tools-changed", tools)] if changed else [])


@pytest.mark.parametrize(
    ("step", "changed"),
    [
        ("tools.extend(found(r))", "tools.extend(found(r))"),
        ("tools += found(r)", "tools += found(r)"),
        ('tools = READING if phase == "read" else WRITING', 'READING if phase == "read" else WRITING'),
        # The same in every round, and another list.
        ("tools = READING if wanted else WRITING", None),
        ("results.extend(found(r))", None),
    ],
)
def test_tools_that_become_others_while_a_conversation_goes_on(
    talking: Run, step: str, changed: str | None
) -> None:
    found = talking(f"""
def run(messages, tools, wanted, results, phase):
    while True:
        r = create(messages=messages, tools=tools)
        messages.append(r)
        phase = r.phase
        {step}
""")
    assert seen(found) == ([("tools-changed", changed)] if changed else [])


@pytest.mark.parametrize(
    ("front", "last", "told"),
    [
        ("self.turns[:-1]", "self.turns[-1]", True),
        ("self.turns", "self.answer", False),
        ("self.turns[:-1]", "self.other[-1]", False),
    ],
)
def test_what_stands_between_the_last_turn_and_the_others(
    talking: Run, front: str, last: str, told: bool
) -> None:
    found = talking(f"""
class Chat:
    def request(self):
        out = [{{"role": "system", "content": RULES}}]
        out.extend({front})
        out.append(REMINDER)
        out.append({last})
        return out
""")
    assert seen(found) == ([("history-inserted", "out.append(REMINDER)")] if told else [])


AGENT = """
class Agent:
    def _call(self, {takes}):
        {sends}
    def run(self, task):
        for _ in range(9):
            self.messages.append(self._call())
        return {last}
"""


@pytest.mark.parametrize(
    ("last", "changed"),
    [
        ("self._call(tools=[FINISH])", "[FINISH]"),
        ("self._call(tools=[t for t in self.tools if ends(t)])", "[t for t in self.tools if ends(t)]"),
        ("self._call(tools=[])", "[]"),
        # All of them in another form, more of them, and the choice among the same.
        ("self._call(tools=[wrapped(t) for t in self.tools])", None),
        ("self._call(tools=[*self.tools, FINISH])", None),
        ("self._call(tool_choice='none')", None),
    ],
)
@pytest.mark.parametrize(
    ("takes", "sends"),
    [
        ("tools=None", "return create(messages=self.messages, tools=TOOLS if tools is None else tools)"),
        ("**more", "return create(messages=self.messages, **{'tools': self.tools, **more})"),
        ("**more", "return create(**{'messages': self.messages, 'tools': self.tools, **more})"),
    ],
)
def test_a_caller_that_leaves_fewer_tools(
    talking: Run, takes: str, sends: str, last: str, changed: str | None
) -> None:
    found = talking(AGENT.format(takes=takes, sends=sends, last=last))
    assert seen(found) == ([("tools-changed", changed)] if changed else [])


@pytest.mark.parametrize(("turns", "changed"), [("messages", True), ("summary", False)])
def test_fewer_tools_for_another_conversation(talking: Run, turns: str, changed: bool) -> None:
    found = talking(f"""
def ask(turns, tools=TOOLS):
    return create(messages=turns, tools=tools)
def run(messages, summary):
    messages.append(ask(messages))
    return ask({turns}, tools=[FINISH])
""")
    assert ("tools-changed", "[FINISH]") in seen(found) if changed else seen(found) == []


def test_no_tools_that_stand_for_the_usual_ones(talking: Run) -> None:
    found = talking(
        AGENT.format(
            takes="tools=None",
            sends="return create(messages=self.messages, tools=tools or TOOLS)",
            last="self._call(tools=[])",
        )
    )
    assert seen(found) == []


HISTORY = """
class History:
    def marks(self):
        return sum("cache_control" in part for m in self.messages for part in m["content"])
    def add(self, text):
        block = {{"type": "text", "text": text}}
        if {room}:
            block["cache_control"] = MARK
        self.messages.append({{"role": "user", "content": [block]}})
    def clean(self):
        for message in self.messages:
            {clean}
"""


@pytest.mark.parametrize(
    ("room", "clean", "stops"),
    [
        ("self.marks() < 4", "pass", True),
        ("self.results % 10 == 0 and self.marks() <= 3", "pass", True),
        ("self.marks() < 4", "message.pop('cache_control', None)", False),
        ("self.marks() < 4", "del message['cache_control']", False),
        ("len(self.messages) < 4", "pass", False),  # only the first turns, on purpose
        ("marks < 4", "pass", False),  # of one request
    ],
)
def test_marks_that_are_only_added(talking: Run, room: str, clean: str, stops: bool) -> None:
    found = talking(HISTORY.format(room=room, clean=clean))
    assert (("mark-stops", room) in seen(found)) is stops


@pytest.mark.parametrize(
    ("order", "told"),
    [
        ("messages = sorted(messages, key=lambda t: relevance(t, question), reverse=True)", True),
        ("messages.sort(key=lambda t: t.score)", True),
        # As they were said; other things.
        ("messages = sorted(messages, key=lambda t: t.created_at)", False),
        ("documents = sorted(documents, key=lambda d: d.score)", False),
    ],
)
def test_turns_in_an_order_of_what_they_are_worth(talking: Run, order: str, told: bool) -> None:
    text = f"""
def choose(messages, question, documents):
    {order}
    return [{{"role": "system", "content": documents}}, *messages]
"""
    assert [o.what for o in talking(text).observations] == (["history-rewritten"] if told else [])
    assert talking(text.replace('"role"', '"name"')).observations == []


@pytest.mark.parametrize(
    ("test", "mark", "each"),
    [
        ('m["role"] == "user"', 'm["content"][-1]["cache_control"] = MARK', True),
        ("isinstance(m, HumanMessage)", 'm["content"][-1]["cache_control"] = MARK', True),
        ('m["role"] == "user"', 'out.append({"type": "text", "text": m["content"], **MARK})', True),
        # The last ones, the first, those that are marked on purpose; and a file that takes marks off.
        ("i >= len(messages) - 2", 'm["content"][-1]["cache_control"] = MARK', False),
        ("i == 0", 'm["content"][-1]["cache_control"] = MARK', False),
        ('m["keep"]', 'm["content"][-1]["cache_control"] = MARK', False),
        ('m["role"] == "user"', 'm["content"][-1].pop("cache_control", None)', False),
    ],
)
def test_a_mark_on_each_turn(talking: Run, test: str, mark: str, each: bool) -> None:
    found = talking(f"""
MARK = {{"cache_control": {{"type": "ephemeral"}}}}
def marked(messages):
    out = []
    for i, m in enumerate(messages):
        if {test}:
            {mark}
    return out
""")
    assert ("mark-limit" in [what for what, _ in seen(found)]) is each


NOTE = '{"role": "system", "content": self.state()}'


@pytest.mark.parametrize(
    ("copy", "after", "told"),
    [
        ("list(self.messages)", "", True),
        ("self.messages.copy()", "", True),
        ("[SYSTEM, *self.messages]", "", True),
        ("SYSTEM + self.messages.copy()", "", True),
        # It is kept with them, there are no turns, and the turns themselves get it.
        ("list(self.messages)", "self.messages = request", False),
        ("[SYSTEM]", "", False),
        ("self.messages", "", False),
    ],
)
def test_a_note_in_front_of_the_newest_turn_of_a_copy(
    talking: Run, copy: str, after: str, told: bool
) -> None:
    found = talking(f"""
def ask(self, question):
    request = {copy}
    request.append({NOTE})
    request.append({{"role": "user", "content": question}})
    {after}
    return request
""")
    assert [o.what for o in found.observations] == (["history-inserted"] if told else [])


@pytest.mark.parametrize(
    ("first", "second", "told"),
    [
        (NOTE, "user_message", True),
        ("SystemMessage(content=note)", "HumanMessage(content=question)", True),
        ('{"role": "user", "content": question}', NOTE, False),
        ('{"role": "assistant", "content": self.last}', '{"role": "user", "content": question}', False),
    ],
)
def test_what_is_no_note_or_stands_behind(talking: Run, first: str, second: str, told: bool) -> None:
    found = talking(f"""
def ask(self, question, note, user_message):
    request = list(self.messages)
    request.append({first})
    request.append({second})
    return request
""")
    assert ("history-inserted" in found.seen) is told
