"""What happens to a conversation's earlier turns: cut, dropped, rewritten, inserted into."""

from __future__ import annotations

import ast
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from promptlint.frontends.python.evaluate import access, linking
from promptlint.frontends.python.evaluate.machine import printed, unknown_like
from promptlint.frontends.python.library.newest import is_newest
from promptlint.frontends.python.readings import turns
from promptlint.frontends.python.readings.beginnings import Beginning, beginning
from promptlint.frontends.python.readings.heads import asks_of_first, is_list_of_turns
from promptlint.frontends.python.readings.rarely import is_called_when_full, is_large
from promptlint.frontends.python.readings.speaking import speaks_to_a_model
from promptlint.frontends.python.readings.unsent import is_never_sent
from promptlint.frontends.python.syntax.nodes import parameters, remembered, walk
from promptlint.frontends.python.values.forms import has_turns, is_history
from promptlint.frontends.python.values.naming import HISTORY
from promptlint.frontends.python.values.values import NONE, Item, ListV, Obj, Str, Unknown, Value
from promptlint.layout import ROWS, Cause, Confidence, Kind, Layout, Observation, Scope, Segment, Step

if TYPE_CHECKING:
    from promptlint.frontends.python.evaluate.machine import Frame, Machine
    from promptlint.frontends.python.values.arguments import Arguments

_BY_POSITION = re.compile(
    r"\b(i|j|idx|index|pos|position|n|k)\b\s*(<=?|>=?|!=)|(<=?|>=?|!=)\s*\b(i|j|idx|index|pos|position)\b"
)
_NO_CONTENT = re.compile(r"content[\"'\])]* is None|\bnot \w+(?:\.get\(|\[|\.)[\"']?content\b")
_SPEAKS = re.compile(r"[\"']role[\"']|\.role\b|messages\b|completion", re.IGNORECASE)
# Rows of a table, lines of a log: they are turns where messages are made of them.
_MAY_BE_TURNS = re.compile(
    r"(^|[._])(rows?|records|lines|entries|items|events|utterances|exchanges|interactions|steps|past|previous|recent|buffer|log)\b",
    re.IGNORECASE,
)
_AROUND = 40  # characters of fixed text in a message that is a turn: a name, a time
_ANSWERS = re.compile(r"assistant|reply|answer|response|completion|choices", re.IGNORECASE)
_MORE = re.compile(r"(\w+)\s*>\s*0")
# What a person takes back, or has answered anew, is the newest there is.
_TAKEN_BACK = re.compile(r"regenerat|retry|redo|undo|rewind|rollback|delet|edit", re.IGNORECASE)
_CUT = "cut"


