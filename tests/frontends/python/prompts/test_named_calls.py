"""Names of calls and items that a program makes up each time it turns old rows into a conversation."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.frontends.python.build import LONG, Program

Run = Callable[..., Program]

REPLAY = f"""
import secrets
import uuid
from openai import OpenAI
def fresh():
    return f'call_{{secrets.token_hex(12)}}'
def item(row, number):
    if row['kind'] == 'text':
        return {{'role': row['role'], 'content': row['text']}}
    return ITEM
def replay(rows):
    FIRST
    items = []
    for number, row in enumerate(rows):
        if row['kind'] == 'text':
            items.append({{'role': row['role'], 'content': row['text']}})
        else:
            NAMED
            items.append(ITEM)
            items.append({{'type': 'function_call_output', 'call_id': name, 'output': row['text']}})
    return items
def turn(rows, text):
    return OpenAI().responses.create(model='m', instructions={LONG!r}, store=False,
        input=[*SENT, {{'role': 'user', 'content': text}}])
"""
CALL = "{'type': 'function_call', 'call_id': name, 'name': row['name'], 'arguments': row['arguments']}"


@pytest.mark.parametrize(
    ("values", "codes"),
    [
        ({"NAMED": "name = row.get('call_id') or fresh()"}, ["PL103"]),
        ({"NAMED": "name = row.get('call_id', uuid.uuid4().hex)"}, ["PL102"]),
        ({"NAMED": "name = f'call_{row[\"key\"]}'"}, []),
        ({"NAMED": "name = row.get('call_id') or f'call_{number}'"}, []),
        ({"NAMED": "name = row.setdefault('call_id', fresh())"}, []),  # made once
        ({"NAMED": "name = row['call_id']", "FIRST": "print(fresh())"}, []),
        # The name of an item, where it is one; another mapping's entry may never be sent.
        ({"ITEM": "{'type': 'reasoning', 'id': fresh(), 'summary': []}"}, ["PL103"]),
        ({"ITEM": "{'type': 'reasoning', 'id': row['id'], 'summary': []}"}, []),
        ({"ITEM": "{'id': fresh(), 'role': 'user', 'content': row['text']}"}, []),
        # A helper for each row.
        ({"ITEM": CALL.replace("name,", "fresh(),"), "SENT": "[item(row, 0) for row in rows]"}, ["PL103"]),
        ({"ITEM": CALL.replace("name,", "row['id'],"), "SENT": "[item(row, 0) for row in rows]"}, []),
    ],
)
def test_a_name_that_is_made_up_when_rows_become_items(
    program: Run, values: dict[str, str], codes: list[str]
) -> None:
    source = REPLAY
    given = {"NAMED": "name = row['call_id']", "FIRST": "pass", "ITEM": CALL, "SENT": "replay(rows)"} | values
    for mark, text in given.items():
        source = source.replace(mark, text)
    assert program(source).codes == codes


def test_a_name_that_is_made_when_a_call_is_added_stays(program: Run) -> None:
    found = program(f"""
        import uuid
        from openai import OpenAI
        def talk(items, run):
            while True:
                reply = OpenAI().responses.create(model='m', instructions={LONG!r}, input=items)
                for call in reply.output:
                    name = call.call_id or uuid.uuid4().hex
                    items.append({{'type': 'function_call', 'call_id': name, 'name': call.name}})
                    items.append({{'type': 'function_call_output', 'call_id': name, 'output': run(call)}})
        """)
    assert found.codes == []
