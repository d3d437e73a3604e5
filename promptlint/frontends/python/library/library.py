"""What calls outside the project give back: builtins, the standard library, catalogued sources."""

from __future__ import annotations

import ast
import re
from dataclasses import replace

from promptlint.frontends.python.evaluate import access, mappings, methods, text
from promptlint.frontends.python.evaluate.machine import Frame, Machine, root_of
from promptlint.frontends.python.library import (
    collecting,
    dialogs,
    engines,
    files,
    handing,
    holding,
    loading,
    patterns,
    standard,
)
from promptlint.frontends.python.library.queries import by_query
from promptlint.frontends.python.library.recent import KEEPS_NEWEST, WINDOWS
from promptlint.frontends.python.syntax.nodes import blocks
from promptlint.frontends.python.values.arguments import Arguments
from promptlint.frontends.python.values.forms import is_history
from promptlint.frontends.python.values.naming import HISTORY, SENDS, called_name
from promptlint.frontends.python.values.pieces import Lit
from promptlint.frontends.python.values.values import (
    NONE,
    Const,
    ListV,
    Str,
    Unknown,
    Value,
)
from promptlint.layout import Cause, Confidence, Kind, Scope
from promptlint.source import Place

GENERATOR = "generator"
# Generators that give the same numbers again where they are made with a seed.
_GENERATORS = frozenset(("random.Random", "numpy.random.default_rng", "numpy.random.RandomState"))
# Arguments of a client that say which server its requests go to.
_AIMS = ("base_url", "api_base", "endpoint", "host", "azure_endpoint")
_ENDS_OF_WINDOWS = tuple(f".{name}" for name in sorted(WINDOWS))
# Arguments that carry a prompt.
_ASKED = ("prompt", "system_prompt", "user_prompt", "llm_prompt")
KEPT = 40  # a default text of this length is a prompt, not a setting
# Takes off what differs between machines.
RELATIVE = frozenset({"relpath", "relative_to", "basename"})
# The same data in another form: what it is about is what was given.
_DATA = frozenset(
    (
        *("json.loads", "orjson.loads", "json5.loads", "yaml.safe_load", "yaml.dump", "yaml.safe_dump"),
        *("ast.literal_eval", "pandas.DataFrame", "dataclasses.asdict", "pprint.pformat"),
        *("base64.b64encode", "base64.standard_b64encode", "base64.urlsafe_b64encode", "io.BytesIO"),
        *("PIL.Image.open", "pdf2image.convert_from_path", "google.genai.types.Part.from_bytes"),
    )
)
# The result says little about the value: how long it is, of which type, whether it is there.
_LOSSY = frozenset(
    f"builtins.{n}"
    for n in (
        "len",
        "isinstance",
        "bool",
        "hasattr",
        "callable",
        "type",
        "issubclass",
        "any",
        "all",
        "print",
        "sum",
        "setattr",
        "delattr",
        "vars",
    )
) | {"importlib.import_module", "importlib.util.spec_from_file_location", "importlib.util.module_from_spec"}

_COUNTS = re.compile(
    r"builtins\.(len|sum)|.*\.\w*(count\w*tokens?|tokens?_count\w*|num_tokens\w*|token_len\w*)"
)


# Commands that say where they run; what others give is what they were asked for.
_DESCRIBING = frozenset(
    (
        *(
            "git",
            "hg",
            "uname",
            "hostname",
            "whoami",
            "id",
            "pwd",
            "date",
            "which",
            "where",
            "env",
            "printenv",
        ),
        *("ls", "dir", "tree", "find", "fd", "rg", "cat", "df", "free", "ps", "lscpu", "nvidia-smi"),
        *("lsb_release", "sw_vers", "ver", "pip", "conda", "brew"),
    )
)
_COMMANDS = ("subprocess.", "os.popen", "asyncio.create_subprocess")
_HANDLERS: dict[str, collecting.Handler] = {
    **patterns.HANDLERS,
    **files.HANDLERS,
    **engines.HANDLERS,
    **standard.HANDLERS,
    **collecting.HANDLERS,
}
# What asks a person and waits.
_ASK = frozenset(
    (
        "input",
        "builtins.input",
        "rich.prompt.Prompt.ask",
        "click.prompt",
        "typer.prompt",
        "prompt_toolkit.prompt",
    )
)


def _counted(path: str, given: Arguments, node: ast.Call, frame: Frame) -> Unknown | None:
    """Return how many turns a conversation has, or how long they are: more each time."""
    if not _COUNTS.fullmatch(path) or not any(map(_over_turns, [*given.args[:1], *given.keywords.values()])):
        return None
    what, place = frame.module.text(node), frame.module.place(node)
    grown = Cause(Kind.COUNTER, Scope.REQUEST, what, Confidence.MEDIUM, place)
    return Unknown(place, name=what, cause=grown, multiline=False)


