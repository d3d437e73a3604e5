"""Texts that are named like prompts and go to people, logs or files instead."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from promptlint.frontends.python.evaluate.conditions import dotted_name
from promptlint.frontends.python.syntax.nodes import remembered, walk
from promptlint.layout import Segment

if TYPE_CHECKING:
    from promptlint.frontends.python.evaluate.machine import Frame

_SHOWS = re.compile(
    r"^(print|input|pprint|(\w+\.)*(log|logger|logging|_log|_logger|console)\.\w+|click\.\w+"
    r"|len|(\w+\.)*_*(count|(count|num|estimate)_?\w*tokens?\w*|tokens?_(count|length|usage)\w*)"
    # Models that draw or speak have no prefix that is read again.
    r"|(\w+\.)*(images\.(generate|edit|create_variation)|speech\.create|text_to_(image|video|speech|audio)"
    r"|(generate|create|draw|edit|make)_(image|picture|video|speech|audio|music)s?))$"
)
_WRITES = re.compile(r"(?:.*\.)?_*(?:write(?:_\w+)?|(?:create|save|make|put)_\w*file\w*)", re.DOTALL)
_PIPE = re.compile(r"stdin|sock|conn|pipe|stream|channel", re.IGNORECASE)
# How files of other kinds begin; a text that asks a model for one has words in front.
_CODE = re.compile(
    r"\s*(?:\\input |from [\w.{}]+ import |import [\w.]+\s*(?:\n|;|as )|#!/|<!(?i:doctype html)|<\?xml |package [\w.]+;?\n|"
    r"<(?:html|head|body|style|script|div|table|svg|form)\b[^<>]*>|"
    r"(?:SELECT|INSERT INTO|CREATE TABLE|UPDATE \w+ SET|DELETE FROM)\s)"
)
# Templates of pages, mails, programs and configuration: ``mail.html``, ``workflow.yml.jinja2``, ``emails/invite.txt``.
_MAIL = re.compile(
    r"(?:(?:^|/)(?:e-?)?mails?/[^/]+|/(?:\w+_)?e?mail(?:_\w+)?)\.(?:txt|md|html?|j2|jinja2?)$", re.IGNORECASE
)
_PAGE = re.compile(
    r"\.(?:(?:html?|xml|svg|css)(?:\.(?:j2|jinja2?|tmpl|tpl))?|"
    r"(?:jsx?|tsx?|py|sh|bash|conf|cfg|ini|toml|ya?ml|json|sql|tf)\.(?:j2|jinja2?|tmpl|tpl))$",
    re.IGNORECASE,
)


# How the turns of a conversation are marked in a text for a model.
_TURN = re.compile(
    r"<\|\w+\|>|\[/?INST\]|^ *(?:human|user|assistant|system|question|answer) *:",
    re.IGNORECASE | re.MULTILINE,
)


# Statements that begin lines of a program, and how many of them make it one.
_STATEMENT = re.compile(
    r"^\s*(?:def \w+\(|class \w+|import \w+|from [\w.]+ import |return\b|(?:if|for|while|try|else|with)\b.*:$)",
    re.MULTILINE,
)
_PROGRAM = 4
_LONG = 600


# What a program answers where it does not do as asked: a turn that is appended, or a line for people.
_OF_A_REFUSAL = re.compile(
    r"(error|block|warn|refus|reject|denied|deny|fail|invalid|usage|welcome|greeting)\w*_(message|msg|text|template|reply)"
    r"|_(warning|error|usage|banner)$",
    re.IGNORECASE,
)


def is_refusal(name: str) -> bool:
    """Tell whether a name is that of an error's or a refusal's text."""
    return _OF_A_REFUSAL.search(name) is not None


def becomes_a_refusal(call: ast.Call, func: ast.AST) -> bool:
    """Tell whether the result of a call gets the name of an error's text, or is raised, at once or by its name."""
    found = walk(func)
    raised = [node for node in found if isinstance(node, ast.Raise)]
    for node in found:
        if isinstance(node, ast.Assign) and node.value is call:
            names = [ast.unparse(target) for target in node.targets]
            return any(map(is_refusal, names)) or any(
                isinstance(inner, ast.Name) and inner.id in names for inner in walk(*raised)
            )
    return any(inner is call for inner in walk(*raised))


def tells_people(call: ast.Call) -> bool:
    """Tell whether a call prints, logs or counts what it is given, or has it drawn or spoken."""
    return _SHOWS.match(dotted_name(call.func)) is not None


def only_shown(name: str, func: ast.AST) -> bool:
    """Tell whether a function reads a local name only to print it, to count it, or to ask a person with it."""
    known = _shown(func)
    if name not in known:
        known[name] = _only_shown(name, func)
    return known[name]


@remembered
def _shown(func: ast.AST) -> dict[str, bool]:
    """Return the table of what was found out of a function's names so far."""
    return {}


