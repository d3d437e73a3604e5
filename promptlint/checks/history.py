"""PL311 to PL313: a conversation that is not only appended to."""

from __future__ import annotations

from promptlint.checks.observed import Observed
from promptlint.findings import Severity
from promptlint.layout import Kind

CUT = Observed(
    "PL311",
    "history-cut",
    ("history-cut",),
    Kind.HISTORY_REWRITE,
    "earlier turns are dropped from the front, so that what is left moves to another position",
    "cut rarely and in large steps, or summarise once and go on from the summary",
    shows_code=True,
)
REWRITTEN = Observed(
    "PL312",
    "history-rewritten",
    ("history-rewritten",),
    Kind.HISTORY_REWRITE,
    "a turn that was already sent is changed",
    "send earlier turns as they were; put what is new into a new message at the end",
    severity=Severity.ERROR,
    shows_code=True,
)
INSERTED = Observed(
    "PL313",
    "history-inserted",
    ("history-inserted",),
    Kind.HISTORY_REWRITE,
    "something is put before the end of the conversation",
    "append it to the end, and keep it there in later requests",
    shows_code=True,
)

CHECKS = (CUT, REWRITTEN, INSERTED)
