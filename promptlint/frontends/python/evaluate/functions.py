"""Functions: entered with unknown arguments, or called with known ones."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from promptlint.frontends.python.evaluate import access, hints, objects, overriding
from promptlint.frontends.python.evaluate.bodies import shape, shape_changes, worth
from promptlint.frontends.python.evaluate.entering import entered
from promptlint.frontends.python.evaluate.machine import (
    MAX_DEPTH,
    MAX_STEPS,
    Frame,
    Kept,
    Machine,
    combine,
    passed,
)
from promptlint.frontends.python.evaluate.twins import Like, Twins, twin
from promptlint.frontends.python.syntax.nodes import remembered, statements, walk
from promptlint.frontends.python.syntax.slicing import (
    skipped,
    tells_of_prompts,
)
from promptlint.frontends.python.values.naming import called_name, is_prompt_name
from promptlint.frontends.python.values.pieces import worst
from promptlint.frontends.python.values.values import (
    NONE,
    Const,
    Declared,
    DictV,
    FuncV,
    Item,
    ListV,
    Obj,
    Str,
    Template,
    Unknown,
    Value,
    moment,
)
from promptlint.layout import Kind, Scope
from promptlint.source import Place

MAX_CALL_STEPS = 600  # of one call, callees included
MAX_MAKE_STEPS = 200  # of one constructor, or of a call that has nothing to do with prompts
ITERATING = ("__iter__", "__aiter__")  # what a loop runs over is not of its budget
# The default of an argument that is a file, whose text is another matter than a setting.
_FILE = re.compile(r"[\w./:-]*[\w-]\.(?:txt|md|prompt|j2|jinja2?|ya?ml|json|toml)")
MAX_PARTS = 4  # objects within one another of which the same method is run


def enter(
    m: Machine,
    func: FuncV,
    receiver: Value | None,
    *,
    record: bool = True,
    steps: int = MAX_STEPS,
    whole: bool = False,
) -> Value:
    """Run a function as an entry: nothing is known of its arguments but their names and types.

    ``whole`` runs the statements too that can matter for no prompt.
    """
    frame = Frame(func.module, {}, func, func.cls, receiver, func.closure, depth=0)
    silent = m.recorder.silent
    m.recorder.silent = silent or not record
    try:
        with m.afresh([func.node], steps):
            _symbolic_arguments(m, func, receiver, frame)
            result = _run(m, func, frame, whole=whole)
            if record:
                m.recorder.left(m, frame)
        if record:
            for inner in list(frame.names.values()):
                # A handler or a worker, which somebody else calls.
                if isinstance(inner, FuncV) and inner.closure is not None and _is_within(inner, func):
                    enter(m, inner, None)
        return result
    except RecursionError:
        # Deeper nesting than the interpreter's stack: what was recorded until here stands.
        return NONE
    finally:
        m.recorder.silent = silent


def _is_within(inner: FuncV, outer: FuncV) -> bool:
    """Tell whether a function stands in another, tells of prompts, and was not run with it."""
    return (
        not inner.ran
        and not isinstance(inner.node, ast.Lambda)
        and not isinstance(outer.node, ast.Lambda)
        and inner.node in statements(outer.node.body)
        and tells_of_prompts(inner.node)
    )


def _symbolic_arguments(m: Machine, func: FuncV, receiver: Value | None, frame: Frame) -> None:
    args = func.node.args
    positional = [*args.posonlyargs, *args.args]
    if receiver is not None and positional and "staticmethod" not in func.decorators:
        frame.names[positional[0].arg] = receiver
        positional = positional[1:]
    defaults = dict(
        zip([a.arg for a in [*args.posonlyargs, *args.args]][::-1], args.defaults[::-1], strict=False)
    )
    defaults |= {a.arg: d for a, d in zip(args.kwonlyargs, args.kw_defaults, strict=True) if d is not None}
    for arg in [*positional, *args.kwonlyargs]:
        frame.names[arg.arg] = _symbolic(m, func, arg, defaults.get(arg.arg), frame)
    if args.vararg:
        value = Unknown(func.module.place(args.vararg), name=args.vararg.arg, path=args.vararg.arg)
        frame.names[args.vararg.arg] = ListV([Item(value, spread=True)])
    if args.kwarg:
        name, place = args.kwarg.arg, func.module.place(args.kwarg)
        value = Unknown(place, name=name, path=name)
        if name in filled(func.node):
            mapping = DictV(place=place)
            mapping.rest.append(value)
            frame.names[name] = mapping
        else:
            frame.names[name] = value


@remembered
def filled(node: ast.AST) -> frozenset[str]:
    """Return the names that a function puts entries into: ``kwargs["context"] = …``."""
    return frozenset(
        n.value.id
        for n in walk(node)
        if isinstance(n, ast.Subscript) and isinstance(n.ctx, ast.Store) and isinstance(n.value, ast.Name)
    )


def _symbolic(m: Machine, func: FuncV, arg: ast.arg, default: ast.expr | None, frame: Frame) -> Value:
    default = _declared(default)
    if default is not None and not isinstance(default, ast.Constant):
        value = m.evaluate(default, Frame(func.module, {}, None, func.cls, frozen=True, outer=func.closure))
        if isinstance(value, (Template, ListV, DictV)) or (
            isinstance(value, Str) and value.literal_length() >= objects.KEPT_DEFAULT
        ):
            return value
    elif (
        default is not None
        and isinstance(default.value, str)
        and (len(default.value) >= objects.KEPT_DEFAULT or _FILE.fullmatch(default.value))
    ):
        return m.evaluate(default, frame)
    if arg.annotation is not None:
        cls = hints.annotated(m, arg.annotation, func.module, func.closure)
        if cls is not None:
            return objects.symbolic(m, cls, arg.arg)
        if (context := hints.wrapped(m, func, arg)) is not None:
            return context
    one_line = arg.annotation is not None and hints.is_number(arg.annotation)
    value = Unknown(func.module.place(arg), name=arg.arg, path=arg.arg, multiline=not one_line)
    return hints.noted(value, arg.annotation, func.module, func.closure)


def _declared(default: ast.expr | None) -> ast.expr | None:
    """Return the default of an option that a command line declares: ``typer.Option("prompts/plan.j2", help=…)``."""
    if not isinstance(default, ast.Call) or called_name(default) not in ("Option", "Argument"):
        return default
    named = next((k.value for k in default.keywords if k.arg == "default"), None)
    return default.args[0] if default.args else named or default


def _run(m: Machine, func: FuncV, frame: Frame, *, whole: bool = False) -> Value:
    """Run a body and return what it returns."""
    func.ran = True
    node = func.node
    if isinstance(node, ast.Lambda):
        return m.evaluate(node.body, frame)
    frame.skip = frozenset() if whole else skipped(node)
    if shape(node).generates:
        frame.yields = []
    depth = len(m.guards)
    m.execute(node.body, frame)
    del m.guards[depth:]
    if frame.yields is not None:
        if any("contextmanager" in d for d in func.decorators):
            return frame.yields[0].value if frame.yields else NONE
        given = ListV(frame.yields, depth=depth)
        m.recorder.yielded(m, given, frame)
        return given
    return combine(frame.returns)


def invoke(
    m: Machine,
    func: FuncV,
    args: Sequence[Value],
    keywords: dict[str, Value],
    node: ast.expr,
    frame: Frame,
    rest: Value | None = None,
) -> Value:
    """Call a project function with values; ``rest`` stands for ``**`` of something unknown."""
    if func.wrapping is not None:
        _wrap(m, func)
    if isinstance(func.wrapper, FuncV):
        func = func.wrapper
    place = frame.module.place(node)
    cause = worst(*(a.cause for a in args if not isinstance(a, Obj)), *(v.cause for v in keywords.values()))
    telling = isinstance(func.node, ast.Lambda) or tells_of_prompts(func.node)
    if m.unused is node and not telling and not shape_changes(func):
        return NONE
    if m.exhausted and len(m.stack) == 1 and m.reserve > 0 and func.node not in m.long and worth(func):
        with m.reserved(func.node):
            return invoke(m, func, args, keywords, node, frame, rest)
    recursive = func.node in m.stack and not _goes_to_another(m, func, args, frame)
    if recursive or len(m.stack) >= MAX_DEPTH or m.exhausted or not worth(func):
        if recursive:
            m.reach = min(m.reach, m.stack.index(func.node))
        if cause is not None and cause.kind is Kind.UNORDERED:
            # A set that goes down a recursion holds what was visited; another may only be looked up in.
            texts = () if recursive else (*args, *keywords.values())
            cause = worst(*(a.cause for a in texts if isinstance(a, Str)))
        one = Unknown(place, name=func.name, path=f"{func.name}()", cause=cause)
        followed = not recursive and len(m.stack) < MAX_DEPTH and worth(func)
        if followed and m.apart > 0 and _builds_a_prompt(func):
            return _returned(_on_its_own(m, func, args, keywords, rest, place), func, place)
        # Of a method that does nothing, its annotation is all there is.
        return hints.returned(one, func) if overriding.is_abstract(func) else one
    # Each further level gets half: what a prompt takes from far away is small. What a constructor sets last
    # is missed as much as what it sets first.
    keeps = m.asked > 0 and len(m.stack) == 1  # what an object keeps is made by one call, as a rule
    steps = (MAX_CALL_STEPS if telling or keeps else MAX_MAKE_STEPS) >> max(0, len(m.stack) - 1)
    iterates = func.name in ITERATING
    if func.name == "__init__" or iterates:
        steps = MAX_MAKE_STEPS
    budget = steps if iterates else min(m.limit - m.steps, steps)
    key = _key(m, func, args, keywords, rest)
    if key is not None and (kept := m.recall(key, budget)) is not None:
        return _returned(fresh(m, kept.value, kept.alive, (*args, *keywords.values())), func, place)
    begun = m.steps
    inner = _frame_of(func, args, len(m.guards))
    bind(m, func, args, keywords, inner, place, rest)
    m.stack.append(func.node)
    loops, m.loops = m.loops, list(m.loops)
    limit, m.limit = m.limit, m.steps + budget
    reads = {func.module.owner(func.node)}
    recorded, reach = m.recorder.count, m.reach
    m.reach = MAX_DEPTH
    try:
        with m.project.reading(reads):
            value = _run(m, func, inner)
    finally:
        m.project.reads |= reads
        m.stack.pop()
        m.loops = loops
        spent = m.steps > m.limit
        m.limit = limit + m.steps - begun if iterates else limit
        whole = m.reach >= len(m.stack)  # nothing in it was cut for being under way further out
        m.reach = min(m.reach, reach)
    cut = spent and _builds_a_prompt(func)
    if spent:
        func.ran = False  # not to its end: a worker is entered for itself then
        if cut and m.apart > 0:
            value = _on_its_own(m, func, args, keywords, rest, place)
    if spent and isinstance(value, Const) and value.value is None:
        value = Unknown(place, name=func.name, path=f"{func.name}()")  # cut before it returned anything
    if objects.is_cached(func):
        value = access.frozen(
            value, Scope.PROCESS, func.module.place(func.node), f"kept by the cache of {func.name}"
        )
    if key is not None and whole and not cut:
        # Kept as the function returns it: the way from here is this caller's own.
        table = m.memo if recorded == m.recorder.count else m.recorder.calls
        alive = (*args, *keywords.values())
        table[key, budget if spent else None] = Kept(value, alive, frozenset(reads), m.steps - begun)
        value = fresh(m, value, alive, alive)
    return _returned(value, func, place)


def _builds_a_prompt(func: FuncV) -> bool:
    return is_prompt_name(func.name) and not isinstance(func.node, ast.Lambda)


def _frame_of(func: FuncV, args: Sequence[Value], depth: int) -> Frame:
    receiver = args[0] if func.cls and args else None
    return Frame(func.module, {}, func, func.cls, receiver, func.closure, depth=depth)


def _on_its_own(
    m: Machine,
    func: FuncV,
    args: Sequence[Value],
    keywords: dict[str, Value],
    rest: Value | None,
    place: Place,
) -> Value:
    """Run a function that builds a prompt with a budget of its own, where what calls it has no more for it."""
    reads = {func.module.owner(func.node)}
    inner = _frame_of(func, args, 0)
    m.apart -= 1
    with m.afresh([func.node], MAX_STEPS), m.recorder.into([]), m.project.reading(reads):
        m.apart = 0
        bind(m, func, args, keywords, inner, place, rest)
        value = _run(m, func, inner)
    m.project.reads |= reads
    return value


def _goes_to_another(m: Machine, func: FuncV, args: Sequence[Value], frame: Frame) -> bool:
    """Tell whether a method calls itself of another object that was made: the next of a chain, a part of a whole."""
    one = args[0] if args and func.cls is not None else None
    made = isinstance(one, Obj) and one.place is not None and one is not frame.receiver
    return made and m.stack.count(func.node) < MAX_PARTS


def _wrap(m: Machine, func: FuncV) -> None:
    """Run a function's decorators: not at the cost of who calls it first, nor under that one's conditions."""
    wrapping, func.wrapping = func.wrapping, None
    if wrapping is not None:
        reads = func.module.reads
        with m.afresh([func.node], MAX_CALL_STEPS), m.recorder.into([]), m.project.reading(reads):
            func.wrapper = wrapping()


def _returned(value: Value, func: FuncV, place: Place) -> Value:
    if isinstance(value, Unknown):
        named = (
            value
            if value.name
            else Unknown(
                value.place or place,
                name=func.name,
                path=f"{func.name}()",
                cause=value.cause,
                loop=value.loop,
            )
        )
        return passed(named, place, f"returned by {func.name}()")
    return passed(entered(value, func, place), place, f"returned by {func.name}()")


def fresh(m: Machine, value: Value, given: Sequence[Value], now: Sequence[Value]) -> Value:
    """Return a value that the caller may change without touching the remembered one.

    Where it holds an argument that was ``given``, ``Section(self, title)``, it holds the one of this call.
    """
    made: Twins = {}
    for old, new in zip(given, now, strict=True):
        made[id(old)] = old, new
        if isinstance(old, Obj) and isinstance(new, Obj):
            parts = ((part, new.attrs.get(name)) for name, part in old.attrs.items())
            made.update((id(one), (one, other)) for one, other in parts if other is not None)
    out = twin(value, m, made)
    if isinstance(out, (ListV, DictV)):
        out.born = moment()
    return out


def _key(
    m: Machine, func: FuncV, args: Sequence[Value], keywords: dict[str, Value], rest: Value | None
) -> object | None:
    """Return a key under which a call's result can be kept; None where the call can change its arguments."""
    if rest is not None or func.closure is not None or shape_changes(func):
        return None
    # How deep it stands decides what it may spend, and where calls are not followed any more.
    where = len(m.stack), m.recorder.silent
    return (func.node, where, *map(_mark, args), *((name, _mark(value)) for name, value in keywords.items()))


