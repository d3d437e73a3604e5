"""What is called without being known: mostly a method of an object from outside."""

from __future__ import annotations

import ast
from dataclasses import replace

from promptlint.frontends.python.evaluate import access, hints, methods, sharing, text
from promptlint.frontends.python.evaluate.machine import Frame, Machine, root_of
from promptlint.frontends.python.library import (
    collecting,
    engines,
    handing,
    holding,
    loading,
    named,
    queries,
)
from promptlint.frontends.python.library.library import (
    GENERATOR,
    RELATIVE,
    answers,
    asks,
    is_prompt,
    turns_of_session,
    volatile,
)
from promptlint.frontends.python.library.library import (
    call as call_outside,
)
from promptlint.frontends.python.library.recent import newest
from promptlint.frontends.python.values.arguments import Arguments
from promptlint.frontends.python.values.forms import is_history, is_message
from promptlint.frontends.python.values.naming import CONSTRUCTORS, path_of
from promptlint.frontends.python.values.pieces import Hole, Part, flat, worst
from promptlint.frontends.python.values.values import Declared, Item, ListV, Obj, Str, Unknown, Value
from promptlint.layout import Kind, Scope

# A method that reads a clock's value at one resolution.
_CLOCK_METHODS = {
    "date": Scope.DAY,
    "weekday": Scope.DAY,
    "isoweekday": Scope.DAY,
    "isocalendar": Scope.DAY,
    "toordinal": Scope.DAY,
}
_FORMATTERS = {"strftime", "format", "to_string", "isoformat", "strptime"}
# A method whose result is the value again, in other clothes.
_SAME = frozenset(
    (
        "keys",
        "values",
        "items",
        "copy",
        "strip",
        "lower",
        "upper",
        "title",
        "lstrip",
        "rstrip",
        "strftime",
        "isoformat",
        "replace",
        "split",
        "splitlines",
        "removeprefix",
        "removesuffix",
    )
)


