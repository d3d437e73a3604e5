"""Templates that a program fills with its own means: ``string.Formatter``, and ``re.sub`` with a function.

::

    Formatter().vformat(TEMPLATE, (), values)
    for literal, field, form, conversion in Formatter().parse(TEMPLATE): …
    re.sub(r"{{(\\w+)}}", lambda found: str(values[found.group(1)]), TEMPLATE)
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from dataclasses import replace

from promptlint.frontends.python.evaluate import access, members, text
from promptlint.frontends.python.evaluate.machine import Frame, Machine, fixed
from promptlint.frontends.python.values.arguments import Arguments
from promptlint.frontends.python.values.pieces import Alt, Hole, Lit, Loop, Part, Seg
from promptlint.frontends.python.values.values import (
    NONE,
    Bound,
    DictV,
    FuncV,
    Item,
    ListV,
    Obj,
    Str,
    Unknown,
    Value,
)
from promptlint.layout import Step

KINDS = ("formatter", "pattern", "match")  # of objects that are asked for their methods here
_MAX_MATCHES = 64
_MAX_SEARCH = 2_000_000  # characters of a text, times the places in it at which a placeholder may begin
_MARKS = "{<[$%@#_(&~"
# A program's own pattern is tried only where it looks for a placeholder, a name between marks: with one repetition
# and the space around it, it cannot take long on any text.
_PLACEHOLDER = re.compile(
    r"""
    (?: \(\?<?[!=] (?:[^()\\]|\\.) \) )?                                 # (?<!{)
    (?: \\?[{<\[$%@#_&~] | \\\( ){1,4}                                   # \{\{
    (?: \\s[*+] | [ ] )?
    (?: \( (?:\?P<\w+>)? )?                                              # (?P<name>
    (?: \\[wWSd] | \[(?:[^\]\\]|\\.)+\] | \. ) [+*] \??                  # [\w.]+
    \)?
    (?: \\s[*+] | [ ] )?
    (?: \\?[}>\])$%@#_|&~] | s ){0,4}                                    # \}\}
    (?: \(\?[!=] (?:[^()\\]|\\.) \) )?
    """,
    re.VERBOSE,
)


def _formatter(m: Machine, given: Arguments, node: ast.Call, frame: Frame) -> Value:
    return Obj(kind="formatter", name="string.Formatter()", place=frame.module.place(node))


def _compiled(m: Machine, given: Arguments, node: ast.Call, frame: Frame) -> Value | None:
    pattern = access.plain(given.args[0]) if given.args else None
    return Obj(kind="pattern", name=pattern) if isinstance(pattern, str) and _usable(pattern) else None


def _usable(pattern: str) -> bool:
    return _PLACEHOLDER.fullmatch(pattern) is not None


def _sub(m: Machine, given: Arguments, node: ast.Call, frame: Frame) -> Value | None:
    """Return ``re.sub(…)``: what a function makes of each match; other replacements leave the text as it is."""
    value, pattern = given.get(2, "string"), access.plain(given.args[0]) if given.args else None
    if not isinstance(value, Str | Unknown):
        return None
    if isinstance(pattern, str) and _usable(pattern):
        return _substituted(m, pattern, given.get(1, "repl"), value, node, frame)
    return value


def method(m: Machine, obj: Obj, name: str, given: Arguments, node: ast.Call, frame: Frame) -> Value | None:
    """Return what a method of one of `KINDS` gives; None where nothing is known of it."""
    if obj.kind == "match":
        return _of_match(obj, name, given)
    if obj.kind == "pattern":
        value = given.get(1, "string")
        if name == "sub" and isinstance(value, Str | Unknown):
            return _substituted(m, obj.name, given.get(0, "repl"), value, node, frame)
        return None
    template = given.args[0] if given.args else None
    if template is not None and name in ("convert_field", "format_field"):
        return template
    if not isinstance(template, Str):
        return None
    if name == "parse":
        return _parsed(template, frame)
    from promptlint.frontends.python.evaluate.methods import formatted

    if name == "format":
        return formatted(m, template, "format", replace(given, args=given.args[1:]), node, frame)
    if name == "vformat" and len(given.args) == 3:
        numbered, named = members.elements(given.args[1]) or [], given.args[2]
        if isinstance(named, DictV):
            filled = Arguments(numbered, text.keys_of(named), named.rest[0] if named.rest else None)
        else:
            filled = Arguments(numbered, {}, named)
        return formatted(m, template, "format", filled, node, frame)
    return None


def _parsed(template: Str, frame: Frame) -> ListV:
    """Return the tuples that a formatter takes a template apart to: known text, and the field behind it."""
    out: list[tuple[Value, ...]] = []
    before = Str(())
    for part in text.with_fields(template.parts, "format"):
        if isinstance(part, Seg) and part.segment.text is None:
            name = part.segment.origin.name
            field = Str((Lit(name, fixed(part.segment.place, name), whole=True),)) if name else Str(())
            out.append((before, field, Str(()), NONE))
            before = Str(())
        else:
            before = Str((*before.parts, part))
    if before.parts:
        out.append((before, NONE, NONE, NONE))
    return ListV([Item(ListV([Item(one) for one in row], "tuple")) for row in out])


def _of_match(found: Obj, name: str, given: Arguments) -> Value | None:
    if name in ("group", "__getitem__"):
        return found.attrs.get(str(access.plain(given.args[0])) if given.args else "0")
    if name == "groups":
        numbered = (value for key, value in found.attrs.items() if key.isdigit() and key != "0")
        return ListV([Item(value) for value in numbered], "tuple")
    return None


def _substituted(
    m: Machine, pattern: str, by: Value | None, value: Str | Unknown, node: ast.Call, frame: Frame
) -> Value:
    if not isinstance(by, FuncV | Bound) or not isinstance(value, Str):
        return value
    try:
        compiled = re.compile(pattern)
    except (re.error, OverflowError):
        return value
    from promptlint.frontends.python.evaluate.calls import apply

    def made(found: Obj) -> Value:
        return apply(m, by, Arguments([found]), node, frame)

    return Str(_each(compiled, value.parts, made, frame, node))


def _each(
    pattern: re.Pattern[str],
    parts: tuple[Part, ...],
    made: Callable[[Obj], Value],
    frame: Frame,
    node: ast.Call,
) -> tuple[Part, ...]:
    """Return pieces of text with each match replaced by what is made of it."""
    out: list[Part] = []
    mark = next(sign for sign in pattern.pattern if sign in _MARKS)
    for part in parts:
        if isinstance(part, Alt):
            out.append(Alt(part.guard, tuple(_each(pattern, b, made, frame, node) for b in part.branches)))
        elif isinstance(part, Loop):
            out.append(Loop(part.guard, _each(pattern, part.parts, made, frame, node)))
        elif isinstance(part, Lit) and len(part.text) * part.text.count(mark) <= _MAX_SEARCH:
            out.extend(_matched(pattern, part, made, Step(frame.module.place(node), "put in its place")))
        else:
            out.append(part)
    return tuple(out)


def _matched(pattern: re.Pattern[str], part: Lit, made: Callable[[Obj], Value], at: Step) -> list[Part]:
    out: list[Part] = []
    end = 0
    for index, found in enumerate(pattern.finditer(part.text)):
        if index == _MAX_MATCHES or found.end() == found.start():
            break
        out.append(part.cut(end, found.start()))
        place = at.place if part.whole else part.cut(found.start(), found.end()).place()
        match = Obj(kind="match")
        named = {str(number): group for number, group in enumerate((found.group(), *found.groups()))}
        for key, group in {**named, **found.groupdict()}.items():
            match.attrs[key] = Str((Lit(group, fixed(place, group), whole=True),)) if group else NONE
        field = found.groups()[0] if found.groups() else ""
        out.extend(
            replace(p, place=place, given=at, field=(field or "").strip()) if isinstance(p, Hole) else p
            for p in text.parts_of(made(match), place, field or "")
        )
        end = found.end()
    out.append(part.cut(end, len(part.text)))
    return [p for p in out if not (isinstance(p, Lit) and not p.text)]


HANDLERS: dict[str, Callable[..., Value | None]] = {
    "string.Formatter": _formatter,
    "re.compile": _compiled,
    "re.sub": _sub,
}
