"""PL401 to PL404: what a model's chat template does to the prompt."""

from __future__ import annotations

from promptlint.checks.observed import BEHIND_PLACE, Observed
from promptlint.findings import Severity
from promptlint.layout import Kind, Scope

CLOCK = Observed(
    "PL401",
    "chat-template-clock",
    ("template-clock",),
    Kind.CHAT_TEMPLATE,
    "the chat template prints the time in front of the conversation",
    "let the caller pass the date, and print it behind the system text and the tools",
    scope=Scope.DAY,
    behind=BEHIND_PLACE,
)
REWRITES = Observed(
    "PL402",
    "chat-template-rewrites",
    ("template-rewrites",),
    Kind.CHAT_TEMPLATE,
    "the chat template renders an earlier turn differently once the conversation goes on",
    "render each turn the same way wherever it stands; keep earlier reasoning, or never show it",
    severity=Severity.ERROR,
)
MOVES_TOOLS = Observed(
    "PL403",
    "chat-template-moves-tools",
    ("template-moves-tools",),
    Kind.CHAT_TEMPLATE,
    "the chat template puts the tools into a later message, which moves with every turn",
    "print the tools once, in front of the first message",
    severity=Severity.ERROR,
)

ANSWERS = Observed(
    "PL404",
    "chat-template-answers",
    ("template-answers",),
    Kind.CHAT_TEMPLATE,
    "what the chat template prints for the model to go on from is not in the turn that the answer becomes, "
    "so that each answer is computed again",
    "print the same text in front of the answers of earlier turns, or do not print it at all",
)

CHECKS = (CLOCK, REWRITES, MOVES_TOOLS, ANSWERS)