def call(m: Machine, callee: Unknown, given: Arguments, node: ast.Call, frame: Frame) -> Value:
    """Return the result of calling something unknown, usually a method of an unknown object."""
    place = frame.module.place(node)
    if isinstance(callee, Declared) and (given_by := hints.called(callee, place)) is not None:
        return given_by
    path = callee.path
    short = path.rsplit(".", 1)[-1]
    if path == f"{GENERATOR}.{short}" and _goes_on(m, node, frame) and _draws_texts(short, given):
        drawn = "sample" if short in ("choice", "choices", "permutation") and len(given.args) > 1 else short
        return call_outside(m, f"random.{drawn}", given, node, frame)
    owner = callee.cause  # the receiver's cause came along with the attribute
    if short == "execute" and not isinstance(callee, Declared):
        queries.run_by(m, callee, node, volatile(m, path_of(callee), given, node, frame), frame)
    if owner is not None and owner.kind is Kind.CLOCK:
        return _clock_method(m, callee, short, given, node, frame)
    if short == "replace" and (replaced := _unseen_mark(callee, given, node, frame)) is not None:
        return replaced
    if "." in path and (short in _SAME or (short == "get" and not (given.args or given.keywords))):
        base = callee.name.rsplit(".", 1)[0] if "." in callee.name else callee.name
        cause = worst(owner, given.cause) if short == "replace" else owner
        return Unknown(place, name=base, path=path, cause=cause, loop=callee.loop)
    if (result := handing.handed(m, path, given, node, frame)) is not None:
        return result
    found = volatile(m, path_of(callee), given, node, frame)
    last = newest(short, given, node, frame) if found is not None and found.kind is Kind.HISTORY else None
    if last is not None:
        found = replace(last, variant="cut")  # turns they are, whatever is made of them
    elif found is not None and (turns := turns_of_session(found, given, place)) is not None:
        return turns
    if found is not None and not (found.kind is Kind.RANDOM and owner is None and _seeded_receiver(path)):
        return Unknown(
            place, name=path, path=f"{path}()", cause=found, text=frame.module.text(node), multiline=False
        )
    made = engines.made(m, path, given, node, frame)
    if made is not None:
        return made
    if (prompt := loading.filled(m, path, given, node, frame)) is not None:
        return prompt
    templates = holding.taken(given)
    held = callee.templates
    if (templates or held) and (ran := holding.run(m, [*(held or ()), *templates], given, node, frame)):
        return ran
    if held is not None:  # ``pipeline.add_component("prompt", template)``
        held += templates
    if short in ("format", "format_map") and (known := named.template(m, given, frame)) is not None:
        return methods.formatted(m, known, short, given, node, frame)
    if short == "format" and given.keywords and owner is None:
        return Str(_unseen(callee, given, node, frame))
    if short == "sort" and isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name):
        sorted_ = frame.names.get(node.func.value.id)
        if sorted_ is not None:  # another object, since callers of the same function may not sort theirs
            frame.names[node.func.value.id] = collecting.reordered(m, sorted_, given, node, frame)
    if short == "pop":
        m.recorder.mutated(m, callee, short, given, node, frame)
    if short in ("get", "pop", "setdefault", "getlist") and given.args:
        label = access.plain(given.args[0])
        if len(given.args) > 1 and (is_prompt(given.args[1]) or _is_object(given.args[1])):
            return given.args[1]  # a prompt, or an object of the program, that somebody may replace
        if owner is None and isinstance(node.func, ast.Attribute):
            put = sharing.read(m, node.func.value, label, frame)
            if put is not None:
                return put
        base = callee.name.rsplit(".", 1)[0] if "." in callee.name else ""
        key = label if isinstance(label, str) else getattr(given.args[0], "name", "")
        kept = access.kept_by_session(owner, key)
        if (
            short != "setdefault" and len(given.args) > 1
        ):  # as in ``row.get("id") or made()``; that one keeps it
            kept = worst(kept, given.args[1].cause)
        return Unknown(place, name=f"{base}.{key}" if base and key else key, path=f"{path}()", cause=kept)
    if short == "join":
        items = given.args[0] if given.args else None
        if items is not None and items.cause is not None:
            return Str((Hole(place, frame.module.text(node), cause=items.cause),))
    if answers(m, path) or (short == "chat" and (given.args or given.keywords)):
        return Unknown(place, name="response", path=f"{path}()")
    if short in ("append", "insert", "extend", "clear", "remove"):
        m.recorder.mutated(m, callee, short, given, node, frame)
        if short == "insert":
            _opened(m, given, node, frame)
        return Unknown(place, name="", path=f"{path}()")
    if (last := newest(short, given, node, frame)) is not None:
        m.recorder.trimmed(short, last, frame)
        return Unknown(place, name=callee.name, path=f"{path}()", cause=worst(owner, last))
    looks_up = short in ("get", "find", "query", "execute", "filter")
    passed = given.cause if not looks_up else None
    if passed is not None and (passed.kind is Kind.IDENTIFIER or asks(node, given)):
        passed = None  # an identifier is what something is looked up by
    derived = worst(owner, passed)
    if short in RELATIVE and derived is not None and derived.kind is Kind.ENVIRONMENT:
        derived = None
    if derived is not None and derived.kind is Kind.UNORDERED:
        derived = owner
    return Unknown(
        place,
        name=callee.name or short,
        path=f"{path}()",
        cause=derived,
        text=frame.module.text(node),
        loop=callee.loop,
        templates=templates or held,
    )


def _opened(m: Machine, given: Arguments, node: ast.Call, frame: Frame) -> None:
    """Keep a message that is put in front of turns of which nothing else is known: ``history.insert(0, system)``."""
    owner = node.func.value if isinstance(node.func, ast.Attribute) else None
    turns = frame.names.get(owner.id) if isinstance(owner, ast.Name) else None
    if not isinstance(owner, ast.Name) or not isinstance(turns, Unknown) or not is_history(turns):
        return
    if len(given.args) == 2 and access.plain(given.args[0]) == 0 and is_message(given.args[1]):
        whole = ListV([Item(given.args[1]), Item(turns, spread=True)], depth=len(m.guards))
        whole.name = owner.id
        frame.names[owner.id] = whole


