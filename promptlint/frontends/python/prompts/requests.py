"""A call to a model: its arguments, put in the order in which the model reads them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING

from promptlint.frontends.python.evaluate import access, members, text
from promptlint.frontends.python.evaluate.stateful import rendered_anew, switched_by
from promptlint.frontends.python.library import engines
from promptlint.frontends.python.library.bodies import posted
from promptlint.frontends.python.library.cachekeys import cache_keys, injection_points, place_of
from promptlint.frontends.python.library.serving import server
from promptlint.frontends.python.prompts.conversing import piled_up
from promptlint.frontends.python.prompts.emit import emitter_of
from promptlint.frontends.python.readings.shapes import last_name
from promptlint.frontends.python.syntax.nodes import walk
from promptlint.frontends.python.values.forms import promptish
from promptlint.frontends.python.values.naming import HISTORY
from promptlint.frontends.python.values.pieces import Alt, Hole
from promptlint.frontends.python.values.values import (
    ABSENT,
    Choice,
    Const,
    DictV,
    FuncV,
    ListV,
    Obj,
    Str,
    Template,
    Unknown,
    Value,
)
from promptlint.layout import (
    Cause,
    Confidence,
    Guard,
    Kind,
    Layout,
    LayoutKind,
    Observation,
    Parameter,
    Scope,
    Section,
    Segment,
    Step,
)
from promptlint.source import Place
from promptlint.words import shortened

if TYPE_CHECKING:
    from promptlint.catalog.model import Sink
    from promptlint.frontends.python.evaluate.machine import Frame, Machine
    from promptlint.frontends.python.values.arguments import Arguments

_WITHIN = re.compile(
    r"message|history|turn|step|round|iteration|attempt|retry|is_first|(?:\b|_)(?:last|final)(?:\b|_)|continuation|tool_use",
    re.IGNORECASE,
)
_BY_TURN = re.compile(r"(?:\b|_)(?:turn|step|round|iteration|cycle)s?(?:\b|_)", re.IGNORECASE)
_NAME = re.compile(r"[A-Za-z_]\w*")
_GROW = ("append", "extend", "insert", "add", "remove", "pop", "clear", "update")


def taken(
    m: Machine, path: str, given: Arguments, node: ast.Call, frame: Frame
) -> tuple[Sink, Arguments] | None:
    """Return what a call is to a model, and what it is given; None where it is none."""
    sink = m.sink(path) if path else None
    if sink is None or sink.returns in ("message", "template") or (sink.loose and not promptish(given)):
        return posted(m, given, node, frame) if path else None  # ``post`` of the program's own says nothing
    return sink, given


def request(
    m: Machine, sink: Sink, callee: Value, given: Arguments, node: ast.Call, frame: Frame
) -> Layout | None:
    """Return the layout of one request; None where nothing of it is known."""
    place = frame.module.place(node)
    emitter = emitter_of(m)
    emitter.sent = True
    carried: dict[str, list[tuple[str, Value, ast.AST]]] = {}
    options = engines.carried(sink, given, "options")
    within = text.keys_of(options) if isinstance(options, DictV) else getattr(options, "attrs", {})
    for name, what in sink.arguments.items():
        key: str | int = int(name) if name.isdigit() else name
        value = given.get(key) or within.get(name)
        where = given.nodes.get(key, node)
        if what == "clock" and value is not None:
            on = access.plain(value) is True
            what, value = "system", _time_of(name, frame.module.place(where)) if on else None
        if value is not None:
            carried.setdefault(what, []).append((name, value, where))
    observations: list[Observation] = []
    for _name, value, at in carried.get("tools", ()):
        emitter.tools(value, frame.module.place(at))
        if (seen := unordered_tools(value, frame.module.place(at))) is not None:
            observations.append(seen)
    for _name, value, at in carried.get("system", ()):
        # Some frameworks take a function that makes the text for each request.
        made = engines.called(m, value, node, frame) if isinstance(value, FuncV) else value
        emitter.system(made, frame.module.place(at))
    for what in ("messages", "prompt", "user", "assistant", "content", "tool"):
        for _name, given_as, at in carried.get(what, ()):
            where_at = frame.module.place(at)
            value = given_as if sink.provider == "google" else _one_of_a_batch(given_as)
            if what == "tool":
                emitter.section = Section.TOOLS
                emitter.value(value, where_at)
                emitter.section = Section.MESSAGES
            elif what == "messages" or isinstance(value, (ListV, Template)):
                emitter.messages(value, where_at)
            else:
                emitter.role, emitter.message = "user", emitter.message + 1
                emitter.value(value, where_at)
    sent = next((v for _n, v, _a in carried.get("messages", ())), None)
    whole = next((v for _n, v, _a in carried.get("prompt", ())), None) if sent is None else sent
    repeated = m.repeats(sent) and not _made_anew(sink, whole, emitter.segments, given)
    switched = switched_by(node, frame) if repeated else frozenset()
    for _name, value, at in carried.get("tools", ()):
        observations.extend(_tools_change(m, value, at, node, frame, switched, sent))
    parameters, flips = _parameters(m, carried, given, node, frame, switched)
    observations.extend(flips)
    # A switch of a library: it puts the turns so far behind what is given here.
    repeated = repeated or any(access.plain(value) is True for _n, value, _a in carried.get("history", ()))
    if (piled := piled_up(sent, emitter.segments, node, frame)) is not None:
        observations.append(piled)
    if repeated or any(HISTORY.search(segment.origin.name) for segment in emitter.segments):
        observations.extend(rendered_anew(emitter.segments, frame))
    aim = given.get("api_base", "base_url")
    cause = callee.cause if aim is None else aim.cause
    routed = cause is not None and cause.kind in (Kind.RANDOM, Kind.ROUTING, Kind.COUNTER)
    if cause is not None and routed and cause.scope is Scope.REQUEST:
        observations.append(Observation("replica-random", place, frame.module.text(node.func), cause=cause))
    if not (emitter.segments or observations or any(one.cause for one in parameters)):
        return None
    model = next((access.plain(v) for _n, v, _a in carried.get("model", ())), None)
    provider, served = (sink.provider, "") if sink.provider else server(m, callee, node, frame)
    gaps = emitter.gaps + (("the evaluation budget was used up here",) if m.exhausted else ())

    return Layout(
        f"request in {frame.where}",
        place,
        tuple(emitter.segments),
        LayoutKind.REQUEST,
        complete=not gaps and given.rest is None,
        gaps=gaps,
        provider=provider,
        model=model if isinstance(model, str) else served,
        confidence=Confidence.HIGH if not sink.loose else Confidence.MEDIUM,
        parameters=tuple(parameters),
        observations=tuple(observations),
        repeated=repeated,
        rebuilt=repeated and isinstance(whole, ListV) and not whole.owner and m.within_loop(whole),
    )


def _time_of(switch: str, place: Place) -> Value:
    """Return the time that a library prints where a switch is on."""
    cause = Cause(Kind.CLOCK, Scope.REQUEST, switch, Confidence.HIGH, place)
    return Unknown(place, name=switch, path=switch, cause=cause, multiline=False)


def _one_of_a_batch(value: Value) -> Value:
    """Return one of the prompts that a loop made, where a list of them is sent: each is a request of its own.

    ``model.generate([f"{RULES} {question}" for question in questions])``
    """
    if not isinstance(value, ListV) or len(value.items) != 1:
        return value
    (item,) = value.items
    looped = any(guard.kind == "for" for guard in item.guards)
    return item.value if looped and isinstance(item.value, Str | ListV) else value


_GOES_ON = ("previous_response_id", "conversation", "session_id")


def _made_anew(sink: Sink, sent: Value | None, segments: list[Segment], given: Arguments) -> bool:
    """Tell whether a request is one message, written for each round of a loop: no conversation goes on in it."""
    if any(key in given.keywords for key in _GOES_ON):
        return False
    if not (isinstance(sent, ListV) and sent.known()) and (sink.loose or not isinstance(sent, Str)):
        return False
    return len({segment.of_message for segment in segments}) == 1 and segments[0].role == "user"


def unordered_tools(value: Value, place: Place) -> Observation | None:
    """Tell that a list of tools has no fixed order; what stands behind it may not be known at all."""
    order = members.order_of(value)
    if order is None or order.kind not in (Kind.UNORDERED, Kind.RANDOM):
        return None
    return Observation("tools-unordered", place, order.what, cause=order)


def _parameters(
    m: Machine,
    carried: dict[str, list[tuple[str, Value, ast.AST]]],
    given: Arguments,
    node: ast.Call,
    frame: Frame,
    switched: frozenset[str],
) -> tuple[list[Parameter], list[Observation]]:
    out: list[Parameter] = []
    flips: list[Observation] = []
    for what in ("parameter", "key", "model"):
        for name, value, at in carried.get(what, ()):
            # An entry of a body has no argument of its own that it could be shown at.
            place = (place_of(value) if at is node else None) or frame.module.place(at)
            called = name if what != "key" else f"key:{name}"
            whole = _parameter(called, value, place)
            if what == "key" and (counted := _counted(m, value)) is not None:
                whole = replace(whole, scope=counted.scope, cause=counted)
            if (
                what == "key"
                and whole.cause is None
                and (cause := _told_by_name(m, value, place)) is not None
            ):
                whole = replace(whole, scope=cause.scope, cause=cause)
            out.append(whole)
            if what == "parameter" and isinstance(value, DictV):
                inner = ((f"{name}.{key}", item.value) for key, item in value.entries.items())
                out.extend(_parameter(key, one, place) for key, one in inner if any(_switches(one)))
            choices = whole.choices
            out.extend(injection_points(name, value, place))
            guard = _flip(value) if what != "key" and len(choices) > 1 else None
            if guard is not None and what == "model" and not (m.loops and _BY_TURN.search(guard.expression)):
                guard = None  # chosen by what is asked, or another one where the first has failed
            guard = guard or _switch(value, switched)
            if guard is not None:
                cause = Cause(
                    Kind.PARAMETER_CHANGE, Scope.REQUEST, guard.expression, Confidence.HIGH, guard.place
                )
                flips.append(
                    Observation(
                        "parameter-flips",
                        place,
                        name,
                        cause=cause,
                        related=(Step(guard.place, f"differs by {guard.expression}"),),
                        data={"name": name, "choices": " / ".join(choices)},
                    )
                )
    for name, value, at in chain(carried.get("keys", ()), carried.get("prompt", ())):
        out.extend(cache_keys(name, value, frame.module.place(at)))
    return out, flips


def _parameter(name: str, value: Value, place: Place) -> Parameter:
    choices = tuple(dict.fromkeys(_short(v) for v in _options(value) if v is not ABSENT))
    several = len(choices) > 1 and not _is_one_setting(value)
    return Parameter(
        name,
        place,
        _constant(value),
        value.cause.scope if value.cause else Scope.UNKNOWN,
        value.cause,
        choices if several else (),
        tuple(_switches(value)) if several else (),
    )


def _counted(m: Machine, value: Value) -> Cause | None:
    """Return why a cache key changes with each round of the loop around a call: ``f"{task}-{step}"``."""
    loops = emitter_of(m).loops
    for part in value.parts if isinstance(value, Str) else ():
        if isinstance(part, Hole) and part.loop and part.loop in loops and part.cause is None:
            return Cause(Kind.COUNTER, Scope.REQUEST, part.expression, Confidence.HIGH, part.place)
    return None


def _told_by_name(m: Machine, value: Value, place: Place) -> Cause | None:
    """Return why a cache key changes, where its name alone tells: ``prompt_cache_key=request_id``."""
    if not isinstance(value, Unknown) or not value.name:
        return None
    told = m.catalog.name(value.name)
    if told is None or told.kind is not Kind.IDENTIFIER:
        return None
    return Cause(told.kind, told.scope, f"`{value.name}` (by its name)", Confidence.MEDIUM, place)


def _is_one_setting(value: Value) -> bool:
    """Tell whether all that chooses between the values is whether there is one.

    ``{"effort": self.effort} if self.effort else None`` was decided elsewhere.
    """
    held = [item.value for one in _options(value) if isinstance(one, DictV) for item in one.entries.values()]
    own = {getattr(one, "name", "") for one in (*_options(value), *held)}
    guards = [guard.expression for guard in _switches(value)]
    return bool(guards) and all(own & set(_NAME.findall(expression)) for expression in guards)


def _options(value: Value) -> list[Value]:
    if isinstance(value, Choice):
        return [o for v in value.values for o in _options(v)]
    if isinstance(value, Str) and len(value.parts) == 1 and isinstance(alt := value.parts[0], Alt):
        return [o for branch in alt.branches for o in _options(Str(branch))]
    return [value]


def _switches(value: Value) -> Iterator[Guard]:
    """Yield the conditions that choose between the values of a parameter."""
    if isinstance(value, Str):
        for part in value.parts:
            if isinstance(part, Alt):
                yield part.guard
                yield from (guard for branch in part.branches for guard in _switches(Str(branch)))
    elif isinstance(value, Choice):
        yield value.guard
        yield from (guard for one in value.values for guard in _switches(one))


def _switch(value: Value, switched: frozenset[str]) -> Guard | None:
    """Return the condition that chooses between values by something that each turn sets anew.

    Whether there are any (``tools if tools else None``) is not asked of the turn.
    """
    own = {getattr(one, "name", "") for one in _options(value)}
    for guard in _switches(value):
        names = set(_NAME.findall(guard.expression))
        if names & switched and not names & own:
            return guard
    return None


def _flip(value: Value) -> Guard | None:
    """Return the condition that switches a parameter within one conversation, if there is one."""
    return next((guard for guard in _switches(value) if _WITHIN.search(guard.expression)), None)


def _constant(value: Value) -> str | None:
    plain = access.plain(value)
    if plain is not None:
        return str(plain)
    return _short(value) if isinstance(value, DictV) and not value.rest else None


def _short(value: Value) -> str:
    if isinstance(value, DictV):
        return "{" + ", ".join(f"{k}: {_short(i.value)}" for k, i in value.entries.items()) + "}"
    plain = access.plain(value)
    if isinstance(value, Const):
        try:
            return str(value.value)
        except ValueError:  # a number of over 4,300 digits
            return ""
    return str(plain) if plain is not None else getattr(value, "name", "") or "…"


def _tools_change(
    m: Machine,
    value: Value,
    at: ast.AST,
    call: ast.Call,
    frame: Frame,
    switched: frozenset[str],
    sent: Value | None,
) -> list[Observation]:
    """Find tool lists that grow or shrink while a conversation goes on."""
    place = frame.module.place(at)
    if isinstance(value, Choice):
        sometimes = any(isinstance(v, Const) and v.value is None for v in value.values)
        guard = (_flip(value) if sometimes or m.loops else None) or _switch(value, switched)
        if guard is not None:
            by = guard.expression
            cause = Cause(Kind.TOOLS_ORDER, Scope.REQUEST, by, Confidence.HIGH, guard.place)
            return [Observation("tools-changed", place, shortened(by), cause=cause)]
    if isinstance(value, ListV):
        for item in value.items:
            if any(
                g.kind in ("for", "while") and any(g.place == a.place for a in m.guards) for g in item.guards
            ):
                return [Observation("tools-changed", place, value.name or "tools")]
    if frame.func is None:
        return []
    kept = isinstance(sent, ListV) and bool(sent.owner)
    inside = walk(frame.func.node) if kept else []
    if isinstance(at, ast.Attribute) and (added := _growth(inside, ast.Attribute, at.attr)) is not None:
        return [Observation("tools-changed", frame.module.place(added), at.attr)]
    if not m.loops:
        return []
    if isinstance(at, ast.Name):
        grown = _grows_beside(frame.func.node, at.id, call)
        if grown is None:
            return []
        there = Step(place, "sent in the same loop")
        return [Observation("tools-changed", frame.module.place(grown), at.id, related=(there,))]
    if not isinstance(at, ast.Attribute):
        return []
    owner = m.evaluate(at.value, frame)
    if not isinstance(owner, Obj) or owner.cls is None:
        return []
    called = {
        n.func.attr
        for n in walk(frame.func.node)
        if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute)
    }
    for cls in owner.cls.mro():
        for method in cls.namespace.values():
            if not isinstance(method, FuncV) or method.name not in called or method.name.startswith("__"):
                continue
            found = _change(method, at.attr)
            if found is not None:
                cause = Cause(
                    Kind.TOOLS_ORDER,
                    Scope.REQUEST,
                    f"{method.name}()",
                    Confidence.HIGH,
                    method.module.place(found),
                )
                return [Observation("tools-changed", place, at.attr, cause=cause)]
    return []


def _grows_beside(function: ast.AST, name: str, call: ast.Call) -> ast.AST | None:
    """Return where a list is changed in a loop that also sends it."""
    for loop in walk(function):
        if isinstance(loop, ast.For | ast.AsyncFor | ast.While):
            inside = walk(loop)
            if any(n is call for n in inside) and (grown := _growth(inside, ast.Name, name)) is not None:
                return grown
    return None


def _growth(nodes: list[ast.AST], kind: type[ast.expr], name: str) -> ast.Call | None:
    """Return the first call that adds to a list, or takes from it: a plain name, or an attribute of anything."""
    for node in nodes:
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in _GROW
            and isinstance(node.func.value, kind)
            and last_name(node.func.value) == name
        ):
            return node
    return None


def _change(method: FuncV, attr: str) -> ast.AST | None:
    """Return where a method changes ``self.<attr>``."""
    inside = walk(method.node)
    if (grown := _growth(inside, ast.Attribute, attr)) is not None:
        return grown
    for child in inside:
        if isinstance(child, ast.Assign | ast.AugAssign):
            targets = child.targets if isinstance(child, ast.Assign) else [child.target]
            if any(isinstance(t, ast.Attribute) and t.attr == attr for t in targets):
                return child
    return None
