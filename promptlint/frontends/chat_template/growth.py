"""The growth test: does a longer conversation still begin with the rendering of the shorter one?

A prefix cache keeps what was computed for ``k`` turns. It helps with ``k + n`` turns only if the template
renders the first ``k`` exactly as before. Both are rendered in the sandbox and compared; the first
difference is led back to the turn it stands in and to the line of the template that decided it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from jinja2 import nodes

from promptlint.frontends.chat_template.conversations import Conversation, Marker, words
from promptlint.frontends.chat_template.render import Renderer
from promptlint.frontends.chat_template.sandbox import Event, RefusedError, RenderError

_THOUGHT_TAGS = ("<think", "</think", "[think", "thought", "reason", "analysis")


@dataclass(frozen=True, slots=True)
class Rewrite:
    """One way in which a template changes what it rendered before.

    ``mechanism``: ``reasoning`` (dropped or moved), ``system`` (moved or hoisted), ``tools``,
    ``tool-calls``, ``tool-results`` or ``text``. ``offset`` is where the template decides it; ``before`` and
    ``after`` are where it prints the two texts.
    """

    mechanism: str
    offset: int
    before: int
    after: int
    conversation: str
    role: str  # of the turn that is rewritten
    turn: int  # its index in the conversation
    length: int  # messages in the shorter rendering
    longer: int  # messages in the longer one
    unusual: bool


def rewrites(renderer: Renderer, conversation: Conversation, fixed: dict[str, object]) -> Iterator[Rewrite]:
    """Yield what changes between neighbouring lengths of a conversation.

    Lengths that the template refuses or cannot render are passed over.

    Raises:
        TooExpensiveError: a limit of the sandbox is reached.
    """
    earlier: tuple[int, str] | None = None
    for length in conversation.lengths():
        try:
            text = renderer.render(values(conversation, length, fixed))
        except (RefusedError, RenderError):
            continue
        if earlier is not None and not _grows(earlier[1], text):
            yield _explain(renderer, conversation, fixed, earlier, (length, text))
        earlier = length, text


def gathered(tree: nodes.Template) -> int | None:
    """Return where a loop adds to a text that is printed elsewhere, if there is one such place.

    ``{% set ns.system = ns.system + message.content %}``
    """
    found = {
        step.lineno
        for loop in tree.find_all(nodes.For)
        for step in loop.find_all(nodes.Assign)
        if isinstance(step.target, nodes.NSRef) and _adds_to(step.node, step.target)
    }
    return found.pop() if len(found) == 1 else None


def _adds_to(value: nodes.Node, target: nodes.NSRef) -> bool:
    return not isinstance(value, nodes.Const) and any(
        isinstance(part.node, nodes.Name) and (part.node.name, part.attr) == (target.name, target.attr)
        for part in value.find_all(nodes.Getattr)
    )


def values(conversation: Conversation, length: int, fixed: dict[str, object]) -> dict[str, object]:
    """Return the variables with which ``transformers`` renders a template."""
    return {
        "messages": list(conversation.messages[:length]),
        "tools": list(conversation.tools) or None,
        "documents": None,
        "add_generation_prompt": False,
        **fixed,
    }


def common(first: str, second: str) -> int:
    """Return the length of the common prefix of two texts."""
    low, high = 0, min(len(first), len(second))
    if first[:high] == second[:high]:
        return high
    while low + 1 < high:  # first[:low] agrees, first[:high] does not
        middle = (low + high) // 2
        if first[:middle] == second[:middle]:
            low = middle
        else:
            high = middle
    return low


def _grows(shorter: str, longer: str) -> bool:
    """Tell whether ``longer`` continues ``shorter``, up to what closes its last message."""
    at = common(shorter, longer)
    if at == len(shorter):
        return True
    return not any(position + len(word) > at for position, word in words(shorter))


def _explain(
    renderer: Renderer,
    conversation: Conversation,
    fixed: dict[str, object],
    shorter: tuple[int, str],
    longer: tuple[int, str],
) -> Rewrite:
    at = common(shorter[1], longer[1])
    traces: list[list[Event]] = []
    for length, _ in (shorter, longer):
        events: list[Event] = []
        renderer.render(values(conversation, length, fixed), events)
        traces.append(events)
    one, other = (placed(events, text) for events, (_, text) in zip(traces, (shorter, longer), strict=True))
    start = max((position for position in one.keys() & other.keys() if position <= at), default=0)
    before, first = one.get(start, (0, ()))
    after, second = other.get(start, (0, ()))
    marker = _next_marker(conversation, shorter[1], at)
    decided = _deciding(first, second)
    return Rewrite(
        mechanism=_mechanism(conversation, shorter[1], longer[1], at, marker),
        offset=before if decided is None else decided,
        before=before,
        after=after,
        conversation=conversation.name,
        role=marker.role if marker else "",
        turn=marker.message if marker and marker.message is not None else 0,
        length=shorter[0],
        longer=longer[0],
        unusual=conversation.unusual,
    )


def placed(events: Sequence[Event], text: str) -> dict[int, tuple[int, tuple[Event, ...]]]:
    """Return, for each position at which a print starts, its offset and the decisions just before it."""
    found: dict[int, tuple[int, tuple[Event, ...]]] = {}
    position = 0
    decisions: list[Event] = []
    for event in events:
        if event.text is None:
            decisions.append(event)
            continue
        start = text.find(event.text, position)
        if start >= 0:
            found.setdefault(start, (event.offset, tuple(decisions)))
            position = start + len(event.text)
        decisions = []
    return found


def _deciding(first: Sequence[Event], second: Sequence[Event]) -> int | None:
    """Return the offset of the first condition that was decided differently, if there is one."""
    for one, other in zip(first, second, strict=False):
        if one.offset != other.offset:
            return None
        if one.decided != other.decided:
            return one.offset
    return None


def _next_marker(conversation: Conversation, text: str, at: int) -> Marker | None:
    known = {marker.word: marker for marker in conversation.markers}
    for position, word in words(text):
        if position + len(word) > at and word in known:
            return known[word]
    return None


def _mechanism(conversation: Conversation, shorter: str, longer: str, at: int, marker: Marker | None) -> str:
    ahead = _next_marker(conversation, longer, at)
    if ahead is not None and ahead.kind in ("late-system", "tools"):
        return "system" if ahead.kind == "late-system" else "tools"
    if marker is None:
        return "text"
    named = {"tools": "tools", "system": "system", "reasoning": "reasoning"}
    if marker.kind in named:
        return named[marker.kind]
    end = shorter.find(marker.word, at)
    changed = (shorter[at:end] + longer[at : at + (end - at)]).lower()
    if marker.role == "assistant" and any(tag in changed for tag in _THOUGHT_TAGS):
        return "reasoning"
    return {"call": "tool-calls", "result": "tool-results"}.get(marker.kind, "text")
