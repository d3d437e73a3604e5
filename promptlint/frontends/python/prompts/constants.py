"""Constant texts with fields that nothing fills where they stand.

::

    ANSWER_TEMPLATE = '''Answer from this context: {context}
    Question: {question} …'''

    SCENES.register(ChatTemplate(ANSWER_TEMPLATE), "answers")

Where such a text is filled is often out of sight: in a registry, a library, another process. A constant with
named fields is a template wherever that is, and its fields have names. What is only known by them gives way
to a place that fills the text and can be followed (`engine.settled`).
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from promptlint.frontends.python.evaluate import text
from promptlint.frontends.python.values.naming import NOT_PROMPT_NAME, is_prompt_name
from promptlint.frontends.python.values.pieces import Alt, Hole, Lit, Part, Seg, flat
from promptlint.frontends.python.values.values import Choice, Str, Value
from promptlint.layout import Layout, OriginKind, Scope, Segment
from promptlint.source import Place

if TYPE_CHECKING:
    from promptlint.frontends.python.evaluate.machine import Machine

MIN_FORM = 200  # known characters of a text that is taken for a prompt by nothing but its form
_SIGNS = ("{", "%(", "$", "<<", "[[", "!<")
# The words in front of a field that the author of the program fills: "… in the following JSON format: {response}".
_OF_THE_PROGRAM = re.compile(r"(?:format|schema|structure|template|syntax|格式|结构)\W{0,8}$", re.IGNORECASE)
_FIELD = re.compile(r"(?<!\{)\{([a-z]\w*)\}(?!\})")
_SYSTEM = re.compile(r"(?:base_|current_|original_)?(?:system|sys)_(?:prompt|message|instructions?|text)")
_KIND = re.compile(r"(?:_template)?(?:_(?:[a-z]{2}|english|chinese))?$", re.IGNORECASE)


# An agent's system prompt is sent again with each of its steps, and so is an assistant's with each turn.
_AGENT = re.compile(r"(?:^|[/_.])(?:agents?|assistants?|copilot|chatbot)(?:[/_.]|$)")
_AGENT_CLASS = re.compile(r"(?:Agent|Assistant|Copilot|Chatbot)(?:[A-Z]|$)")


def of_an_agent(path: str, cls: str, name: str) -> bool:
    """Tell whether the names of a constant, of its class or of its file say that it belongs to an agent."""
    return _AGENT.search(f"{path}/{name.lower()}") is not None or _AGENT_CLASS.search(cls) is not None


def names_a_prompt(name: str) -> bool:
    """Tell whether a constant is named like a prompt, the language it is written in aside: ``PROMPT_EN``.

    ``README_TEMPLATE`` is not: there are templates of files, mails and pages too.
    """
    return is_prompt_name(_KIND.sub("", name))


def is_instruction(name: str, value: Value) -> bool:
    """Tell whether a constant is a prompt by its form: a long text that speaks to a model and has fields."""
    lower = name.lower()
    if NOT_PROMPT_NAME.search(lower) and "prompt" not in lower:
        return False
    if isinstance(value, Choice):
        return any(is_instruction(name, option) for option in value.values)
    if not isinstance(value, Str) or value.literal_length() < MIN_FORM:
        return False
    written = _written(value)
    if not any(sign in written for sign in _SIGNS):
        return False
    from promptlint.frontends.documents import evidence

    return (
        evidence.is_addressed(written)
        and not evidence.documentation_signs(written)
        and evidence.has_fields(written)
    )


def is_filled(value: Value) -> bool:
    """Tell whether a value is a long text with something in it that changes."""
    if not isinstance(value, Str) or len(value.parts) < 2:
        return False
    return value.has_text(MIN_FORM) and value.plain() is None


def adds_to_system(value: Value) -> bool:
    """Tell whether a text is a system prompt that was handed over, with something behind it.

    ``return f"{system_prompt}\\n\\nMemories:\\n{found}"`` is asked for each message of a user, in front of all
    that were there before.
    """
    if not isinstance(value, Str) or len(value.parts) < 2:
        return False
    first = value.parts[0]
    return isinstance(first, Hole) and first.cause is None and _SYSTEM.fullmatch(first.root) is not None


def with_named_fields(m: Machine, value: Value) -> Value:
    """Return a text cut at its fields, if it has any that are certain; anything else as it is."""
    if isinstance(value, Choice):
        return Choice(
            value.guard, tuple(with_named_fields(m, option) for option in value.values), value.within
        )
    if not isinstance(value, Str):
        return value
    written = _written(value)
    if not any(sign in written for sign in _SIGNS):
        return value
    from promptlint.frontends.documents.content import LITERAL_STYLE, style_of

    style = style_of(written)
    if style == LITERAL_STYLE and _is_format(written):
        style = "format"
    return value if style == LITERAL_STYLE else Str(_cut(m, value.parts, style))


def _is_format(written: str) -> bool:
    """Tell whether ``str.format`` takes a text with several fields, though they stand in fences like code."""
    from promptlint.frontends.fields.styles import is_format

    return len(set(_FIELD.findall(written))) > 1 and is_format(written)


def _cut(m: Machine, parts: tuple[Part, ...], style: str) -> tuple[Part, ...]:
    from promptlint.frontends.documents.content import read_content

    out: list[Part] = []
    for part in parts:
        if isinstance(part, Lit):
            content = read_content(text.mapped(part), m.project.context, style)
            out.extend(map(Seg, _fields(content.segments)))
        elif isinstance(part, Alt):
            out.append(Alt(part.guard, tuple(_cut(m, branch, style) for branch in part.branches)))
        else:
            out.append(part)
    return tuple(out)


def _fields(segments: tuple[Segment, ...]) -> Iterator[Segment]:
    """Yield the pieces of a template; of a field nothing is known but its place and its name there."""
    before = ""
    for segment in segments:
        origin = segment.origin
        if segment.text is None and origin.kind is OriginKind.VARIABLE and segment.cause is None:
            name = "" if _OF_THE_PROGRAM.search(before[-40:]) else origin.name
            segment = replace(segment, origin=replace(origin, name="", field=name, given=name))
        elif segment.text is not None:
            segment = replace(segment, scope=Scope.RELEASE)
        before = segment.text or ""
        yield segment


def filled_elsewhere(layouts: Sequence[Layout], constants: Container[Place]) -> list[Layout]:
    """Return the layouts of a file; a field of a constant is left to the layout that shows what is put there.

    ``constants`` are the places of the layouts that were made from constants.
    """
    others = (layout for layout in layouts if layout.place not in constants)
    holes = (s for layout in others for s in layout.segments if s.is_hole and s.origin.field)
    filled = {s.place for s in holes}
    return [
        layout.with_segments(tuple(_left(s, filled) for s in layout.segments))
        if filled and layout.place in constants
        else layout
        for layout in layouts
    ]


def _left(segment: Segment, filled: set[Place]) -> Segment:
    if segment.is_hole and segment.cause is None and segment.place in filled:
        return replace(segment, scope=Scope.RELEASE)
    return segment


def _written(value: Str) -> str:
    return "".join(part.text for part in flat(value.parts) if isinstance(part, Lit))
