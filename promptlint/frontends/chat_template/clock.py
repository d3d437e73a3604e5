"""Where a chat template prints the time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from jinja2 import nodes

from promptlint.frontends.chat_template.conversations import Conversation
from promptlint.frontends.chat_template.growth import values
from promptlint.frontends.chat_template.instrument import CLOCK
from promptlint.frontends.chat_template.render import Renderer
from promptlint.frontends.chat_template.sandbox import Event, RefusedError, RenderError

#: Names that a template may be given for the time; `transformers` itself only gives `CLOCK`.
_CLOCKS = frozenset(
    (
        *(CLOCK, "now", "utcnow", "today", "datetime.now", "datetime.utcnow", "datetime.today", "date.today"),
        *(
            "datetime.datetime.now",
            "datetime.datetime.utcnow",
            "datetime.date.today",
            "time.time",
            "time.strftime",
        ),
    )
)


@dataclass(frozen=True, slots=True)
class ClockCall:
    """A call of a clock: where it stands, what is called, and where its text is printed (None: unknown).

    ``bare`` says that it was only seen in conversations without a system message.
    """

    offset: int
    callee: str
    printed: int | None
    bare: bool = False


def called(tree: nodes.Template) -> dict[int, str]:
    """Return the clock calls written in a template: offset → callee."""
    found: dict[int, str] = {}
    for call in tree.find_all(nodes.Call):
        name = _dotted(call.node)
        if name in _CLOCKS:
            found[call.lineno] = name
    return found


def clock_calls(
    tree: nodes.Template, renderer: Renderer | None, tried: Sequence[Conversation], fixed: dict[str, object]
) -> Iterator[ClockCall]:
    """Yield the clock calls whose text reaches the prompt when the caller passes no date.

    Calls that no rendering reached are yielded with ``printed=None``; calls that were reached but whose
    text was never printed are left out.

    Raises:
        TooExpensiveError: a limit of the sandbox is reached.
    """
    written = called(tree)
    if not written:
        return
    reached: set[int] = set()
    printed: dict[int, int] = {}
    led: set[int] = set()  # calls that are printed although there is a system message
    for conversation in tried if renderer is not None else ():
        assert renderer is not None
        for length in (next(conversation.lengths(), 0), len(conversation.messages)):
            events: list[Event] = []
            try:
                renderer.render(values(conversation, length, fixed), events)
            except (RefusedError, RenderError):
                continue
            for offset, text in renderer.sandbox.asked_at:
                reached.add(offset)
                for event in events:
                    if text and event.text is not None and text in event.text:
                        printed.setdefault(offset, event.offset)
                        if conversation.messages[0]["role"] == "system":
                            led.add(offset)
                        break
    for offset, callee in written.items():
        if offset in printed or offset not in reached:
            bare = offset in printed and offset not in led
            yield ClockCall(offset, callee, printed.get(offset), bare)


def _dotted(node: nodes.Node) -> str:
    parts: list[str] = []
    while isinstance(node, nodes.Getattr):
        parts.append(node.attr)
        node = node.node
    if not isinstance(node, nodes.Name):
        return ""
    return ".".join([node.name, *reversed(parts)])
