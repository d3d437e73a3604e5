"""A call to a model: its arguments, put in the order in which the model reads them."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from promptlint.frontends.python.evaluate import access, text
from promptlint.frontends.python.evaluate.stateful import rendered_anew, switched_by
from promptlint.frontends.python.library import engines
from promptlint.frontends.python.library.bodies import posted
from promptlint.frontends.python.library.serving import server
from promptlint.frontends.python.prompts import acting, settings, tooling
from promptlint.frontends.python.prompts.conversing import called_into, piled_up
from promptlint.frontends.python.prompts.emit import emitter_of
from promptlint.frontends.python.prompts.unmarked import unmarked
from promptlint.frontends.python.values.forms import promptish
from promptlint.frontends.python.values.naming import HISTORY
from promptlint.frontends.python.values.values import (
    Bound,
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
    Kind,
    Layout,
    LayoutKind,
    Observation,
    Scope,
    Section,
    Segment,
)
from promptlint.source import Place

if TYPE_CHECKING:
    from promptlint.catalog.model import Sink
    from promptlint.frontends.python.evaluate.machine import Frame, Machine
    from promptlint.frontends.python.values.arguments import Arguments


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
        emitter.tools(tooling.told(m, value, node, frame), frame.module.place(at))
        if (seen := tooling.unordered(value, frame.module.place(at))) is not None:
            observations.append(seen)
    for _name, value, at in carried.get("system", ()):
        # Some frameworks take a function that makes the text for each request.
        made = engines.called(m, value, node, frame) if isinstance(value, FuncV | Bound | Obj) else value
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
    looped = m.repeats(sent)
    repeated = looped and not _made_anew(sink, whole, emitter.segments, given)
    switched = switched_by(node, frame) if repeated else frozenset()
    for _name, value, at in carried.get("tools", ()):
        observations.extend(tooling.changes(m, value, at, node, frame, switched, whole))
    for _name, value, _at in carried.get("system", ()):
        if isinstance(value, FuncV) and (moved := acting.moved_by_tools(m, value)) is not None:
            observations.append(moved)
    parameters, flips = settings.parameters(m, carried, node, frame, switched)
    observations.extend(flips)
    # A switch of a library: it puts the turns so far behind what is given here.
    repeated = repeated or any(access.plain(value) is True for _n, value, _a in carried.get("history", ()))
    if (piled := piled_up(m, sent, emitter.segments, node, frame)) is not None:
        observations.append(piled)
    for _name, _value, at in carried.get("messages", ())[:1] if repeated else ():
        bare = unmarked(emitter.segments, parameters, at, node, frame, called_into(m, frame))
        observations.extend([bare] if bare is not None else [])
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
        alone=looped and not repeated,
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
    """Tell whether a request is one message, written for each round of a loop: no conversation goes on in it.

    Nor does one where all that stands behind a system text is what was read in this round:
    ``[{"role": "system", "content": RULES}, {"role": "user", "content": input()}]``.
    """
    if any(key in given.keywords for key in _GOES_ON):
        return False
    if not (isinstance(sent, ListV) and sent.known()) and (sink.loose or not isinstance(sent, Str)):
        return False
    said = [segment for segment in segments if segment.section is not Section.SYSTEM]
    if len({segment.of_message for segment in said}) != 1 or said[0].role != "user":
        return False
    return len(said) == len(segments) or all(_was_read(one) for one in said if one.is_hole)


def _was_read(segment: Segment) -> bool:
    cause, name = segment.cause, segment.origin.name
    read = cause is not None and cause.kind is Kind.REQUEST_INPUT and cause.confidence is not Confidence.LOW
    return read and not HISTORY.search(name)
