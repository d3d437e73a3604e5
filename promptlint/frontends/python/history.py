"""What happens to a conversation's earlier turns: cut, dropped, rewritten, inserted into."""

from __future__ import annotations

import ast
import re
from abc import ABC, abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING

from promptlint.frontends.python import access, turns
from promptlint.frontends.python.speaking import speaks_to_a_model
from promptlint.frontends.python.values import Choice, DictV, Item, ListV, Obj, Str, Unknown, Value
from promptlint.layout import Cause, Confidence, Kind, Layout, Observation, Scope, Section, Segment, Step

if TYPE_CHECKING:
    from promptlint.frontends.python.calls import Arguments
    from promptlint.frontends.python.machine import Frame, Machine

HISTORY = re.compile(
    r"(^|[._])(messages|history(_(items|messages|entries|list|turns))?|hist|turns|conversation|transcript|dialog(ue)?|chat_history|"
    r"msgs|chat_log|convo)\d*(\[\])*$",
    re.IGNORECASE,
)
_BY_POSITION = re.compile(
    r"\b(i|j|idx|index|pos|position|n|k)\b\s*(<=?|>=?|!=)|(<=?|>=?|!=)\s*\b(i|j|idx|index|pos|position)\b"
)
_SPEAKS = re.compile(r"[\"']role[\"']|\.role\b|messages\b|completion", re.IGNORECASE)
_CUT = "cut"


def is_history(value: Value | None) -> bool:
    """Tell whether a value is, by its name or its elements, the turns of a conversation."""
    if isinstance(value, (Unknown, ListV)) and HISTORY.search(value.name or ""):
        return True
    if isinstance(value, ListV):
        return any(_is_turn(i.value) for i in value.items)
    return False


def _is_turn(value: Value) -> bool:
    if isinstance(value, Choice):
        return any(map(_is_turn, value.values))
    if isinstance(value, DictV):
        return "role" in value.entries
    return isinstance(value, Obj) and value.kind == "message"