def _over_turns(value: Value) -> bool:
    """Tell whether a value is the turns of a conversation, or something of each of them."""
    if isinstance(value, ListV) and value.items and not is_history(value):
        return all(
            any(guard.kind == "for" and HISTORY.search(guard.name) for guard in item.guards)
            for item in value.items
        )
    return is_history(value)


def call(m: Machine, path: str, given: Arguments, node: ast.Call, frame: Frame) -> Value:
    """Return the result of calling something outside the project by its dotted name."""
    place = frame.module.place(node)
    if mappings.is_typed(path, given):
        path = "builtins.dict"
    handler = _HANDLERS.get(path)
    if handler is not None:
        result = handler(m, given, node, frame)
        if result is not None:
            return result
    if path.startswith("builtins.str.") and given.args:  # map(str.strip, lines)
        said = replace(given, args=given.args[1:])
        return methods.method(m, given.args[0], path.rpartition(".")[2], said, node, frame)
    if path.endswith(".__init__") and given.args:  # Base.__init__(self, system_message=…)
        return methods.method(m, given.args[0], "__init__", given, node, frame)
    if (number := _counted(path, given, node, frame)) is not None:
        return number
    if (result := handing.handed(m, path, given, node, frame)) is not None:
        return result
    if path in _LOSSY:
        if path == "builtins.print":
            return NONE
        measured = given.get(0) if path == "builtins.len" else None
        if isinstance(measured, Str) and (plain := measured.plain()) is not None:
            return Const(len(plain))
        return Unknown(place, name=getattr(measured, "name", ""), multiline=False)
    if path.startswith("builtins.") and path.count(".") == 1 and path.rsplit(".", 1)[-1][0].isupper():
        return Unknown(place, name=path)
    if path in _GENERATORS and any(v is not NONE for v in (*given.args, *given.keywords.values())):
        return Unknown(place, name=GENERATOR, path=GENERATOR)
    cause = volatile(m, path, given, node, frame)
    if cause is not None:
        if cause.kind is Kind.RANDOM and _seeded(given):
            cause = None
        if cause is not None and cause.kind is Kind.UNORDERED and cause.variant == "set":
            return ListV([], "set", cause, len(m.guards))
        first = given.args[0] if given.args else None
        if cause is not None and cause.variant == "completion" and isinstance(first, ListV):
            return ListV(list(first.items), order=cause, depth=len(m.guards))
        if cause is not None and (turns := turns_of_session(cause, given, place)) is not None:
            return turns
        return Unknown(
            place, name=path, path=f"{path}()", cause=cause, text=frame.module.text(node), multiline=False
        )
    if path.endswith(_ENDS_OF_WINDOWS):
        m.recorder.windowed(node, frame)
    for keyword in node.keywords:
        if keyword.arg in KEEPS_NEWEST:
            m.recorder.windowed(keyword, frame)
    templates = holding.taken(given)
    made = (
        (None if templates else dialogs.made(m, path, given, node, frame))  # what runs one may be called so
        or engines.made(m, path, given, node, frame)
        or dialogs.message(m, path, given, node, frame)
    )
    if made is not None:
        return made
    if (prompt := loading.filled(m, path, given, node, frame)) is not None:
        return prompt
    if templates and (ran := holding.run(m, templates, given, node, frame)) is not None:
        return ran
    short = path.rsplit(".", 1)[-1]
    name = short
    if answers(m, path):
        return Unknown(place, name="response", path=f"{path}()", given=_kept(m, path, given))
    if (
        short in ("get", "getenv", "getattr")
        and given.args
        and isinstance(label := access.plain(given.args[-1 if short == "getattr" else 0]), str)
    ):
        name = label
    derived = given.cause
    if derived is not None and asks(node, given):
        derived = None
    if short[:1].isupper():
        aim = given.get(*_AIMS)
        if (
            aim is not None
            and aim.cause is not None
            and aim.cause.kind in (Kind.RANDOM, Kind.ROUTING, Kind.COUNTER)
        ):
            return Unknown(place, name=name, path=f"{path}()", cause=aim.cause)
    if derived is not None and (derived.kind is Kind.UNORDERED or short[:1].isupper()):
        # A constructor keeps its arguments to itself; an outside function may well sort.
        derived = derived if short in ("dumps", "list", "deepcopy", "copy", "dump", "safe_dump") else None
    if short in RELATIVE and derived is not None and derived.kind is Kind.ENVIRONMENT:
        derived = None
    if short == "open":
        derived = files.inside(derived)
    data = given.get(0, "data") if path in _DATA else None
    if data is not None and (root := root_of(data)):
        path = f"{root}.{short}"
    kept = _kept(m, path, given)
    if isinstance(data, Unknown) and data.cause is None and data.name.endswith(".read_text"):
        name = f"{data.name}.{short}"
    return Unknown(
        place,
        name=name,
        path=f"{path}()",
        cause=derived,
        text=frame.module.text(node),
        given=kept,
        templates=templates if templates or kept is not None else None,
    )