class HistoryWatch(ABC):
    """The part of the recorder that watches message lists."""

    silent: bool
    seen: set[object]

    @abstractmethod
    def observe(self, observation: Observation, about: Value | None = None) -> None:
        """Keep an observation; the recorder says how."""

    @abstractmethod
    def opened(self, m: Machine, first: ast.expr, value: Value, node: ast.expr, frame: Frame) -> None:
        """The text of a message was set, or got more; the recorder keeps the conversation's first."""

    # ------------------------------------------------------------------ cut from the front

    def mark_cut(self, m: Machine, value: Value, result: Value, node: ast.Subscript, frame: Frame) -> Value:
        """Return the cut of a history as a value whose start moves with every turn."""
        turns = is_history(value)
        called = getattr(node.value, "id", getattr(node.value, "attr", ""))
        rows = not turns and value.cause is None and _MAY_BE_TURNS.search(called) is not None
        function = frame.func.node if frame.func is not None else None
        newest_first = isinstance(value, Unknown) and value.cause is None and is_newest(node, function)
        begins = _begins(node, frame)
        windowed = (turns and begins is not None) or (rows and _keeps_last(node))
        if called.isupper() or not (newest_first or windowed):
            return result  # examples are a constant
        name = value.name if isinstance(value, (Unknown, ListV)) else "messages"
        place = frame.module.place(node)
        cause = Cause(
            Kind.HISTORY_REWRITE,
            Scope.REQUEST,
            frame.module.text(node),
            Confidence.HIGH,
            place,
            variant=_CUT if turns else ROWS,
        )
        rare = (begins is not None and begins.in_steps) or _in_large_steps(m, node, frame)
        rare = rare or _with_the_others(node, frame)
        if not turns and isinstance(result, Unknown):
            return result if rare else unknown_like(result, cause=cause)
        cut = Unknown(place, name=name, path=name, cause=None if rare else cause)
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
            if _put_back(owner, first, frame) or _of_system(m):
                return
            if not any(g.kind == "while" and g.expression == owner for g in m.guards):
                self._drop(m, value, node, frame)

    def deleted(self, m: Machine, value: Value, node: ast.Subscript, frame: Frame) -> None:
        """``del messages[0]`` or ``del messages[1:3]``."""
        index = node.slice
        if isinstance(index, ast.Slice):
            all_of_them = index.upper is None  # somebody begins anew
            moves = beginning(index.upper, node.value, frame.func.node if frame.func else None)
            rare = (moves is not None and moves.in_steps) or _in_large_steps(m, node, frame)
            front = not (all_of_them or isinstance(index.lower, ast.UnaryOp) or rare)
        else:
            front = isinstance(index, ast.Constant) and index.value in (0, 1)
        if front and not _of_system(m):
            self._drop(m, value, node, frame)

    def trimmed(self, name: str, cause: Cause, frame: Frame) -> None:
        """``redis.ltrim(key, -20, -1)``: a store throws all but the newest away."""
        if name == "ltrim" and cause.place is not None and _talks_to_model(frame):
            self.observe(Observation("history-cut", cause.place, cause.what, confidence=Confidence.MEDIUM))

    def windowed(self, node: ast.Call | ast.keyword, frame: Frame) -> None:
        """``ConversationBufferWindowMemory(k=5)``, ``Agent(num_history_runs=3)``: a library keeps the newest turns."""
        self._tell("history-cut", node, frame)

    def _tell(self, what: str, node: ast.AST, frame: Frame) -> None:
        place, written = frame.module.place(node), frame.module.text(node)
        if what == "history-cut":  # one place stands for all in a function that cut alike
            key = what, frame.func.node if frame.func is not None else None, written
            if key in self.seen:
                return
            self.seen.add(key)
        self.observe(Observation(what, place, written, confidence=Confidence.MEDIUM))

    def _drop(self, m: Machine, value: Value, node: ast.AST, frame: Frame) -> None:
        if has_turns(value) or (is_history(value) and _talks_to_model(frame)):
            self._tell("history-cut", node, frame)

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
            if any(_NO_CONTENT.search(g.expression) for g in m.guards if g.kind == "if"):
                return  # what has no text gets one in each request
            moves = frame.func is None or not turns.stays(node, frame.func.node)
            if loops and moves and any(g.kind == "if" for g in m.guards) and _talks_to_model(frame):
                self._tell("history-rewritten", node, frame)
        elif (
            key in ("content", "text")
            and not _is_fixed(value)
            and _last_of_copy(node.value, frame)
            and not any("assistant" in g.expression for g in m.guards)  # an answer that goes on
        ):
            self._tell("history-rewritten", node, frame)
        elif is_history(owner) and isinstance(node.slice, ast.Slice) and _talks_to_model(frame):
            lower = node.slice.lower
            if isinstance(lower, ast.Constant) and node.slice.upper is not None:
                self._tell("history-rewritten", node, frame)
        elif is_history(owner) and isinstance(node.slice, ast.Name) and _talks_to_model(frame):
            # ``messages[i] = shortened(…)``: which turn it is depends on where a loop has got to.
            inside = any(g.kind in ("for", "while") for g in m.since(frame.depth))
            if inside and frame.func is not None and not turns.stays(node, frame.func.node):
                self._tell("history-rewritten", node, frame)

    def turn_set(self, m: Machine, owner: Unknown, node: ast.Attribute, frame: Frame) -> None:
        """``history[i].content = …`` on a turn that is picked by a number, not the last one."""
        if (
            node.attr in ("content", "text")
            and owner.path.endswith("[]")
            and HISTORY.search(owner.name)
            and not any(g.kind == "for" for g in m.since(frame.depth))
            and _talks_to_model(frame)
        ):
            self._tell("history-rewritten", node, frame)

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
            and not (frame.func is not None and _TAKEN_BACK.search(frame.func.name))
        ):
            self._drop(m, left, node, frame)

    def edited(self, m: Machine, node: ast.AST, frame: Frame) -> None:
        """The text of a message was set: one of those already sent, if a loop runs over them."""
        # Around the assignment itself: a helper that is called for each turn sees one turn only.
        loop = any(g.kind in ("for", "while") and HISTORY.search(g.name) for g in m.since(frame.depth))
        moves = frame.func is None or not turns.stays(node, frame.func.node)
        if loop and moves and any(g.kind == "if" for g in m.guards) and _talks_to_model(frame):
            self._tell("history-rewritten", node, frame)

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
        tree, method = frame.module.tree, frame.func.node if frame.func is not None else None
        if cut is not None and tree is not None and method is not None and is_never_sent(name, method, tree):
            return
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
        list_ = node.func.value if isinstance(node.func, ast.Attribute) else None
        if isinstance(list_, ast.Attribute) and list_.attr == "content" and method == "append" and given.args:
            self.opened(m, list_.value, given.args[0], node, frame)
        inserts = method == "insert" and list_ is not None and is_list_of_turns(list_)
        if not (inserts or HISTORY.search(owner)):
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
            and isinstance(node.func, ast.Attribute)
            and not _of_system(m)
            and not _mends_front(m, node.func.value, frame)
            and not _put_back(frame.module.text(node.func.value), access.plain(given.args[0]), frame)
            and _talks_to_model(frame)
        ):
            self._tell("history-cut", node, frame)


