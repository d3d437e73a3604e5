"""Settings of a request that decide what a cache may share: model, thinking, choice of tools, keys; and what flips them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING

from promptlint.frontends.python.evaluate import access
from promptlint.frontends.python.library.cachekeys import cache_keys, injection_points, place_of
from promptlint.frontends.python.prompts.emit import emitter_of
from promptlint.frontends.python.values.pieces import Alt, Hole
from promptlint.frontends.python.values.values import ABSENT, Choice, Const, DictV, Str, Unknown, Value
from promptlint.layout import DATA, UNSET, Cause, Confidence, Guard, Kind, Observation, Parameter, Scope, Step
from promptlint.source import Place

if TYPE_CHECKING:
    from promptlint.frontends.python.evaluate.machine import Frame, Machine

_WITHIN = re.compile(
    r"message|history|turn|step|round|iteration|attempt|retry|is_first|(?:\b|_)(?:last|final)(?:\b|_)|continuation|tool_use",
    re.IGNORECASE,
)
_BY_TURN = re.compile(r"(?:\b|_)(?:turn|step|round|iteration|cycle)s?(?:\b|_)", re.IGNORECASE)
_NAME = re.compile(r"[A-Za-z_]\w*")


def parameters(
    m: Machine,
    carried: dict[str, list[tuple[str, Value, ast.AST]]],
    node: ast.Call,
    frame: Frame,
    switched: frozenset[str],
) -> tuple[list[Parameter], list[Observation]]:
    """Return the settings that a call is given, and where they are switched within a conversation."""
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
            elif what == "key" and (whole.cause is None or whole.cause.kind in DATA):
                cause = _told_by_name(m, value, whole.cause, place)
                whole = replace(whole, scope=cause.scope if cause else Scope.UNKNOWN, cause=cause)
            out.append(whole)
            inner = value.entries.items() if what == "parameter" and isinstance(value, DictV) else ()
            parts = [(f"{name}.{key}", item.value) for key, item in inner]
            out.extend(_parameter(key, one, place) for key, one in parts if any(_switches(one)))
            out.extend(injection_points(name, value, place))
            for key, one in ((name, value), *parts):
                flips.extend(_flips(m, what, key, one, place, switched))
    for name, value, at in chain(carried.get("keys", ()), carried.get("prompt", ())):
        out.extend(cache_keys(name, value, frame.module.place(at)))
    return out, flips


def _flips(
    m: Machine, what: str, name: str, value: Value, place: Place, switched: frozenset[str]
) -> Iterator[Observation]:
    """Yield that a setting is another one in some turns of a conversation."""
    choices = _parameter(name, value, place).choices
    guard = flip(value) if what != "key" and len(choices) > 1 else None
    if guard is not None and what == "model" and not (m.loops and _BY_TURN.search(guard.expression)):
        guard = None  # chosen by what is asked, or another one where the first has failed
    guard = guard or switch(value, switched)
    if guard is not None:
        yield Observation(
            "parameter-flips",
            place,
            name,
            cause=Cause(Kind.PARAMETER_CHANGE, Scope.REQUEST, guard.expression, Confidence.HIGH, guard.place),
            related=(Step(guard.place, f"differs by {guard.expression}"),),
            data={"name": name, "choices": " / ".join(choices)},
        )


def _parameter(name: str, value: Value, place: Place) -> Parameter:
    choices = tuple(dict.fromkeys(UNSET if v is ABSENT else _short(v) for v in _options(value)))
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


def _told_by_name(m: Machine, value: Value, cause: Cause | None, place: Place) -> Cause | None:
    """Return why a cache key changes, where its name tells: ``prompt_cache_key=request_id``.

    What a request brings along (``cause``) may be whose it is, or of which conversation: ``body["tenant"]``.
    """
    parts = value.parts if isinstance(value, Str) else ()
    names = [value.name] if isinstance(value, Unknown) else [p.name for p in parts if isinstance(p, Hole)]
    for name in filter(None, names):
        told = m.catalog.name(name)
        if (
            told is None or told.scope is not Scope.REQUEST or name.endswith(".get")
        ):  # by a key that is not known
            continue
        if cause is not None:
            return cause
        if told.kind is Kind.IDENTIFIER and isinstance(value, Unknown):
            return Cause(told.kind, told.scope, f"`{name}` (by its name)", Confidence.MEDIUM, place)
    return None


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
        yield from value.within
        yield from (guard for one in value.values for guard in _switches(one))


def switch(value: Value, switched: frozenset[str]) -> Guard | None:
    """Return the condition that chooses between values by something that each turn sets anew.

    Whether there are any (``tools if tools else None``) is not asked of the turn.
    """
    own = {getattr(one, "name", "") for one in _options(value)}
    for guard in _switches(value):
        names = set(_NAME.findall(guard.expression))
        names |= {known for _, known in guard.known_as}
        if names & switched and not names & own:
            return guard
    return None


def flip(value: Value) -> Guard | None:
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
