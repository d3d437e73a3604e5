"""Chat templates to layouts, with what the growth test observed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

from promptlint.frontends import jinja
from promptlint.frontends.base import Context, Delimiters
from promptlint.frontends.chat_template.answering import Unkept
from promptlint.frontends.chat_template.examine import Examination, examine
from promptlint.frontends.chat_template.growth import Rewrite
from promptlint.frontends.chat_template.locate import Found, templates
from promptlint.frontends.jinja.lexer import JinjaError
from promptlint.frontends.jinja.parse import Parsed, parse
from promptlint.frontends.mapped import MappedText
from promptlint.layout import Confidence, Layout, LayoutKind, Observation, Section, Segment, Step
from promptlint.source import Place, SourceFile
from promptlint.words import counted

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
    ``turn``, ``messages``, ``longer``), ``template-moves-tools``, ``template-answers`` (data: ``option``),
    ``parse-error``.
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
        where = _Where(parsed, found.text, embedded=source.path.endswith(".json"))
        observations += tuple(_observations(where, examination))
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


@dataclass(frozen=True, slots=True)
class _Where:
    """Offsets of a template as places of its file; an embedded template is one long line of that file."""

    parsed: Parsed
    text: MappedText
    embedded: bool

    def place(self, offset: int) -> Place:
        return self.text.place(*self.parsed.tag_span(offset))

    def step(self, offset: int, note: str) -> Step:
        return Step(self.place(offset), note + self.line(offset))

    def line(self, offset: int) -> str:
        return (
            f" (line {self.text.text.count(chr(10), 0, offset) + 1} of the template)" if self.embedded else ""
        )

    def same_tag(self, one: int, other: int) -> bool:
        return self.parsed.tag_span(one) == self.parsed.tag_span(other)


def _observations(where: _Where, examination: Examination) -> Iterator[Observation]:
    for call in examination.clocks:
        related: tuple[Step, ...] = ()
        if call.printed is not None and not where.same_tag(call.printed, call.offset):
            related = (where.step(call.printed, "printed here"),)
        condition = " and no system message" if call.bare else ""
        yield Observation(
            "template-clock",
            where.place(call.offset),
            detail=f"{call.callee}() is printed when the caller passes no date{condition}{where.line(call.offset)}",
            related=related,
            confidence=Confidence.MEDIUM if call.printed is None or call.bare else Confidence.HIGH,
            data={"callee": call.callee},
        )
    late = examination.late_tools
    if late is not None:
        moved = not where.same_tag(late.offset, late.printed)
        yield Observation(
            "template-moves-tools",
            where.place(late.offset),
            detail="the tools are printed behind earlier turns, and move with every new one"
            + where.line(late.offset),
            related=(where.step(late.printed, "printed here"),) if moved else (),
            data={"conversation": late.conversation},
        )
    for rewrite in examination.rewrites:
        if rewrite.mechanism != "tools" or examination.late_tools is None:
            yield _rewrite(rewrite, where)
    if examination.unkept is not None:
        yield _unkept(examination.unkept, where)


def _unkept(unkept: Unkept, where: _Where) -> Observation:
    related: tuple[Step, ...] = ()
    opens = "</" not in unkept.text and "think" in unkept.text
    if not where.same_tag(unkept.offset, unkept.after):
        note = "the model goes on from here" if opens else "the answer's turn is printed here"
        related = (where.step(unkept.after, note),)
    option = f" with {unkept.option}" if unkept.option else ""
    left_out = ", and no answer is printed with its thought" if opens else ""
    return Observation(
        "template-answers",
        where.place(unkept.offset),
        detail=f"{unkept.text!r}{option}{left_out}{where.line(unkept.offset)}",
        related=related,
        data={"option": unkept.option, "conversation": unkept.conversation},
    )


def _rewrite(rewrite: Rewrite, where: _Where) -> Observation:
    related = [where.step(rewrite.before, f"printed with {counted(rewrite.length, 'message')}")]
    if rewrite.after != rewrite.before:
        related.append(
            where.step(rewrite.after, f"printed instead with {counted(rewrite.longer, 'message')}")
        )
    what = _WHAT[rewrite.mechanism]
    if rewrite.unusual and rewrite.mechanism == "system":
        what = "a system message sent later is put before earlier turns"
    who = f"{rewrite.role or 'tools'}, message {rewrite.turn + 1}" if rewrite.role else "the tools"
    return Observation(
        "template-rewrites",
        where.place(rewrite.offset),
        detail=f"{what} when the conversation grows from {rewrite.length} to "
        f"{counted(rewrite.longer, 'message')} ({who}; tried: {rewrite.conversation}){where.line(rewrite.offset)}",
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