def _unseen(callee: Unknown, given: Arguments, node: ast.Call, frame: Frame) -> tuple[Part, ...]:
    """Return the pieces of a template that is not known: itself, and what fills its fields, in the order given.

    The rules of a system prompt go on behind them; a question or document may as well be the end of a user's.
    """
    place = frame.module.place(node)
    template = Hole(place, frame.module.text(node), callee.name.rpartition(".")[0], root=root_of(callee))
    filled = (
        replace(part, place=place, field=name)
        for name, value in given.keywords.items()
        for part in flat(text.parts_of(value, place, name))
        if isinstance(part, Hole)
    )
    if "system" not in callee.name.lower() or not isinstance(node.func, ast.Attribute):
        return (template, *filled)
    return (template, *filled, replace(template, expression=frame.module.text(node.func.value)))


def _unseen_mark(callee: Unknown, given: Arguments, node: ast.Call, frame: Frame) -> Str | None:
    """Return a template that is not known with something that changes in place of a mark: ``rules.replace("{day}", today)``."""
    mark = access.plain(given.args[0]) if len(given.args) == 2 else None
    name = methods.field_of(mark) if isinstance(mark, str) and not mark.isidentifier() else ""
    if not name or callee.cause is not None or given.args[1].cause is None:
        return None
    return Str(_unseen(callee, Arguments(keywords={name: given.args[1]}), node, frame))


def _is_object(value: Value) -> bool:
    """Tell whether a default is an object of a class of the project."""
    return isinstance(value, Obj) and value.cls is not None


def _seeded_receiver(path: str) -> bool:
    return path.split(".")[0].strip("_").lower() in ("rng", "rand", "generator")


def _draws_texts(short: str, given: Arguments) -> bool:
    """Tell whether what is drawn is several things, or one of some texts of the program: one row may be what is asked."""
    drawn = given.get(0)
    one = short == "choice" and len(given.args) + len(given.keywords) == 1
    return not one or (isinstance(drawn, ListV) and drawn.known())


def _goes_on(m: Machine, node: ast.Call, frame: Frame) -> bool:
    """Tell whether a seeded generator outlives the call that draws: the next call draws something else.

    ::

        def shots(self): return self.rng.sample(self.items, 5)          other ones each time
        def shots(items): return random.Random(7).sample(items, 5)      the same
    """
    owner = node.func.value if isinstance(node.func, ast.Attribute) else node.func
    while isinstance(owner, ast.Attribute):
        owner = owner.value
    if frame.func is None or any(getattr(one, "name", "") in CONSTRUCTORS for one in m.stack):
        return False
    if isinstance(owner, ast.Name) and isinstance(node.func, ast.Attribute):
        own = frame.names.get(owner.id)
        return own is None if owner is node.func.value else own is frame.receiver
    return False


def _clock_method(
    m: Machine, callee: Unknown, short: str, given: Arguments, node: ast.Call, frame: Frame
) -> Value:
    cause = callee.cause
    place = frame.module.place(node)
    if cause is not None and short in _CLOCK_METHODS:
        cause = replace(cause, scope=access._wider(cause.scope, _CLOCK_METHODS[short]))
    elif (
        cause is not None
        and short in _FORMATTERS
        and given.args
        and isinstance(form := access.plain(given.args[0]), str)
    ):
        cause = access.clock(m, cause, form)
    if cause is None:
        return Unknown(place, text=frame.module.text(node), multiline=False)
    name = callee.name.rsplit(".", 1)[0]
    return Unknown(place, name=name, path=f"{callee.path}()", cause=cause, multiline=False)