def _kept(m: Machine, path: str, given: Arguments) -> dict[str, Value] | None:
    """Return what the constructor of an outside object was given; of an agent or model without names too."""
    short, sink = path.rpartition(".")[2], m.sink(path)
    if short == "init_chat_model" or (sink is not None and sink.returns == "agent"):
        return {**{str(at): value for at, value in enumerate(given.args)}, **given.keywords}
    return given.keywords if short[:1].isupper() else None


def turns_of_session(cause: Cause, given: Arguments, place: Place) -> Unknown | None:
    """Return the turns that are looked up in a user's session by a name: ``user_session.get("history")``."""
    key = access.plain(given.args[0]) if given.args else None
    if not isinstance(key, str) or access.kept_by_session(cause, key) is not None:
        return None
    return Unknown(place, name=key, path=key)


def volatile(m: Machine, path: str, given: Arguments, node: ast.Call, frame: Frame) -> Cause | None:
    """Return why a call gives something else each time, by the catalogue."""
    found = m.volatile(path) or by_query(given, m.catalog)
    if found is None:
        return None
    place = frame.module.place(node)
    scope = found.scope
    if found.kind is Kind.CLOCK:
        for value in [*given.args, *given.keywords.values()]:
            form = access.plain(value)
            if isinstance(form, str) and "%" in form:
                scope = access._wider(scope, m.catalog.clock_scope(form))
        # A conversion of a time that was given reads no clock.
        short = path.rsplit(".", 1)[-1]
        if short in (
            "strftime",
            "ctime",
            "asctime",
            "localtime",
            "gmtime",
            "fromtimestamp",
            "utcfromtimestamp",
        ) and len(given.args) >= (2 if short == "strftime" else 1):
            return given.args[-1].cause if short == "strftime" else given.args[0].cause
        if scope is Scope.RELEASE:
            return None
    kind = found.kind
    if kind is Kind.ENVIRONMENT and path.startswith(_COMMANDS) and not _describes(given):
        kind = Kind.REQUEST_INPUT  # what came of what the program was asked to run
    # A file that asks for something when it is run is a script: it is run again for the next answer.
    asks = found.kind is Kind.REQUEST_INPUT and not found.variant
    if asks and path in _ASK and not m.loops and _goes_on(node, frame):
        scope = Scope.SESSION  # asked once, whatever is said in the loop that follows
    once = frame.once and not asks
    if once and scope.narrower_than(Scope.MACHINE):
        scope = Scope.PROCESS  # run once, when the file is imported
    return Cause(kind, scope, frame.module.text(node, 50), found.confidence, place, variant=found.variant)


def _goes_on(node: ast.Call, frame: Frame) -> bool:
    """Tell whether a function goes on for as long as it takes behind a call."""
    inside = blocks(frame.func.node) if frame.func is not None else []
    return any(isinstance(n, ast.While) and n.lineno > node.lineno for n in inside)


def _describes(given: Arguments) -> bool:
    """Tell whether a command that is run says where it runs: ``["git", "status"]``, ``f"ls {folder}"``."""
    command = given.get(0, "args", "cmd")
    first = command.items[0].value if isinstance(command, ListV) and command.items else command
    part = first.parts[0] if isinstance(first, Str) and first.parts else None
    words = part.text.split() if isinstance(part, Lit) else []
    return bool(words) and words[0] in _DESCRIBING


def _seeded(given: Arguments) -> bool:
    return any(k in given.keywords for k in ("seed", "random_state"))


def is_prompt(value: Value) -> bool:
    """Tell whether a default is long enough for a prompt; a setting is short."""
    known = text.known_text(value)
    return known is not None and Str(known).literal_length() >= KEPT


def asks(node: ast.Call, given: Arguments) -> bool:
    """Tell whether a call that is not known hands a prompt on: what comes back is an answer, and no part of it."""
    if SENDS.search(called_name(node)):
        return any(map(is_prompt, [*given.args, *given.keywords.values()]))
    return any(key in given.keywords and is_prompt(given.keywords[key]) for key in _ASKED)


def answers(m: Machine, path: str) -> bool:
    """Tell whether a call's result is a model's answer: new text, whatever the arguments were."""
    sink = m.sink(path)
    return sink is not None and sink.returns == "response"
