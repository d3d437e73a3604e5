"""Chat templates to layouts, with what the growth test observed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import lru_cache

from promptlint.frontends import jinja
from promptlint.frontends.base import Context, Delimiters
from promptlint.frontends.chat_template.examine import Examination, examine
from promptlint.frontends.chat_template.growth import Rewrite
from promptlint.frontends.chat_template.locate import Found, templates
from promptlint.frontends.jinja.lexer import JinjaError
from promptlint.frontends.jinja.parse import Parsed, parse
from promptlint.frontends.mapped import MappedText
from promptlint.layout import Confidence, Layout, LayoutKind, Observation, Section, Segment, Step
from promptlint.source import Place, SourceFile

_Placer = Callable[[int], Place]
_examined = lru_cache(maxsize=64)(examine)

_WHAT = {
    "reasoning": "the reasoning of an earlier answer is left out or written differently",
    "system": "the system text moves or changes",
    "tools": "the tools move or change",
    "tool-calls": "an earlier tool call is written differently",
    "tool-results": "an earlier tool result is written differently",
    "text": "an earlier message is written differently",
}


def read(source: SourceFile, context: Context) -> list[Layout]:
    """Read the chat templates of a file: a template file, or a tokenizer's configuration.

    Observations: ``template-clock``, ``template-rewrites`` (data: ``mechanism``, ``conversation``, ``role``,
    ``turn``, ``messages``, ``longer``), ``template-moves-tools``, ``parse-error``.
    """
    return [_layout(source, found, context) for found in templates(source)]


def _layout(source: SourceFile, found: Found, context: Context) -> Layout:
    plain = replace(context, delimiters=Delimiters())
    fragment = jinja.segments(found.text, plain, dialect="chat")
    examination = _examined(found.text.text)
    observations = fragment.observations
    try:
        parsed = parse(found.text.text, "chat", Delimiters())
    except JinjaError:
        pass  # the fragment says so
    else:
        observations += tuple(_observations(parsed, found.text, examination))
    return Layout(
        name=f"{source.path}:{found.name}" if found.name else source.path,
        place=found.text.place(0, len(found.text.text)),
        segments=tuple(_placed(segment) for segment in fragment.segments),
        kind=LayoutKind.CHAT_TEMPLATE,
        complete=fragment.complete and not examination.gaps,
        gaps=fragment.gaps + examination.gaps,
        observations=observations,
        repeated=True,
    )


def _placed(segment: Segment) -> Segment:
    """Give a segment its section, by the variables that it and its guards depend on."""
    names = [segment.origin.name, *(guard.name for guard in segment.guards)]
    roots = {name.partition(".")[0].partition("[")[0] for name in names if name}
    if roots & {"tools", "functions", "custom_tools", "builtin_tools"}:
        return replace(segment, section=Section.TOOLS)
    first = segment.origin.name.startswith("messages[0]")
    if first or not roots & {"messages", "add_generation_prompt"}:
        return replace(segment, section=Section.SYSTEM, role="system")
    if "add_generation_prompt" in roots and "messages" not in roots:
        return replace(segment, role="assistant")
    return segment


def _observations(parsed: Parsed, text: MappedText, examination: Examination) -> Iterator[Observation]:
    def place(offset: int) -> Place:
        return text.place(*parsed.tag_span(offset))

    for call in examination.clocks:
        related: tuple[Step, ...] = ()
        if call.printed is not None and parsed.tag_span(call.printed) != parsed.tag_span(call.offset):
            related = (Step(place(call.printed), "printed here"),)
        yield Observation(
            "template-clock",
            place(call.offset),
            detail=f"{call.callee}() is printed when the caller passes no date{' and no system message' * call.bare}",
            related=related,
            confidence=Confidence.MEDIUM if call.printed is None or call.bare else Confidence.HIGH,
            data={"callee": call.callee},
        )
    late = examination.late_tools
    if late is not None:
        moved = parsed.tag_span(late.offset) != parsed.tag_span(late.printed)
        yield Observation(
            "template-moves-tools",
            place(late.offset),
            detail="the tools are printed behind earlier turns, and move with every new one",
            related=(Step(place(late.printed), "printed here"),) if moved else (),
            data={"conversation": late.conversation},
        )
    for rewrite in examination.rewrites:
        if rewrite.mechanism != "tools" or examination.late_tools is None:
            yield _rewrite(rewrite, place)


def _rewrite(rewrite: Rewrite, place: _Placer) -> Observation:
    related = [Step(place(rewrite.before), f"printed with {rewrite.length} messages")]
    if rewrite.after != rewrite.before:
        related.append(Step(place(rewrite.after), f"printed instead with {rewrite.longer} messages"))
    what = (
        "a system message sent later is put before earlier turns"
        if rewrite.unusual
        else _WHAT[rewrite.mechanism]
    )
    who = f"{rewrite.role or 'tools'}, message {rewrite.turn + 1}" if rewrite.role else "the tools"
    return Observation(
        "template-rewrites",
        place(rewrite.offset),
        detail=f"{what} when the conversation grows from {rewrite.length} to "
        f"{rewrite.longer} messages ({who}; tried: {rewrite.conversation})",
        related=tuple(related),
        confidence=Confidence.MEDIUM if rewrite.unusual else Confidence.HIGH,
        data={
            "mechanism": rewrite.mechanism,
            "conversation": rewrite.conversation,
            "role": rewrite.role,
            "turn": str(rewrite.turn),
            "messages": str(rewrite.length),
            "longer": str(rewrite.longer),
        },
    )
