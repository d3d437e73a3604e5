"""Misses as findings, in the form that `promptlint check` prints; the line is that of the request."""

from __future__ import annotations

from typing import Any

from promptlint.findings import Severity
from promptlint.layout import Kind, Scope
from promptlint.trace.explain.codes import code_of
from promptlint.trace.explain.outcome import Outcome, Reason
from promptlint.trace.explain.redact import excerpt, redacted
from promptlint.words import counted

_FIXES: dict[Kind, str] = {
    Kind.TTL: "choose a longer lifetime for the stable part, or send a keep-alive before it ends",
    Kind.ROUTING: "send requests of one conversation with one cache key, to one replica",
    Kind.TOOLS_ORDER: "send the same tools in the same order for the whole conversation; sort them by name",
    Kind.UNORDERED: "write collections in a fixed order",
    Kind.HISTORY_REWRITE: "append only; if the history must shrink, cut seldom and much",
    Kind.BELOW_MINIMUM: "put more of the stable text before the mark, or drop the mark",
    Kind.BREAKPOINT_MISPLACED: "put a mark at the end of the part that stays the same",
    Kind.BREAKPOINT_LIMIT: "use no more marks than the provider takes; the last ones count",
    Kind.PARAMETER_CHANGE: "keep the parameters that belong to the cache's key the same within a conversation",
    Kind.WHITESPACE: "write the same whitespace each time",
    Kind.CHAT_TEMPLATE: "give the template fixed values, or one that keeps earlier turns as they are",
    Kind.OTHER: "wait for the first answer to begin before requests with the same prefix are sent",
}
_MOVE = "move what changes behind what stays the same"


def severity_of(lost: int) -> Severity:
    """Return the severity of a loss in tokens a request."""
    if lost >= 8192:
        return Severity.ERROR
    return Severity.WARNING if lost >= 512 else Severity.INFO


def message_of(outcome: Outcome, show_text: bool) -> str:
    """Return what happened to a request, in one or two sentences."""
    if outcome.reason is Reason.BELOW_MINIMUM:
        return f"{outcome.reason.value}: {outcome.detail}, and nothing shorter is cached"
    read = f"{outcome.lost:,} of {counted(outcome.reusable, 'reusable token')} not read"
    diff = outcome.difference
    if diff is None:
        return f"{read}: {outcome.reason.value} ({outcome.detail})"
    part = diff.new_part or diff.old_part
    number = f" {part.index}" if part and diff.section.value != "system" else ""
    place = f"token {diff.token:,} (byte {diff.byte:,}), {diff.section.value}{number}"
    shown = excerpt if show_text else redacted
    texts = (
        f"{shown(diff.old)!r} became {shown(diff.new)!r}" if diff.old or diff.new else "the end is missing"
    )
    return f"{read}: the prefix changed at {place}: {texts} ({outcome.detail})"


def finding_of(outcome: Outcome, usd: float | None, block: int, show_text: bool) -> dict[str, Any]:
    """Return one finding as JSON values."""
    assert outcome.kind is not None
    code, name = code_of(outcome)
    request, diff = outcome.request, outcome.difference
    evidence: dict[str, Any] = {
        "reason": outcome.reason.value,
        "detail": outcome.detail,
        "read_tokens": outcome.read,
        "read_is_counted": outcome.counted,
        "reusable_tokens": outcome.reusable,
        "against_line": outcome.against.line if outcome.against else None,
        "session": request.session,
        "model": request.model,
        "provider_reason": request.reason,
    }
    if diff is not None:
        shown = (lambda text: text) if show_text else redacted
        part = diff.new_part or diff.old_part
        evidence["difference"] = {
            "token": diff.token,
            "byte": diff.byte,
            "section": diff.section.value,
            "index": part.index if part else None,
            "role": part.role if part else "",
            "shape": diff.shape.value,
            "before": shown(diff.before[-200:]),
            "old": shown(diff.old[:2000]),
            "new": shown(diff.new[:2000]),
            "after": shown(diff.after[:200]),
            "tokens_behind": diff.behind,
            "redacted": not show_text,
        }
    return {
        "code": code,
        "name": name,
        "kind": outcome.kind.value,
        "file": request.file,
        "line": request.line,
        "column": 1,
        "end_line": request.line,
        "end_column": 1,
        "message": message_of(outcome, show_text),
        "severity": severity_of(outcome.lost).value,
        "confidence": outcome.confidence.value,
        "scope": Scope.REQUEST.value,
        "origin": None,
        "cost": {
            "tokens": outcome.lost,
            "blocks": outcome.lost // block,
            "profile": outcome.profile,
            "estimated": request.usage is None,
            "usd": usd,
        },
        "status": "active",
        "reason": "",
        "prompt": request.session,
        "chain": [],
        "fix": {"message": _FIXES.get(outcome.kind, _MOVE), "safe": False, "edits": 0},
        "evidence": evidence,
    }
