"""Known text as ``strip``, ``dedent``, ``upper`` and ``splitlines`` leave it; what is not known keeps its place."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from promptlint.frontends.python.evaluate import audience
from promptlint.frontends.python.evaluate.machine import Frame, Machine
from promptlint.frontends.python.syntax.slicing import tells_of_prompts
from promptlint.frontends.python.values.pieces import Alt, Hole, Lit, Loop, Part, Seg, flat, text_of
from promptlint.frontends.python.values.values import Item, ListV, Str, Value
from promptlint.layout import Observation

if TYPE_CHECKING:
    from promptlint.frontends.python.values.arguments import Arguments


def stripped(value: Str, method: str, chars: str | None) -> Str:
    """Return ``value.strip()`` and its like; only known text at the ends changes."""
    parts = value.parts
    if method in ("strip", "lstrip"):
        parts = _stripped(parts, 0, chars)
    if method in ("strip", "rstrip"):
        parts = _stripped(parts, -1, chars)
    return Str(parts)


def _stripped(parts: tuple[Part, ...], end: int, chars: str | None) -> tuple[Part, ...]:
    """Strip one end, also in each branch that may stand there; ``end`` is 0 or -1."""
    while parts:
        part = parts[end]
        rest = parts[:-1] if end else parts[1:]
        new: Part
        if isinstance(part, Lit):
            _, new = _edge(part, end, chars)
            kept = bool(new.text)
        elif isinstance(part, Alt):
            branches = tuple(_stripped(branch, end, chars) for branch in part.branches)
            kept = any(branches)
            if kept and not all(branches) and rest and isinstance(near := rest[end], Lit):
                # Where a branch leaves nothing, what comes next is the end that is stripped.
                edge, near = _edge(near, end, chars)
                rest = (*rest[:-1], near) if end else (near, *rest[1:])
                branches = tuple(
                    branch and ((edge, *branch) if end else (*branch, edge)) for branch in branches
                )
            new = Alt(part.guard, branches)
        else:
            return parts
        if kept:
            return (*rest, new) if end else (new, *rest)
        parts = rest
    return parts


def _edge(part: Lit, end: int, chars: str | None) -> tuple[Lit, Lit]:
    """Return what stripping one end takes of a known text, and what it leaves."""
    size = len(part.text)
    if end:
        cut = len(part.text.rstrip(chars))
        return part.cut(cut, size), part.cut(0, cut)
    cut = size - len(part.text.lstrip(chars))
    return part.cut(0, cut), part.cut(cut, size)


def dedented(value: Str) -> Str:
    """Return ``textwrap.dedent(value)``, as if no hole spoiled the margin."""
    margin = None
    line_start = True
    for part in flat(value.parts):
        text = text_of(part)
        for index, line in enumerate(text.split("\n")):
            if (index or line_start) and line.strip():
                indent = len(line) - len(line.lstrip(" \t"))
                margin = indent if margin is None else min(margin, indent)
        line_start = text.endswith("\n") if text else False
    plain = value.plain()
    if plain is not None and len(value.parts) == 1 and isinstance(value.parts[0], Lit):
        first = value.parts[0]
        return Str((replace(first, text=textwrap.dedent(plain), whole=True),))
    if not margin:
        return value
    pattern = re.compile(rf"\n[ \t]{{1,{margin}}}")
    parts = list(_map_text(value.parts, lambda text: pattern.sub("\n", text)))
    opening = parts[0] if parts else None
    if isinstance(opening, Lit):
        text = re.sub(rf"^[ \t]{{1,{margin}}}", "", opening.text)
        parts[0] = opening.cut(len(opening.text) - len(text), len(opening.text))
    return Str(tuple(parts))


def _alone(value: Str, index: int) -> bool:
    """Tell whether a hole has a line to itself: a value put there is a block, not a word."""
    before = text_of(value.parts[index - 1]) if index else "\n"
    behind = text_of(value.parts[index + 1]) if index + 1 < len(value.parts) else "\n"
    return before.rstrip(" \t").endswith("\n") and behind.lstrip(" \t").startswith("\n")


def dedent(m: Machine, given: Arguments, node: ast.Call, frame: Frame) -> Value | None:
    """Return ``textwrap.dedent(...)``; that the margin depends on a value is told to the recorder."""
    value = given.args[0] if given.args else None
    if not isinstance(value, Str):
        return None
    holes = [p for i, p in enumerate(value.parts) if isinstance(p, Hole) and p.multiline and _alone(value, i)]
    indented = value.literal_length() > 40 and any("\n " in text_of(p) for p in flat(value.parts))
    func = frame.func.node if frame.func is not None else None
    if (
        holes
        and indented
        and not audience.starts_as_code(text_of(value.parts[0]))
        and not (func is not None and _is_no_prompt(node, func, value))
    ):
        place = frame.module.place(node)
        m.recorder.observe(
            Observation(
                "dedent-after-interpolation",
                place,
                holes[0].expression,
                data={"length": str(value.literal_length())},
            ),
            value,
        )
    return dedented(value)


def _is_no_prompt(
    node: ast.Call, func: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda, value: Str
) -> bool:
    """Tell whether a function has nothing to do with prompts, or fails with a text, or writes it to a file."""
    if not (isinstance(func, ast.Lambda) or tells_of_prompts(func)):
        return not audience.speaks("".join(map(text_of, flat(value.parts))))
    return audience.becomes_a_refusal(node, func) or audience.only_written(node, func)


def recased(value: Str, change: Callable[[str], str]) -> Str:
    """Return ``value.upper()`` and its like: every known piece changed by itself."""
    return Str(_map_text(value.parts, change))


def _map_text(parts: tuple[Part, ...], change: Callable[[str], str]) -> tuple[Part, ...]:
    out: list[Part] = []
    for part in parts:
        if isinstance(part, Lit):
            text = change(part.text)
            out.append(part if text == part.text else replace(part, text=text, whole=True))
        elif isinstance(part, Alt):
            out.append(Alt(part.guard, tuple(_map_text(b, change) for b in part.branches)))
        elif isinstance(part, Loop):
            out.append(Loop(part.guard, _map_text(part.parts, change)))
        elif isinstance(part, Seg) and part.segment.text is not None:
            out.append(Seg(replace(part.segment, text=change(part.segment.text))))
        else:
            out.append(part)
    return tuple(out)


def split_lines(value: Str) -> ListV | None:
    """Return the lines of a fully known text."""
    if value.plain() is None or len(value.parts) != 1 or not isinstance(value.parts[0], Lit):
        return None
    part, at, items = value.parts[0], 0, []
    for line in part.text.splitlines(keepends=True):
        body = line.rstrip("\n")
        items.append(Item(Str((part.cut(at, at + len(body)),))))
        at += len(line)
    return ListV(items[:400])
