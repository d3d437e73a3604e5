"""Turns that are shown in full while they are new, and otherwise when they are not, told by the form.

The next request repeats other bytes from the turn on that was the newest::

    if i < len(steps) - 1:                       all but the newest are summarised
        text = step.result.summary
    else:
        text = step.result.message

    [NOTE if is_screenshot(m) and i != newest else m for i, m in enumerate(messages)]
"""

from __future__ import annotations

import ast
import re
from bisect import bisect_left
from collections import defaultdict
from dataclasses import dataclass, field

from promptlint.frontends.python.readings.shapes import last_name
from promptlint.frontends.python.readings.turnlists import (
    SUMMARY,
    Body,
    Function,
    Seen,
    is_list,
    is_summary_name,
    is_turns,
)
from promptlint.frontends.python.syntax.nodes import children, walk

_NEWEST = re.compile(r"last|latest|newest|most_recent", re.IGNORECASE)
_PLACE = re.compile(r"(\b|_)(i|j|idx|index|pos|position|age|depth)\b", re.IGNORECASE)
_FULL = frozenset({"message", "content", "text", "output", "result", "observation", "full", "body"})


def downgrading(body: Body) -> Seen:
    """Yield where a function shows older turns otherwise than the newest."""
    summaries = any(is_summary_name(n.attr) for n in body.of(ast.Attribute))
    seen: set[int] = set()
    shown: _Shown | None = None  # until the first condition needs it
    for test in body.of(ast.If) if summaries else ():
        # One that was seen stands in another, whose choices were all looked at.
        if id(test) not in seen and _by_place(test.test):
            shown = shown or _Shown(body.function)
            for choice in (test, *walk(*test.body, *test.orelse)):
                if isinstance(choice, ast.If):
                    seen.add(id(choice))
                    older = shown.instead(choice.body, choice.orelse)
                    older = older or shown.instead(choice.orelse, choice.body)
                    if older is not None:
                        yield "history-rewritten", older
    for node in body.of(ast.ListComp):
        if _replaces_some(node, body.lists):
            yield "history-rewritten", node


def _by_place(test: ast.expr) -> bool:
    """Tell whether a condition asks where a turn stands: ``not is_last``, ``i < len(steps) - 1``."""
    text = ast.unparse(test)
    return _NEWEST.search(text) is not None or any(
        isinstance(n, ast.Compare)
        and not isinstance(n.ops[0], ast.In | ast.NotIn | ast.Is | ast.IsNot)
        and _PLACE.search(ast.unparse(n))
        for n in walk(test)
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Places:
    """Some of a function's attributes in the order of the text, each with its place and the object it belongs to."""

    places: list[int] = field(default_factory=list)
    owners: list[str] = field(default_factory=list)
    by_owner: defaultdict[str, list[int]] = field(default_factory=lambda: defaultdict(list))

    def add(self, place: int, owner: str) -> None:
        self.by_owner[owner].append(place)
        self.places.append(place)
        self.owners.append(owner)

    def between(self, part: tuple[int, int]) -> slice:
        """Return which of them stand in a part of the function."""
        return slice(bisect_left(self.places, part[0]), bisect_left(self.places, part[1]))

    def has(self, owner: str, part: tuple[int, int]) -> bool:
        """Tell whether one of an object's attributes stands in a part of the function."""
        places = self.by_owner.get(owner, [])
        at = bisect_left(places, part[0])
        return at < len(places) and places[at] < part[1]

    def of(self, owner: str, part: tuple[int, int]) -> list[int]:
        """Return the places of an object's attributes in a part of the function."""
        places = self.by_owner.get(owner, [])
        return places[bisect_left(places, part[0]) : bisect_left(places, part[1])]


class _Shown:
    """Where a function shows summaries of objects, and where it shows them in full.

    Nodes are numbered in the order of the text, so that a branch is a range of numbers. In a long chain of
    alternatives, of two branches one is short: only what that one shows is looked up in the other.
    """

    def __init__(self, function: Function) -> None:
        self._start: dict[ast.AST, int] = {}
        self._end: dict[ast.AST, int] = {}
        self._nodes: dict[int, tuple[int, ast.Attribute]] = {}  # summaries by place, with how deep they stand
        self._summaries, self._full = _Places(), _Places()
        waiting: list[tuple[ast.AST, int | None]] = [(function, 0)]
        while waiting:
            node, depth = waiting.pop()
            if depth is None:  # all that stands in it was numbered
                self._end[node] = len(self._start)
                continue
            place = self._start[node] = len(self._start)
            if isinstance(node, ast.Attribute):
                self._enter(node, place, depth)
            waiting.append((node, None))
            waiting += ((child, depth + 1) for child in reversed(children(node)))

    def _enter(self, node: ast.Attribute, place: int, depth: int) -> None:
        full = node.attr in _FULL
        if full:
            self._full.add(place, ast.unparse(node.value))
        if isinstance(node.ctx, ast.Load) and SUMMARY.search(node.attr):
            self._summaries.add(place, ast.unparse(node.value))
            self._nodes[place] = depth, node

    def _part(self, branch: list[ast.stmt]) -> tuple[int, int]:
        return (self._start[branch[0]], self._end[branch[-1]]) if branch else (0, 0)

    def instead(self, one: list[ast.stmt], other: list[ast.stmt]) -> ast.Attribute | None:
        """Return the summary that one branch shows of what the other shows in full: ``step.summary``, ``step.message``.

        Of several, the one that stands least deep.
        """
        here, there = self._part(one), self._part(other)
        summaries, full = self._summaries.between(here), self._full.between(there)
        shown = (
            self._summaries.owners[summaries]
            if summaries.stop - summaries.start < full.stop - full.start
            else self._full.owners[full]
        )
        found = [
            (self._nodes[place][0], place)
            for owner in set(shown)
            if self._full.has(owner, there) and not self._full.has(owner, here)
            for place in self._summaries.of(owner, here)
        ]
        return self._nodes[min(found)[1]][1] if found else None


def _replaces_some(node: ast.ListComp, lists: frozenset[str]) -> bool:
    """Tell whether a list of turns has another text in the place of those that are not the newest of their kind."""
    one = node.generators[0]
    choice = node.elt
    if len(node.generators) != 1 or not isinstance(choice, ast.IfExp):
        return False
    target = one.target.elts[-1] if isinstance(one.target, ast.Tuple) and one.target.elts else one.target
    turn = last_name(target)
    kept = [last_name(side) == turn for side in (choice.body, choice.orelse)]
    other = choice.orelse if kept[0] else choice.body
    stands_for = any(SUMMARY.search(name) for n in walk(other) if (name := last_name(n)) is not None)
    message = isinstance(other, ast.Dict) and any(getattr(key, "value", None) == "role" for key in other.keys)
    return (
        turn is not None
        and sum(kept) == 1
        and stands_for
        and (message or any(is_turns(n) or is_list(n, lists) for n in walk(one.iter)))
    )
