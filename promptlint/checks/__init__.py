"""One module a family of rules: layouts in, findings out. They do not parse."""

from __future__ import annotations

from promptlint.checks import (
    changing,
    chat_template,
    conditional,
    embedded_history,
    history,
    hosted,
    mark_limits,
    mark_place,
    mark_steps,
    order,
    requests,
    tools,
    whitespace,
)
from promptlint.checks.base import Check, Thresholds, costliest

# Every rule that runs, in the order of the codes. A new one is entered here by hand.
CHECKS: tuple[Check, ...] = (
    *changing.CHECKS,  # PL101 to PL108
    *conditional.CHECKS,  # PL109, PL110
    embedded_history.HistoryBeforeStable(),  # PL111
    *order.CHECKS,  # PL201 to PL205
    *tools.CHECKS,  # PL301 to PL303
    *history.CHECKS,  # PL311 to PL313
    *chat_template.CHECKS,  # PL401 to PL404
    *whitespace.CHECKS,  # PL501, PL502
    *mark_place.CHECKS,  # PL601, PL605, PL606
    *mark_limits.CHECKS,  # PL602 to PL604
    *mark_steps.CHECKS,  # PL607, PL608
    *hosted.CHECKS,  # PL609 to PL613
    *requests.CHECKS,  # PL701, PL702, PL901
)

__all__ = ["CHECKS", "Check", "Thresholds", "costliest"]
