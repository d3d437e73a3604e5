"""A support assistant whose system prompt is different in every request."""

from datetime import datetime

from openai import OpenAI

client = OpenAI()

HANDBOOK = """\
Refunds are asked for in the order view, within 30 days, and are paid by the accounting team.
Access is given by the owner of a workspace; support cannot give it.
Exports run at night; a failed one is repeated the next night and then reported by mail.
"""


def clock() -> str:
    return datetime.now().isoformat(timespec="seconds")


def system_prompt() -> str:
    return f"Current time: {clock()}\n\nYou are the assistant of Harbour Desk.\n\n{HANDBOOK}"


def answer(history: list[dict], question: str) -> str:
    messages = [
        {"role": "system", "content": system_prompt()},
        *history,
        {"role": "user", "content": question},
    ]
    response = client.chat.completions.create(model="gpt-4o", messages=messages)
    return response.choices[0].message.content
