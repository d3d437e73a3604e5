"""Lists of which a store gives only the newest elements: the next request has others in front::

    db.execute("SELECT role, content FROM messages ORDER BY id DESC LIMIT 20")
    select(Message).order_by(Message.id.desc()).limit(n)
    redis.lrange(key, -20, -1)
    channel.history(limit=15)
    memory.recent_messages(10)

Whether turns are made of them shows where they are sent.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from promptlint.frontends.python.evaluate import access
from promptlint.frontends.python.library.newest import gives_last_first, selects_newest
from promptlint.frontends.python.values.naming import called_name
from promptlint.layout import ROWS, Cause, Confidence, Kind, Scope

if TYPE_CHECKING:
    from promptlint.frontends.python.evaluate.machine import Frame
    from promptlint.frontends.python.values.arguments import Arguments

# Classes of libraries that keep a conversation and give a request its newest turns.
WINDOWS = frozenset(
    (
        *(
            "ConversationBufferWindowMemory",
            "ConversationTokenBufferMemory",
            "ConversationSummaryBufferMemory",
        ),
        *("BufferedChatCompletionContext", "TokenLimitedChatCompletionContext"),
        *("MessageHistoryLimiter", "MessageTokenLimiter", "SlidingWindowConversationManager"),
        *(
            "ChatHistoryTruncationReducer",
            "ChatMemoryBuffer.from_defaults",
            "ChatSummaryMemoryBuffer.from_defaults",
        ),
    )
)
# Methods that give turns, and what they are asked for: ``recent_messages(10)``, ``get_history(limit=10)``.
_GIVES_TURNS = re.compile(
    r"(^|_)(messages|history|turns|conversation|dialogue|chat_history|memories|interactions)(_list|_for_\w+)?$|(recent|last)_\w*"
)
_NEWEST = re.compile(r"recent|latest|(^|_)last(_n|_k)?(_|$)")
_FEW = re.compile(
    r"^(limit|k|n|num|last_?n|last_?k|count|max_?(messages|turns|history)|n_?(messages|turns)|window(_size)?)$"
)
KEEPS_NEWEST = frozenset({"num_history_runs", "num_history_responses", "num_history_messages"})
"""Options of agents of a library: how many turns of those that it keeps are sent."""
_RUN = frozenset({"execute", "fetch", "fetchall", "fetch_all", "query", "raw", "exec"})


def newest(short: str, given: Arguments, node: ast.Call, frame: Frame) -> Cause | None:
    """Return why what a call of a store gives moves on with every turn, None where it gives all."""
    if not _limited(short, given, node, frame):
        return None
    place = frame.module.place(node)
    return Cause(
        Kind.HISTORY_REWRITE, Scope.REQUEST, frame.module.text(node), Confidence.MEDIUM, place, variant=ROWS
    )


def _asks_for_few(node: ast.Call) -> bool:
    """Tell whether a call asks for the newest of something: by its name with a number, or by a limit."""
    limits = [k.value for k in node.keywords if k.arg is not None and _FEW.search(k.arg)]
    if _NEWEST.search(called_name(node)):
        limits += node.args[-1:]
    return any(getattr(limit, "value", 2) not in (None, 1) for limit in limits)


def _limited(short: str, given: Arguments, node: ast.Call, frame: Frame) -> bool:
    if short in _RUN:
        query = access.plain(given.args[0]) if given.args else None
        return isinstance(query, str) and selects_newest(query)
    if short == "limit":
        return len(given.args) == 1 and gives_last_first(
            node, frame.func.node if frame.func is not None else None
        )
    if short == "history":
        return "limit" in given.keywords and not given.args
    if _GIVES_TURNS.search(short) and _asks_for_few(node):
        return True
    if short in ("lrange", "ltrim"):
        first = node.args[1] if len(node.args) == 3 else None
        return isinstance(first, ast.UnaryOp) and isinstance(first.op, ast.USub)
    return False