def _of_system(m: Machine) -> bool:
    """Tell whether a condition asks for the system's message: a provider that takes its text beside the turns gets it there."""
    return any("system" in g.expression.lower() for g in m.guards if g.kind == "if")


def _mends_front(m: Machine, turns: ast.expr, frame: Frame) -> bool:
    """Tell whether a condition asks what the first turn is: a tool's result without its call cannot be sent."""
    func = frame.func
    return func is not None and any(
        asks_of_first(g.expression, turns, func.node) for g in m.guards if g.kind in ("if", "while")
    )


def settle(layout: Layout) -> Layout:
    """Turn holes whose start moves (a cut history) into observations of the layout."""
    observations = list(layout.observations)
    segments: list[Segment] = []
    for segment in layout.segments:
        cause = segment.cause
        if cause is not None and cause.kind is Kind.HISTORY_REWRITE:
            told = _words_around(segment, layout) > _AROUND
            if cause.place is not None and not told:
                observations.append(Observation("history-cut", cause.place, cause.what, cause=cause))
            within = printed(cause) if told else None
            segment = replace(segment, cause=within, scope=Scope.SESSION)
        segments.append(segment)
    return replace(
        layout,
        segments=tuple(segments),
        observations=tuple({(o.what, o.place): o for o in observations}.values()),
    )


def _words_around(segment: Segment, layout: Layout) -> int:
    """Return how much fixed text, in characters, stands in the message of a hole."""
    return sum(len(s.text.strip()) for s in layout.segments if s.text and s.of_message == segment.of_message)


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
    return not (
        turns.is_built_here(node, name, frame.func.node) or _behind_answer(node, name, frame.func.node)
    )


def _behind_answer(node: ast.expr, name: str, function: ast.AST) -> bool:
    """Tell whether what was appended last, by the order of the text, is an answer: it goes on."""
    last: ast.Call | None = None
    for call in walk(function):
        if (
            isinstance(call, ast.Call)
            and isinstance(call.func, ast.Attribute)
            and call.func.attr == "append"
            and getattr(call.func.value, "id", None) == name
            and (last.lineno if last is not None else 0) <= call.lineno <= node.lineno
        ):
            last = call
    return last is not None and _ANSWERS.search(ast.unparse(last)) is not None


def _with_the_others(node: ast.Subscript, frame: Frame) -> bool:
    """Tell whether the turns in front of a cut are sent too: ``[*turns[:-2], note, *turns[-2:]]``."""
    lower = getattr(node.slice, "lower", None)
    if frame.func is None or lower is None:
        return False
    front = f"{ast.unparse(node.value)}[:{ast.unparse(lower)}]"
    return front in _subscripts(frame.func.node)


