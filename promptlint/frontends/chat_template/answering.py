"""The answer test: does the next request begin with what the last one asked for, and the answer to it?

A request ends with what the template prints for ``add_generation_prompt``; the model's answer stands behind
that. In the next request the answer is a turn like others. Where that turn begins otherwise, the engine has
the answer behind a text that is not there, and computes it again::

    asked for     …<|assistant|>\\n<think>\\n\\n</think>\\n\\n
    then printed  …<|assistant|>\\nThe answer.

A thought that is only opened belongs to the answer. Where no answer is printed with its thought, all of them are
computed again as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from promptlint.frontends.chat_template.conversations import Conversation
from promptlint.frontends.chat_template.growth import common, placed, values
from promptlint.frontends.chat_template.render import Renderer
from promptlint.frontends.chat_template.sandbox import Event, RefusedError, RenderError

_THOUGHT = re.compile(r"think|thought|reason|analysis|channel", re.IGNORECASE)
_CLOSED = re.compile(r"</|\[/|◁/|<\|/|(?:end|_end|stop)[_ ]?(?:of[_ ])?think", re.IGNORECASE)
_TAG = 24  # characters of a tag
_CUT = re.compile(r"split\(\s*['\"]</think>")
#: What clients set so that a model answers at once.
AT_ONCE = "enable_thinking"
Options = Sequence[dict[str, object]]


@dataclass(frozen=True, slots=True)
class Unkept:
    """What a generation prompt adds in front of an answer, and the turn that the answer becomes does not.

    ``offset`` is where the template prints it, ``after`` where it prints the turn.
    """

    offset: int
    after: int
    text: str
    conversation: str
    option: str  # set for it, as ``enable_thinking=False``; empty for none


def unkept(
    renderer: Renderer, tried: list[Conversation], fixed: dict[str, object], options: Options, text: str
) -> Unkept | None:
    """Return what a template adds in front of answers and does not keep, with one of the ``options``.

    Raises:
        TooExpensiveError: a limit of the sandbox is reached.
    """
    cut = _CUT.search(text)
    for option in options:
        shown = "".join(f"{name}={value}" for name, value in option.items())
        for conversation, (offset, after, added) in _added(renderer, tried, fixed | option):
            if not _opens_thought(added):
                return Unkept(offset, after, added, conversation.name, shown)
            if cut is not None and not _keeps_thoughts(renderer, tried, fixed | option):
                return Unkept(cut.start(), offset, added, conversation.name, shown)
    return None


def _added(
    renderer: Renderer, tried: list[Conversation], fixed: dict[str, object]
) -> Iterator[tuple[Conversation, tuple[int, int, str]]]:
    """Yield what is printed in front of answers only, with the conversation that shows it."""
    for conversation in tried:
        for length in _asking(conversation) if conversation.name.startswith("turns") else ():
            try:
                found = _compare(renderer, conversation, length, fixed)
            except (RefusedError, RenderError):
                continue
            if found is not None:
                yield conversation, found


def _opens_thought(added: str) -> bool:
    """Tell whether a text begins what the model thinks, in one of the many spellings: ``<think>``, ``[THINK]``."""
    return _THOUGHT.search(added) is not None and _CLOSED.search(added) is None


def _keeps_thoughts(renderer: Renderer, tried: list[Conversation], fixed: dict[str, object]) -> bool:
    """Tell whether the newest answer is printed with what was thought for it, however the client gives that."""
    for conversation in tried:
        thought = next((marker for marker in conversation.markers if marker.kind == "reasoning"), None)
        if thought is None or thought.message is None:
            continue
        try:
            text = renderer.render(values(conversation, thought.message + 1, fixed))
        except (RefusedError, RenderError):
            continue
        if thought.word in text:
            return True
    return False


def _asking(conversation: Conversation) -> Iterator[int]:
    """Yield the lengths at which a user's turn is answered by the next."""
    roles = [message["role"] for message in conversation.messages]
    for length in range(1, len(roles)):
        if roles[length - 1] == "user" and roles[length] == "assistant":
            yield length


def _compare(
    renderer: Renderer, conversation: Conversation, length: int, fixed: dict[str, object]
) -> tuple[int, int, str] | None:
    asked: list[Event] = []
    told: list[Event] = []
    given = values(conversation, length, fixed) | {"add_generation_prompt": True}
    request = renderer.render(given, asked)
    later = renderer.render(values(conversation, length + 1, fixed), told)
    at = common(request, later)
    if _bare(later).startswith(_bare(request)):
        return None
    if at < len(renderer.render(values(conversation, length, fixed))):
        return None  # a turn is written otherwise, which the growth test tells
    begun = request.rfind("<", max(0, at - _TAG), at)  # of a tag that both begin with
    at_tag = begun if begun >= 0 and ">" not in request[begun:at] else at
    return _printed(asked, request, at), _printed(told, later, at), request[at_tag:].strip()


def _bare(text: str) -> str:
    """Return a rendering without white space, which a template's own layout may have put there."""
    return "".join(text.split())


def _printed(events: list[Event], text: str, at: int) -> int:
    """Return where a template prints what stands at a position of a rendering."""
    starts = placed(events, text)
    return starts[max((one for one in starts if one <= at), default=min(starts))][0] if starts else 0