def _mark(value: Value) -> object:
    """Return something equal for values that a function cannot tell apart."""
    if isinstance(value, Const):
        return repr(value.value)
    if isinstance(value, Unknown):
        told = (value.name, value.path, value.cause, value.loop)
        return (*told, value.says.node) if isinstance(value, Declared) else told
    if isinstance(value, Str):
        return value.parts if len(value.parts) < 4 else id(value)
    if isinstance(value, Obj):
        if value.pending is not None:
            return id(value.pending.model if isinstance(value.pending, Like) else value)
        return (value.cls, value.name, tuple((k, _mark_shallow(v)) for k, v in value.attrs.items()))
    return _mark_shallow(value)


def _mark_shallow(value: Value) -> object:
    if isinstance(value, ListV):
        return ("list", value.order, tuple(id(i.value) for i in value.items))
    if isinstance(value, DictV):
        return ("dict", tuple((k, id(i.value)) for k, i in value.entries.items()), tuple(map(id, value.rest)))
    return id(value)


def bind(
    m: Machine,
    func: FuncV,
    args: Sequence[Value],
    keywords: dict[str, Value],
    frame: Frame,
    place: Place,
    rest: Value | None,
) -> None:
    """Put arguments into the names of a frame; defaults are those of the definition."""
    spec = func.node.args
    names = [a.arg for a in [*spec.posonlyargs, *spec.args]]
    given: dict[str, Value] = {}
    extra: list[Item] = []
    for index, value in enumerate(args):
        if index < len(names):
            given[names[index]] = value
        else:
            extra.append(Item(value))
    known = set(names) | {a.arg for a in spec.kwonlyargs}
    more = DictV(len(m.guards))
    for name, value in keywords.items():
        if name in known:
            given[name] = value
        else:
            more.entries[name] = Item(value)
    defaults = dict(zip(names[::-1], spec.defaults[::-1], strict=False))
    defaults |= {a.arg: d for a, d in zip(spec.kwonlyargs, spec.kw_defaults, strict=True) if d is not None}
    for arg in [*spec.posonlyargs, *spec.args, *spec.kwonlyargs]:
        name = arg.arg
        if name in given:
            value = given[name]
            if value.cause is not None and not isinstance(value, (Obj, ListV, DictV)):
                value = passed(value, place, f"passed as {name}")
            frame.names[name] = value
        elif rest is not None and not (func.cls is not None and name in ("self", "cls")):
            frame.names[name] = Unknown(place, name=name, path=name, cause=rest.cause)
        elif name in defaults:
            value = m.evaluate(
                defaults[name], Frame(func.module, {}, None, func.cls, outer=func.closure, frozen=True)
            )
            if func.closure is None and value.cause is not None:
                at = func.module.place(defaults[name])
                value = access.frozen(value, Scope.PROCESS, at, f"default of {name}, computed once")
            frame.names[name] = value
        else:  # a library gives it
            frame.names[name] = _symbolic(m, func, arg, None, frame)
    if spec.vararg:
        frame.names[spec.vararg.arg] = ListV(extra, "tuple", depth=len(m.guards))
    if spec.kwarg:
        if rest is not None:
            more.rest.append(rest)
        frame.names[spec.kwarg.arg] = more
