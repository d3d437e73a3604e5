"""Conditions on what a request is about: another question takes another branch.

A mode, a right or a setting is the same for all of a conversation. What the user says is not::

    if "refund" in question: …        if len(text) > 400: …        if router.needs_search(query): …
"""

from __future__ import annotations

import re
from dataclasses import replace

from promptlint.checks.base import is_history
from promptlint.layout import ARGUMENT, DATA, Cause, Confidence, Guard, Kind, Layout, Scope, Section
from promptlint.volatility import tests_presence

_NAME = re.compile(r"[A-Za-z_][\w.]*")
_QUOTED = re.compile(r"""(["'])(?:\\.|(?!\1).)*\1""")
# Asked of a value alone, these only tell whether there is one.
_WHETHER = re.compile(r"\b(?:len|bool|callable|any|all|str|isinstance|hasattr)\(")
# A conversation that grows is still one, and a set in another order has the same elements.
_STILL_THERE = frozenset({Kind.HISTORY, Kind.HISTORY_REWRITE, Kind.UNORDERED})
# What is measured anew is always there: a plain test of it, ``if tool.ready()``, asks for what came out.
_MEASURED = frozenset({Kind.CLOCK, Kind.RANDOM, Kind.ENVIRONMENT})
_OF_TEXT = "[lr]?strip|lower|upper|casefold|startswith|endswith|r?split|splitlines|count|find|isdigit|isupper"
_READ = 400  # characters of a condition that are looked at


def goes_on(layout: Layout) -> bool:
    """Tell whether a request is one of a conversation: sent in its loop, or with the turns so far."""
    return layout.repeated or any(is_history(segment.cause) for segment in layout.segments)


def asked(layout: Layout, guard: Guard) -> Cause | None:
    """Return why a condition turns out otherwise from one request to the next, None where it does not.

    What the messages of this request say has to be read by it: searched for words, measured, handed to a
    function that decides.
    """
    cause, bare = guard.cause, _QUOTED.sub("''", guard.expression[:_READ])
    if guard.kind not in ("if", "match"):
        return None
    if tests_presence(guard):
        bare = _WHETHER.sub("(", bare)
    elif cause is not None and cause.confidence is Confidence.HIGH and cause.scope is Scope.REQUEST:
        return None if cause.kind in _STILL_THERE else cause
    for segment in layout.segments:
        data = segment.cause
        if data is None or data.kind not in DATA or segment.section is not Section.MESSAGES:
            continue
        origin = segment.origin
        names = {
            origin.name,
            origin.expression,
            *(here for here, name in guard.known_as if name == origin.name),
        }
        if origin.name in guard.reads or any(_reads(bare, name) for name in names):
            return replace(data, variant="" if data.variant == ARGUMENT else data.variant)
    return None


def asked_for_tools(layout: Layout) -> tuple[Guard, Cause] | None:
    """Return the condition by which a conversation chooses its tools anew, and why; the surest of several.

    However many conditions there are, the list is chosen once.
    """
    if not goes_on(layout):
        return None
    found = [
        (guard, cause)
        for segment in layout.segments
        if segment.section is Section.TOOLS
        for guard in segment.guards
        if (cause := asked(layout, guard) or _measured(guard)) is not None
    ]
    return max(found, key=lambda one: one[1].confidence.rank) if found else None


def _measured(guard: Guard) -> Cause | None:
    """Return what a condition measures for each request: whether a device answers, how late it is."""
    cause = guard.cause
    sure = cause is not None and cause.confidence is Confidence.HIGH and cause.scope is Scope.REQUEST
    return cause if sure and cause is not None and cause.kind in _MEASURED and guard.kind == "if" else None


def _reads(condition: str, name: str) -> bool:
    """Tell whether a condition asks for what is in a text, not for one of its attributes or a value of an option."""
    if name not in condition or not _NAME.fullmatch(name):
        return False
    whole = rf"(?<![\w.]){re.escape(name)}(?![\w\[]|\.(?!{_OF_TEXT}))"
    forms = (
        rf"\bin\s+{whole}",
        rf"{whole}(?:\.\w+\(\))*\.(?:startswith|endswith|count|find|isdigit|isupper)\(",
        rf"\w\((?:[^()]*,\s*)?{whole}(?:\.\w+\(\))*\s*[,)]",
        rf"{whole}\s*[<>&]|[<>&]=?\s*{whole}",  # a number, or a set of words, that was made of it
    )
    return any(re.search(form, condition) for form in forms)
