"""Edits that give a collection an order: ``sorted(…)`` around what is joined or listed."""

from __future__ import annotations

import ast
from dataclasses import replace

from promptlint.findings import Edit, Finding
from promptlint.source import Place, SourceFile

_LISTINGS = frozenset({"listdir", "glob", "iglob", "iterdir", "rglob"})
"""Calls whose elements can be compared; those of ``scandir`` and ``walk`` cannot."""


_OF_LISTINGS = frozenset({"PL202", "PL301"})  # in a text, and as tools
_INTO_TEXT = ("formatted here", "given as ")
"""How the notes of the steps begin in which a value enters a text."""


def with_order(finding: Finding, source: SourceFile | None) -> Finding:
    """Return the finding with the edits that mend it, if ``sorted`` keeps the meaning of the code.

    Around the argument of a ``join`` it does, since all elements are text; around a call that lists
    files it does, since names and paths have an order.
    """
    if finding.fix is None or finding.fix.edits or source is None or not source.path.endswith(".py"):
        return finding
    if finding.code == "PL201":
        edits = _around_join(source, place_of(finding))
    elif finding.code in _OF_LISTINGS:
        edits = _around_listing(source, place_of(finding))
    else:
        return finding
    return replace(finding, fix=replace(finding.fix, edits=edits, safe=True)) if edits else finding


def place_of(finding: Finding) -> Place:
    """Return the place that gets an order: where files are listed, or where a collection becomes text.

    That is the first step that formats it or passes it on. What stands around it may be a join as well, of
    parts whose order has a meaning.
    """
    if finding.code in _OF_LISTINGS:
        return finding.origin or finding.primary
    steps = (step.place for step in finding.related if step.note.startswith(_INTO_TEXT))
    # A collection that is joined where it enters the prompt has only been returned since.
    returned = not finding.related or finding.related[0].note.startswith("returned by ")
    return next(steps, finding.primary if returned else finding.related[0].place)


def _around_join(source: SourceFile, place: Place) -> tuple[Edit, ...]:
    call = _call(source, place)
    if call is None or not isinstance(call.func, ast.Attribute) or call.func.attr != "join":
        return ()
    if len(call.args) != 1 or isinstance(call.args[0], ast.Starred) or _is_sorted(call.args[0]):
        return ()
    return _around(source, place, call.args[0])


def _around_listing(source: SourceFile, place: Place) -> tuple[Edit, ...]:
    call = _call(source, place)
    if call is None:
        return ()
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    return _around(source, place, call) if name in _LISTINGS else ()


def _call(source: SourceFile, place: Place) -> ast.Call | None:
    """Parse the text at a place, in brackets so that it may go over several lines."""
    if place.path != source.path:
        return None
    try:
        node = ast.parse(f"({_text(source, place)}\n)", mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    if isinstance(node, ast.Set) and len(node.elts) == 1:
        node = node.elts[0]  # the braces of a field of an f-string
    return node if isinstance(node, ast.Call) else None


def _text(source: SourceFile, place: Place) -> str:
    return source.text[place.span.start : place.span.end]


def _is_sorted(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "sorted"


def _around(source: SourceFile, place: Place, node: ast.expr) -> tuple[Edit, ...]:
    text = f"({_text(source, place)}\n)"
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    start = place.span.start - 1 + _offset(text, node.lineno, node.col_offset)
    end = place.span.start - 1 + _offset(text, node.end_lineno, node.end_col_offset)
    if isinstance(node, ast.GeneratorExp) and source.text[start] == "(" and source.text[end - 1] == ")":
        start, end = start + 1, end - 1  # the brackets of the call are those of the generator
    return Edit(source.place(start, start), "sorted("), Edit(source.place(end, end), ")")


def _offset(text: str, line: int, column: int) -> int:
    """Return the character offset of a position that counts bytes of UTF-8."""
    lines = text.split("\n")
    before = sum(len(one) + 1 for one in lines[: line - 1])
    return before + len(lines[line - 1].encode()[:column].decode(errors="ignore"))
