"""Syntax newer than the running interpreter, rewritten to older syntax of the same length.

tree-sitter reads today's grammar on any Python. Its tree tells where the new constructs stand; each is
overwritten in the text with an equivalent that has exactly as many bytes, so that every position in the
tree that ``ast`` then builds is still right::

    type Alias[T] = list[T]        pass;Alias    = list[T]
    def f[T: int](x): …            def f        (x): …
    except A, B:                   except A| B:
    t"Hi {name}"                   f"Hi {name}"
    f"{d["key"]}"                  f"{d['key']}"
    f"{f"{d['k']}"}"               f"{_           }"
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

_NEW = """
    (type_alias_statement) @alias
    (function_definition type_parameters: (type_parameter) @parameters)
    (class_definition type_parameters: (type_parameter) @parameters)
    (except_clause) @handler
    (string) @string
"""
_BEHIND = ("=", "type_conversion", "format_specifier", "}")


def lower(text: str) -> str | None:
    """Return an equivalent of equal length; None where the text holds nothing that is newer."""
    try:
        parser, query = _grammar()
    except ImportError:  # left out of an installation on an interpreter that knows all of it
        return None
    from tree_sitter import QueryCursor

    data = text.encode()
    out = bytearray(data)
    found = QueryCursor(query).captures(parser.parse(data).root_node)
    edits = [edit for kind, nodes in found.items() for node in nodes for edit in _EDITS[kind](node, data)]
    # The outer ones last: what they overwrite needs no edit of its own.
    for start, end, new in sorted(edits, key=lambda edit: edit[1] - edit[0]):
        out[start:end] = new.ljust(end - start)[: end - start]
    return out.decode(errors="replace") if edits else None


@cache
def _grammar() -> tuple[Any, Any]:
    import tree_sitter_python
    from tree_sitter import Language, Parser, Query

    language = Language(tree_sitter_python.language())
    return Parser(language), Query(language, _NEW)


Edit = tuple[int, int, bytes]


def _alias(node: Node, data: bytes) -> Iterator[Edit]:
    yield node.start_byte, node.start_byte + 5, b"pass;"
    left = node.child_by_field_name("left")
    for parameters in left.children[0].children if left is not None and left.children else ():
        if parameters.type == "type_parameter":
            yield from _parameters(parameters, data)


def _parameters(node: Node, data: bytes) -> Iterator[Edit]:
    yield from _blank(node.start_byte, node.end_byte, data)


def _blank(start: int, end: int, data: bytes) -> Iterator[Edit]:
    """Put blanks in the place of bytes; lines go on behind a backslash, so that none is lost."""
    lines = data[start:end].split(b"\n")
    if len(lines) > 1 and not all(lines[:-1]):
        return  # no room for a backslash: better unread than with wrong places
    yield start, end, b"\\\n".join([*(b" " * (len(line) - 1) for line in lines[:-1]), b" " * len(lines[-1])])


def _handler(node: Node, data: bytes) -> Iterator[Edit]:
    for child in node.children:
        if child.type == ":":
            return
        if child.type == ",":
            yield child.start_byte, child.end_byte, b"|"


def _string(node: Node, data: bytes) -> Iterator[Edit]:
    """Make ``t`` an ``f``; give strings inside the fields another quote, and no backslash."""
    first, last = node.children[0], node.children[-1]
    prefix = data[first.start_byte : first.end_byte].lower()
    if b"t" in prefix:
        at = first.start_byte + prefix.index(b"t")
        yield at, at + 1, b"f"
    quote = data[last.start_byte : last.end_byte]
    for field in node.children:
        if field.type == "interpolation":
            yield from _field(field, quote, data)


def _field(node: Node, quote: bytes, data: bytes) -> Iterator[Edit]:
    start = node.children[0].end_byte
    end = next((c.start_byte for c in node.children if c.type in _BEHIND), node.end_byte)
    body = data[start:end]
    changed = bytearray(body.replace(b"\\", b" "))
    for child in node.children:
        if child.type == "comment":
            inner = slice(child.start_byte - start, child.end_byte - start)
            changed[inner] = b" " * len(changed[inner])
    inner_quote = b"'" if b'"' in quote else b'"'
    if quote[:1] in changed and inner_quote not in changed:
        changed = changed.replace(quote[:1], inner_quote)
    elif quote in changed:
        # No quote is left for it. Any name will do: its text is read from the file again.
        changed = bytearray(b"_")
    if len(quote) == 1 and b"\n" in changed:
        yield from _blank(node.start_byte, node.end_byte, data)
    elif changed != body:
        yield start, end, bytes(changed)


_EDITS = {"alias": _alias, "parameters": _parameters, "handler": _handler, "string": _string}
