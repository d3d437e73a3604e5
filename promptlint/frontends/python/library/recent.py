"""Lists of which a store gives only the newest elements: the next request has others in front::

    db.execute("SELECT role, content FROM messages ORDER BY id DESC LIMIT 20")
    select(Message).order_by(Message.id.desc()).limit(n)
    redis.lrange(key, -20, -1)
    channel.history(limit=15)

Whether turns are made of them shows where they are sent.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from promptlint.frontends.python.evaluate import access
from promptlint.frontends.python.library.newest import gives_last_first, selects_newest
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
_RUN = frozenset({"execute", "fetch", "fetchall", "fetch_all", "query", "raw", "exec"})


def newest(short: str, given: Arguments, node: ast.Call, frame: Frame) -> Cause | None:
    """Return why what a call of a store gives moves on with every turn, None where it gives all."""
    if not _limited(short, given, node):
        return None
    place = frame.module.place(node)
    return Cause(
        Kind.HISTORY_REWRITE, Scope.REQUEST, frame.module.text(node), Confidence.MEDIUM, place, variant=ROWS
    )


def _limited(short: str, given: Arguments, node: ast.Call) -> bool:
    if short in _RUN:
        query = access.plain(given.args[0]) if given.args else None
        return isinstance(query, str) and selects_newest(query)
    if short == "limit":
        return len(given.args) == 1 and gives_last_first(node)
    if short == "history":
        return "limit" in given.keywords and not given.args
    if short in ("lrange", "ltrim"):
        first = node.args[1] if len(node.args) == 3 else None
        return isinstance(first, ast.UnaryOp) and isinstance(first.op, ast.USub)
    return False