class HistoryWatch(ABC):
    """The part of the recorder that watches message lists."""

    silent: bool

    @abstractmethod
    def observe(self, observation: Observation, about: Value | None = None) -> None:
        """Keep an observation; the recorder says how."""

    # ------------------------------------------------------------------ cut from the front

    def mark_cut(self, m: Machine, value: Value, result: Value, node: ast.Subscript, frame: Frame) -> Value:
        """Return the cut of a history as a value whose start moves with every turn."""
        if not is_history(value) or not _keeps_last(node):
            return result
        name = value.name if isinstance(value, (Unknown, ListV)) else "messages"
        cause = Cause(
            Kind.HISTORY_REWRITE,
            Scope.REQUEST,
            frame.module.text(node),
            Confidence.HIGH,
            frame.module.place(node),
            variant=_CUT,
        )
        cut = Unknown(frame.module.place(node), name=name, path=name, cause=cause)
        if isinstance(value, ListV):
            out = ListV([Item(cut, spread=True)], depth=len(m.guards))
            out.name, out.owner = value.name, value.owner
            return out
        return cut

    def dropped(
        self, m: Machine, value: ListV, name: str, given: Arguments, node: ast.Call, frame: Frame
    ) -> None:
        """``pop(0)``, ``popleft`` on a list; not where a loop empties it: such a list waits to be worked on."""
        first = access.plain(given.args[0]) if given.args else None
        if name == "popleft" or (name == "pop" and isinstance(first, int) and first in (0, 1)):
            owner = frame.module.text(node.func.value) if isinstance(node.func, ast.Attribute) else ""
            if not any(g.kind == "while" and g.expression == owner for g in m.guards):
                self._drop(m, value, node, frame)

    def deleted(self, m: Machine, value: Value, node: ast.Subscript, frame: Frame) -> None:
        """``del messages[0]`` or ``del messages[1:3]``."""
        index = node.slice
        if isinstance(index, ast.Slice):
            front = not (isinstance(index.lower, ast.UnaryOp) or _in_large_steps(m, node, index))
        else:
            front = isinstance(index, ast.Constant) and index.value in (0, 1)
        if front:
            self._drop(m, value, node, frame)

    def _drop(self, m: Machine, value: Value, node: ast.AST, frame: Frame) -> None:
        if is_history(value) and _talks_to_model(frame):
            self.observe(
                Observation(
                    "history-cut",
                    frame.module.place(node),
                    frame.module.text(node),
                    confidence=Confidence.MEDIUM,
                )
            )

    # ------------------------------------------------------------------ rewritten

    def replaced(self, m: Machine, owner: Value, node: ast.Subscript, value: Value, frame: Frame) -> None:
        """``message["content"] = …`` on an element of a history, or ``messages[i] = …``."""
        loops = [g for g in m.since(frame.depth) if g.kind in ("for", "while")]
        key = node.slice.value if isinstance(node.slice, ast.Constant) else None
        if (
            isinstance(owner, Unknown)
            and key in ("content", "text")
            and owner.name.endswith("[]")
            and HISTORY.search(owner.name)
        ):
            moves = frame.func is None or not turns.follows_from_turn(node, frame.func.node)
            if loops and moves and any(g.kind == "if" for g in m.guards) and _talks_to_model(frame):
                self._rewritten(m, node, frame)
        elif (
            key in ("content", "text")
            and not _is_fixed(value)
            and _last_of_copy(node.value, frame)
            and not any("assistant" in g.expression for g in m.guards)  # an answer that goes on
        ):
            self._rewritten(m, node, frame)
        elif is_history(owner) and isinstance(node.slice, ast.Slice) and _talks_to_model(frame):
            lower = node.slice.lower
            if isinstance(lower, ast.Constant) and node.slice.upper is not None:
                self._rewritten(m, node, frame)
        elif is_history(owner) and isinstance(node.slice, ast.Name) and _talks_to_model(frame):
            # ``messages[i] = shortened(…)``: which turn it is depends on where a loop has got to.
            inside = any(g.kind in ("for", "while") for g in m.since(frame.depth))
            if inside and frame.func is not None and not turns.follows_from_turn(node, frame.func.node):
                self._rewritten(m, node, frame)

    def turn_set(self, m: Machine, owner: Unknown, node: ast.Attribute, frame: Frame) -> None:
        """``history[i].content = …`` on a turn that is picked by a number, not the last one."""
        if (
            node.attr in ("content", "text")
            and owner.path.endswith("[]")
            and HISTORY.search(owner.name)
            and not any(g.kind == "for" for g in m.since(frame.depth))
            and _talks_to_model(frame)
        ):
            self._rewritten(m, node, frame)

    def spliced(self, m: Machine, left: Value, node: ast.BinOp, frame: Frame) -> None:
        """``messages[:a] + messages[b:]``: the turns between are dropped."""
        first, second = node.left, node.right
        if (
            isinstance(first, ast.Subscript)
            and isinstance(second, ast.Subscript)
            and isinstance(first.slice, ast.Slice)
            and isinstance(second.slice, ast.Slice)
            and first.slice.upper is not None
            and second.slice.lower is not None
            and not _keeps_last(second)  # told where it is cut
            and ast.dump(first.value) == ast.dump(second.value)
            and ast.dump(first.slice.upper) != ast.dump(second.slice.lower)
        ):
            self._drop(m, left, node, frame)

    def edited(self, m: Machine, node: ast.AST, frame: Frame) -> None:
        """The text of a message was set: one of those already sent, if a loop runs over them."""
        # Around the assignment itself: a helper that is called for each turn sees one turn only.
        loop = any(g.kind in ("for", "while") and HISTORY.search(g.name) for g in m.since(frame.depth))
        moves = frame.func is None or not turns.follows_from_turn(node, frame.func.node)
        if loop and moves and any(g.kind == "if" for g in m.guards) and _talks_to_model(frame):
            self._rewritten(m, node, frame)

    def _rewritten(self, m: Machine, node: ast.AST, frame: Frame) -> None:
        self.observe(
            Observation(
                "history-rewritten",
                frame.module.place(node),
                frame.module.text(node),
                confidence=Confidence.MEDIUM,
            )
        )

    def history_filtered(self, m: Machine, value: ListV, node: ast.expr, frame: Frame) -> None:
        """Parts of a turn are left out depending on where the turn stands from the end."""
        if not isinstance(node, ast.ListComp) or not any(g.ifs for g in node.generators):
            return
        loop = next(
            (
                g
                for g in m.guards
                if g.kind == "for" and HISTORY.search(g.name or g.expression.strip("()").split("(")[-1])
            ),
            None,
        )
        position = next((g for g in m.guards if g.kind == "if" and _BY_POSITION.search(g.expression)), None)
        if loop is not None and position is not None:
            self.observe(
                Observation(
                    "history-rewritten",
                    frame.module.place(node),
                    frame.module.text(node),
                    related=(Step(position.place, f"only where {position.expression}"),),
                )
            )

    def history_set(
        self, m: Machine, owner: Obj, name: str, value: Value, node: ast.expr, frame: Frame
    ) -> None:
        """``self.messages = self.messages[-n:]``: the kept history itself is cut."""
        cut = _cut_of(value) if HISTORY.search(name) and _SPEAKS.search(frame.module.source.text) else None
        if cut is not None and cut.place is not None:
            self.observe(Observation("history-cut", cut.place, cut.what, cause=cut))

    # ------------------------------------------------------------------ inserted

    def inserted(
        self, m: Machine, value: ListV, index: object, item: Value, node: ast.Call, frame: Frame
    ) -> None:
        """``messages.insert(i, …)``: in front of the last message of a list made for one request.

        The next request has it one turn further on. Other places show in the layout itself.
        """
        at = node.args[0]
        before_end = (isinstance(at, ast.UnaryOp) and isinstance(at.op, ast.USub)) or (
            isinstance(at, ast.BinOp) and isinstance(at.op, ast.Sub)
        )
        owner = node.func.value if isinstance(node.func, ast.Attribute) else None
        if before_end and isinstance(owner, ast.Name) and is_history(value) and _is_local(owner.id, frame):
            self.observe(Observation("history-inserted", frame.module.place(node), frame.module.text(node)))

    def mutated(
        self, m: Machine, callee: Unknown, method: str, given: Arguments, node: ast.Call, frame: Frame
    ) -> None:
        """A method of an unknown list was called."""
        owner = callee.name.rsplit(".", 1)[0] if "." in callee.name else callee.name
        if not HISTORY.search(owner):
            return
        if method == "insert" and len(given.args) == 2:
            cause = given.args[1].cause
            if (
                cause is not None
                and cause.scope.rank >= Scope.DAY.rank
                and cause.kind is not Kind.HISTORY_REWRITE
            ):
                self.observe(
                    Observation(
                        "history-inserted", frame.module.place(node), frame.module.text(node), cause=cause
                    )
                )
        elif (
            method == "pop"
            and given.args
            and access.plain(given.args[0]) in (0, 1)
            and _talks_to_model(frame)
        ):
            self.observe(
                Observation(
                    "history-cut",
                    frame.module.place(node),
                    frame.module.text(node),
                    confidence=Confidence.MEDIUM,
                )
            )