@remembered
def _subscripts(function: ast.AST) -> frozenset[str]:
    return frozenset(ast.unparse(n) for n in walk(function) if isinstance(n, ast.Subscript))


def _put_back(owner: str, index: object, frame: Frame) -> bool:
    """Tell whether what is taken from a list was inserted at the same place around a call: it was never one of the turns."""
    return frame.func is not None and any(
        isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and call.func.attr == "insert"
        and len(call.args) == 2
        and getattr(call.args[0], "value", None) == index
        and frame.module.text(call.func.value) == owner
        for call in walk(frame.func.node)
    )


def _is_local(name: str, frame: Frame) -> bool:
    """Tell whether a name was made in the function that is run, not handed in."""
    if frame.func is None:
        return False
    return name not in {a.arg for a in parameters(frame.func.node)}


def _is_fixed(value: Value) -> bool:
    return isinstance(value, Str) and value.plain() is not None


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
        and getattr(part.lower.operand, "value", None) != 1  # the last alone is no window
    )


def _begins(node: ast.Subscript, frame: Frame) -> Beginning | None:
    """Return where a slice up to the end begins."""
    part = node.slice
    if not isinstance(part, ast.Slice) or part.upper is not None or part.step is not None:
        return None
    return beginning(part.lower, node.value, frame.func.node if frame.func is not None else None)


def _limits(m: Machine, turns: ast.expr, frame: Frame) -> Iterator[int]:
    """Yield the numbers of elements that a list has to have for the statement at hand to be run."""
    full = re.compile(rf"len\(\s*{re.escape(ast.unparse(turns))}\s*\)\s*>=?\s*([\w.]+)")
    for guard in m.guards:
        more = _MORE.fullmatch(guard.expression)  # ``extra > 0`` of ``extra = len(turns) - 60``
        if more and frame.func is not None:
            over = beginning(ast.Name(more[1]), turns, frame.func.node)
            limit = access.plain(m.evaluate(over.kept, frame)) if over is not None and over.kept else None
            if isinstance(limit, int):
                yield limit
        elif guard.kind in ("if", "while") and (found := full.search(guard.expression)):
            named = found[1]
            value = frame.names.get(named) or linking.name_of(m, frame.module, named) or NONE
            limit = int(named) if named.isdecimal() else access.plain(value)
            if isinstance(limit, int):
                yield limit


def _in_large_steps(m: Machine, node: ast.Subscript, frame: Frame) -> bool:
    """Tell whether a third of a list or more goes at once, and only when it is full.

    ``if len(turns) >= 60: del turns[:40]`` costs one miss in forty messages, and so does ``turns = turns[-20:]``.
    What stands in front of a mark (``if turns[i].kind == "summary": del turns[:i]``) goes once: then the mark is
    the first.
    """
    cut = node.slice
    if not isinstance(cut, ast.Slice):
        return False
    begins = _begins(node, frame)
    if begins is not None and begins.kept is not None:
        kept = access.plain(m.evaluate(begins.kept, frame))
        if isinstance(kept, int) and any(
            is_large(limit, kept=kept) for limit in _limits(m, node.value, frame)
        ):
            return True
        tree, function = frame.module.tree, frame.func.node if frame.func is not None else None
        if tree is None or function is None or isinstance(function, ast.Lambda):
            return False
        return is_called_when_full(tree, function, begins.kept)
    gone = access.plain(m.evaluate(cut.upper, frame)) if cut.upper is not None else None
    if isinstance(gone, int):
        return any(is_large(limit, gone=gone) for limit in _limits(m, node.value, frame))
    index = cut.upper.id if isinstance(cut.upper, ast.Name) else None
    return index is not None and any(
        guard.kind == "if" and re.search(rf"\[{index}\].*==\s*[\"']", guard.expression)
        for guard in m.since(frame.depth)
    )


def _talks_to_model(frame: Frame) -> bool:
    """Tell whether a file has to do with model calls at all: lists of other messages exist too."""
    text = frame.module.source.text
    told = '"role"' in text or "'role'" in text or "completion" in text or "messages.create" in text
    return told and speaks_to_a_model(frame.module)
