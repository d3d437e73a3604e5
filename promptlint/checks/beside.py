"""Values of several kinds that say what a request is about, told as one fault.

Each rule groups the values of its own kind. But a sentence may hold values of several, with one place to go to::

    You work on {repo_name}, issue #{issue_number}: {issue_title}
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from promptlint.findings import NEAR_SENTENCE, Finding, Status
from promptlint.layout import ABOUT, Confidence, Scope, Step

_SCOPES = frozenset({Scope.SESSION, Scope.REQUEST})
_FAR = 2_500  # characters of a file between two values of one place in a prompt
_WHAT = re.compile(r"`(?:[^`]|`(?! ))*`")


def together(found: Iterable[Finding]) -> Iterator[Finding]:
    """Yield findings of a layout; of different rules about neighbours the one whose value changes most often.

    Of equals it is the first of them, and the others become steps of it. Only what names tell is so taken together:
    what was traced is told for itself.
    """
    every = list(found)
    about = sorted((f for f in every if _is_about(f)), key=_tokens, reverse=True)
    groups: list[list[Finding]] = []
    for one in about:
        group = groups[-1] if groups else []
        if group and _near(group[-1], one) and all(one.code != other.code for other in group):
            group.append(one)
        else:
            groups.append([one])
    led: dict[int, Finding | None] = {}
    for group in groups:
        if len(group) > 1:
            first = max(
                group, key=lambda f: f.scope.rank
            )  # of equals the first: those behind more text come later
            led |= {id(f): None for f in group}
            others = tuple(Step(f.primary, f"together with {_what(f)}") for f in group if f is not first)
            led[id(first)] = replace(first, related=(*first.related, *others))
    for one in every:
        told = led.get(id(one), one)
        if told is not None:
            yield told


def _is_about(finding: Finding) -> bool:
    named = finding.confidence is Confidence.LOW and finding.status is Status.ACTIVE
    return named and finding.kind in ABOUT and finding.scope in _SCOPES and finding.cost is not None


def _tokens(finding: Finding) -> int:
    return finding.cost.tokens if finding.cost else 0


def _near(one: Finding, other: Finding) -> bool:
    here, there = one.primary, other.primary
    apart = abs(here.span.start - there.span.start)
    return here.path == there.path and apart < _FAR and _tokens(one) - _tokens(other) < NEAR_SENTENCE


def _what(finding: Finding) -> str:
    found = _WHAT.search(finding.message)
    return found.group() if found else finding.name