def _only_shown(name: str, func: ast.AST) -> bool:
    reads = _loads(func).get(name, frozenset())
    if not reads:
        return False
    for node in _telling(func):
        reads -= _loads(node).get(name, frozenset())
    return not reads


@remembered
def _telling(func: ast.AST) -> list[ast.Call]:
    """Return the calls of a function that tell people something."""
    return [node for node in walk(func) if isinstance(node, ast.Call) and tells_people(node)]


def is_shown(message: ast.AST, func: ast.AST) -> bool:
    """Tell whether a function writes a message only to print or count it, at once or through a local name."""
    return id(message) in _ids_shown(func)


@remembered
def _ids_shown(func: ast.AST) -> frozenset[int]:
    shown: list[ast.AST] = []
    for node in walk(func):
        if isinstance(node, ast.Call) and tells_people(node):
            shown.append(node)
        elif isinstance(node, ast.Assign) and isinstance(target := node.targets[0], ast.Name):
            shown += [node.value] if only_shown(target.id, func) else []
    return frozenset(id(inner) for inner in walk(*shown) if isinstance(inner, ast.Dict))


def only_written(call: ast.Call, func: ast.AST) -> bool:
    """Tell whether the result of a call is only written to a file, at once or through a local name."""
    return id(call) in _ids_written(func)


@remembered
def _ids_written(func: ast.AST) -> frozenset[int]:
    return frozenset(map(id, _written(func)))


def _written(func: ast.AST) -> Iterator[ast.expr]:
    written: dict[str, int] = {}
    for node in walk(func):
        if not isinstance(node, ast.Call) or not _WRITES.fullmatch(where := ast.unparse(node.func)):
            continue
        for argument in () if _PIPE.search(where) else (*node.args, *(k.value for k in node.keywords)):
            if isinstance(argument, ast.Name):
                written[argument.id] = written.get(argument.id, 0) + 1
            yield argument
    for node in walk(func) if written else ():
        target = node.targets[0] if isinstance(node, ast.Assign) else None
        name = target.id if isinstance(target, ast.Name) else ""
        if name in written and written[name] == len(_loads(func).get(name, ())):
            value = node.value  # type: ignore[attr-defined]
            while isinstance(value, ast.Call):  # ``dedent(text).strip()``: of both calls
                yield value
                value = value.func.value if isinstance(value.func, ast.Attribute) else None


@remembered
def _loads(node: ast.AST) -> dict[str, frozenset[int]]:
    """Return where names are read, as the identities of their nodes."""
    found: defaultdict[str, list[int]] = defaultdict(list)
    for child in walk(node):
        if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Load):
            found[child.id].append(id(child))
    return {name: frozenset(nodes) for name, nodes in found.items()}


def is_code(segments: Iterable[Segment]) -> bool:
    """Tell whether a text begins as a program, a page or a query does."""
    for segment in segments:
        if segment.text is None:
            return False
        if segment.text.strip():
            return starts_as_code(segment.text)
    return False


def is_page(segments: Iterable[Segment]) -> bool:
    """Tell whether text comes from the template of a page, a mail or a configuration file, by its name."""
    paths = {segment.place.path for segment in segments if segment.text}
    return any(
        (_PAGE.search(path) and "prompt" not in path.rpartition("/")[2].lower())
        or (_MAIL.search(path) and "prompt" not in path.lower())
        for path in paths
    )


def is_addressed(segments: Iterable[Segment]) -> bool:
    """Tell whether a text speaks to a model, writes its turns, or comes from a file that is called after prompts.

    Nothing else tells a prompt from a report, a release note or a program, where no name does.
    """
    known = [segment for segment in segments if segment.text]
    written = "".join(segment.text or "" for segment in known)
    return speaks(written, of_prompts=any("prompt" in segment.place.path.lower() for segment in known))


def speaks(written: str, *, of_prompts: bool = False) -> bool:
    """Tell whether a text speaks to a model; ``of_prompts`` if nothing but a program in it would tell otherwise."""
    from promptlint.frontends.documents import evidence

    if evidence.names_a_role(written):
        return True
    if len(_STATEMENT.findall(written)) >= _PROGRAM:
        return False
    needed = 1 if len(written) < _LONG else 2  # in a long text to people some such words stand by chance
    return of_prompts or evidence.addresses(written) >= needed or _TURN.search(written) is not None


def is_said(segments: list[Segment], node: ast.expr, frame: Frame) -> bool:
    """Tell whether the template of an engine, made or filled at ``node``, is for a model: most are pages and mails."""
    func = frame.func
    if func is not None and isinstance(node, ast.Call) and only_written(node, func.node):
        return False
    if is_page(segments):
        return False
    names = f"{func.name if func is not None else ''} {frame.module.text(node)}"
    return "prompt" in names.lower() or is_addressed(segments)


def starts_as_code(text: str) -> bool:
    """Tell whether a text begins as files of another kind do."""
    return bool(_CODE.match(text))