def settle(layout: Layout) -> Layout:
    """Turn holes whose start moves (a cut history) into observations of the layout."""
    observations = list(layout.observations)
    segments: list[Segment] = []
    for segment in layout.segments:
        cause = segment.cause
        if cause is not None and cause.kind is Kind.HISTORY_REWRITE:
            printed = segment.section is Section.MESSAGES and not _own_message(segment, layout)
            if segment.section is Section.MESSAGES and cause.place is not None and not printed:
                observations.append(Observation("history-cut", cause.place, cause.what, cause=cause))
            # Within a text it is the conversation that a rule of its own is about.
            within = replace(cause, kind=Kind.HISTORY, scope=Scope.SESSION, variant="") if printed else None
            segment = replace(segment, cause=within, scope=Scope.SESSION)
        segments.append(segment)
    return replace(
        layout,
        segments=tuple(segments),
        observations=tuple({(o.what, o.place): o for o in observations}.values()),
    )


def _last_of_copy(node: ast.expr, frame: Frame) -> bool:
    """Tell whether ``node`` is the last message of a list made for this request only.

    What is added to it is sent once; the next request sends the message without it.
    """
    if not (isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and frame.func is not None):
        return False
    last = isinstance(node.slice, ast.UnaryOp) and isinstance(node.slice.op, ast.USub)
    name = node.value.id
    if not (last and HISTORY.search(name) and _is_local(name, frame) and _talks_to_model(frame)):
        return False
    return not turns.is_built_here(node, name, frame.func.node)


def _is_local(name: str, frame: Frame) -> bool:
    """Tell whether a name was made in the function that is run, not handed in."""
    if frame.func is None:
        return False
    args = frame.func.node.args
    return name not in {a.arg for a in [*args.posonlyargs, *args.args, *args.kwonlyargs]}


def _is_fixed(value: Value) -> bool:
    return isinstance(value, Str) and value.plain() is not None


def _own_message(segment: Segment, layout: Layout) -> bool:
    """Tell whether a hole is whole messages, not text rendered into one."""
    same = [s for s in layout.segments if s.message == segment.message and s.section is segment.section]
    return not any(s.text and s.text.strip() for s in same)


def _cut_of(value: Value) -> Cause | None:
    causes = [value.cause] if not isinstance(value, ListV) else [i.value.cause for i in value.items]
    return next((c for c in causes if c is not None and c.kind is Kind.HISTORY_REWRITE), None)


def _keeps_last(node: ast.Subscript) -> bool:
    """Tell whether a slice keeps the last n elements."""
    part = node.slice
    return (
        isinstance(part, ast.Slice)
        and part.upper is None
        and part.step is None
        and isinstance(part.lower, ast.UnaryOp)
        and isinstance(part.lower.op, ast.USub)
    )


def _in_large_steps(m: Machine, node: ast.Subscript, cut: ast.Slice) -> bool:
    """Tell whether half of a list or more goes at once, and only when it is full.

    ``if len(turns) >= 60: del turns[:40]`` costs one miss in forty messages.
    """
    upper = cut.upper.value if isinstance(cut.upper, ast.Constant) else None
    if not isinstance(upper, int):
        return False
    full = re.compile(rf"len\(\s*{re.escape(ast.unparse(node.value))}\s*\)\s*>=?\s*(\d+)")
    limits = [
        int(found[1]) for guard in m.guards if guard.kind == "if" and (found := full.search(guard.expression))
    ]
    return any(2 * upper >= limit for limit in limits)


def _talks_to_model(frame: Frame) -> bool:
    """Tell whether a file has to do with model calls at all: lists of other messages exist too."""
    text = frame.module.source.text
    told = '"role"' in text or "'role'" in text or "completion" in text or "messages.create" in text
    return told and speaks_to_a_model(frame.module)
