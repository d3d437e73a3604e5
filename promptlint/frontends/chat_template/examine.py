"""Everything that is observed about one chat template by trying it out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from jinja2 import nodes

from promptlint.frontends.base import Delimiters
from promptlint.frontends.chat_template.answering import AT_ONCE, Unkept, unkept
from promptlint.frontends.chat_template.clock import ClockCall, clock_calls
from promptlint.frontends.chat_template.conversations import (
    NAMES,
    STYLES,
    Conversation,
    conversation,
    words,
)
from promptlint.frontends.chat_template.growth import Rewrite, gathered, rewrites, values
from promptlint.frontends.chat_template.meter import Meter, TooExpensiveError
from promptlint.frontends.chat_template.render import Renderer
from promptlint.frontends.chat_template.sandbox import Event, RefusedError, RenderError
from promptlint.frontends.jinja.lexer import JinjaError
from promptlint.frontends.jinja.parse import parse_anew

MAX_TEXT = 200_000
MAX_TAGS = 3_000
TOKENS: dict[str, object] = {
    "bos_token": "<s>",
    "eos_token": "</s>",
    "pad_token": "<pad>",
    "unk_token": "<unk>",
    "sep_token": "<sep>",
    "cls_token": "<cls>",
    "mask_token": "<mask>",
}


@dataclass(frozen=True, slots=True)
class LateTools:
    """The tools are printed behind an answer.

    ``offset`` is where the template decides it, ``printed`` where it prints them.
    """

    offset: int
    printed: int
    conversation: str


@dataclass(frozen=True, slots=True)
class Examination:
    """What was found, what was tried, and what could not be tried."""

    clocks: tuple[ClockCall, ...] = ()
    rewrites: tuple[Rewrite, ...] = ()
    late_tools: LateTools | None = None
    unkept: Unkept | None = None
    rendered: tuple[str, ...] = ()  # conversations that the template takes
    gaps: tuple[str, ...] = ()


def examine(text: str, meter: Meter | None = None) -> Examination:
    """Render a chat template with growing conversations; never raises for a bad template."""
    meter = meter or Meter()
    try:
        parsed = parse_anew(text, "chat", Delimiters())
        if len(text) > MAX_TEXT or len(parsed.tokens.tags) > MAX_TAGS:
            return Examination(gaps=("not rendered: the template is too large",))
        written = parse_anew(text, "chat", Delimiters()).tree
        renderer = Renderer(parsed.tree, meter)
    except JinjaError as error:
        return Examination(gaps=(f"not rendered: {error}",))
    except (RenderError, TooExpensiveError) as error:
        return Examination(gaps=(f"not rendered: {error}",))
    tried: list[Conversation] = []
    clocks: tuple[ClockCall, ...] = ()
    found: dict[tuple[str, int], Rewrite] = {}
    late: LateTools | None = None
    left: Unkept | None = None
    gaps: list[str] = []
    try:
        tried = list(_accepted(renderer))
        clocks = tuple(clock_calls(written, renderer, tried, TOKENS))
        for candidate in tried:
            late = late or _late_tools(renderer, candidate)
            for rewrite in rewrites(renderer, candidate, TOKENS):
                found.setdefault((rewrite.mechanism, rewrite.offset), rewrite)
        # One that leaves out earlier thoughts has been told of.
        options: list[dict[str, object]] = (
            [] if any(r.mechanism == "reasoning" for r in found.values()) else [{}]
        )
        if AT_ONCE in text:
            options.append({AT_ONCE: False})
        left = unkept(renderer, tried, TOKENS, options, text)
    except TooExpensiveError as error:
        gaps.append(f"rendering was stopped: {error}")
        clocks = clocks or tuple(clock_calls(written, None, (), TOKENS))
    if not tried and not gaps:
        gaps.append("not rendered: the template takes none of the conversations that were tried")
    moved = next((rewrite for rewrite in found.values() if rewrite.mechanism == "tools"), None)
    if late is not None and moved is not None:
        late = replace(late, offset=moved.offset)
    names = tuple(candidate.name for candidate in tried)
    return Examination(clocks, tuple(_placed(_clearest(found), written)), late, left, names, tuple(gaps))


def _placed(found: tuple[Rewrite, ...], tree: nodes.Template) -> Iterator[Rewrite]:
    """Yield each rewrite where the template decides it: a system text that grows is gathered in a loop."""
    at = gathered(tree)
    for one in found:
        yield (
            one
            if at is None or one.mechanism != "system" or one.offset != one.before
            else replace(one, offset=at)
        )


def _accepted(renderer: Renderer) -> Iterator[Conversation]:
    """Yield each conversation in the first style that the template renders with its texts in it.

    A template may print the results of tools and leave out what was called.
    """
    for name in NAMES:
        partly: Conversation | None = None
        for style in STYLES:
            candidate = conversation(name, style)
            try:
                text = renderer.render(values(candidate, len(candidate.messages), TOKENS))
            except (RefusedError, RenderError):
                continue
            shown = {word for _, word in words(text)}
            missing = {marker.kind for marker in candidate.markers if marker.word not in shown}
            if not missing & {"user", "call"}:
                yield candidate
                break
            if "user" not in missing:
                partly = partly or candidate
        else:
            if partly is not None:
                yield partly


def _late_tools(renderer: Renderer, candidate: Conversation) -> LateTools | None:
    """Return where the tools are printed if that is behind the first answer."""
    tools = next((marker.word for marker in candidate.markers if marker.kind == "tools"), None)
    answer = next((marker.word for marker in candidate.markers if marker.kind in ("content", "call")), None)
    if tools is None or answer is None:
        return None
    events: list[Event] = []
    text = renderer.render(values(candidate, len(candidate.messages), TOKENS), events)
    if not 0 <= text.find(answer) < text.find(tools):
        return None
    offset = next((event.offset for event in events if event.text and tools in event.text), 0)
    return LateTools(offset, offset, candidate.name)


def _clearest(found: dict[tuple[str, int], Rewrite]) -> tuple[Rewrite, ...]:
    """Return at most one rewrite a mechanism and turn role, usual conversations first.

    One rule in a template (``is this behind the last question?``) shows in several lines and
    conversations; the first, simplest one tells it.
    """
    usual = {r.mechanism for r in found.values() if not r.unusual}
    kept: dict[tuple[str, bool], Rewrite] = {}
    for rewrite in found.values():
        if rewrite.unusual and rewrite.mechanism in usual:
            continue
        kept.setdefault((rewrite.mechanism, rewrite.unusual), rewrite)
    return tuple(kept.values())
