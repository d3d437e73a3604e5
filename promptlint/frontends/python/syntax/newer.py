"""Syntax newer than the running interpreter, rewritten to older syntax of the same length.

tree-sitter reads today's grammar on any Python. Its tree tells where the new constructs stand; each is
overwritten in the text with an equivalent that has exactly as many bytes, so that every position in the
tree that ``ast`` then builds is still right::

    type Alias[T] = list[T]        pass;Alias    = list[T]
    def f[T: int](x): …            def f        (x): …
    class C[↵↵T]: …                class C(↵↵ ): …
    except A, B:                   except A| B:
    t"Hi {name}"                   f"Hi {name}"
    f"{d["key"]}"                  f"{d['key']}"
    f"{f"{d['k']}"}"               f"{_           }"
    f"{x:{d["width"]}}"            f"{x:{_         }}"
"""

from __future__ import annotations

import ast
import warnings
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

    out = bytearray(text.encode(errors="surrogatepass"))
    found = QueryCursor(query).captures(parser.parse(bytes(out)).root_node)
    nodes = [(node, _EDITS[kind]) for kind, nodes in found.items() for node in nodes]
    edited = False
    # The outer ones last: they see what became of the inner ones.
    for node, edit in sorted(nodes, key=lambda one: one[0].end_byte - one[0].start_byte):
        for start, end, new in edit(node, out):
            out[start:end] = new.ljust(end - start)[: end - start]
            edited = True
    return out.decode(errors="replace") if edited else None


@cache
def _grammar() -> tuple[Any, Any]:
    import tree_sitter_python
    from tree_sitter import Language, Parser, Query

    language = Language(tree_sitter_python.language())
    return Parser(language), Query(language, _NEW)


Edit = tuple[int, int, bytes]


def _alias(node: Node, data: bytearray) -> Iterator[Edit]:
    yield node.start_byte, node.start_byte + 5, b"pass;"
    left = node.child_by_field_name("left")
    for parameters in left.children[0].children if left is not None and left.children else ():
        if parameters.type == "type_parameter":
            yield from _blank(parameters.start_byte, parameters.end_byte, data)


def _parameters(node: Node, data: bytearray) -> Iterator[Edit]:
    """Put blanks for them; where a line is empty, let parentheses begin earlier, which need no backslash."""
    start, end = node.start_byte, node.end_byte
    if b"\n\n" not in data[start:end]:
        yield from _blank(start, end, data)
        return
    behind = node.next_sibling
    if behind is not None and behind.type in ("parameters", "argument_list"):
        end = behind.start_byte + 1
    inside = b"\n".join(b" " * len(line) for line in data[start + 1 : end].split(b"\n"))
    yield start, end, b"(" + inside
    if end == node.end_byte:
        yield end - 1, end, b")"


def _blank(start: int, end: int, data: bytearray) -> Iterator[Edit]:
    """Put blanks in the place of bytes; lines go on behind a backslash, so that none is lost."""
    lines = data[start:end].split(b"\n")
    if len(lines) > 1 and not all(lines[:-1]):
        return  # no room for a backslash: better unread than with wrong places
    yield start, end, b"\\\n".join([*(b" " * (len(line) - 1) for line in lines[:-1]), b" " * len(lines[-1])])


def _handler(node: Node, data: bytearray) -> Iterator[Edit]:
    for child in node.children:
        if child.type == ":":
            return
        if child.type == ",":
            yield child.start_byte, child.end_byte, b"|"


def _string(node: Node, data: bytearray) -> Iterator[Edit]:
    """Make ``t`` an ``f``; give strings inside the fields another quote, and no backslash."""
    first, last = node.children[0], node.children[-1]
    prefix = data[first.start_byte : first.end_byte].lower()
    if b"t" in prefix:
        at = first.start_byte + prefix.index(b"t")
        yield at, at + 1, b"f"
    quote = bytes(data[last.start_byte : last.end_byte])
    for field in node.children:
        if field.type == "interpolation":
            yield from _field(field, quote, data)


def _field(node: Node, quote: bytes, data: bytearray) -> Iterator[Edit]:
    start = node.children[0].end_byte
    end = next((c.start_byte for c in node.children if c.type in _BEHIND), node.end_byte)
    body = bytes(data[start:end])
    if len(quote) == 1 and b"\n" in data[start : node.end_byte]:
        yield from _blank(node.start_byte, node.end_byte, data)
        return
    changed = bytearray(body.replace(b"\\", b" "))
    for comment in _comments(node) if b"#" in body else ():
        inner = slice(comment.start_byte - start, comment.end_byte - start)
        changed[inner] = b" " * len(changed[inner])
    if quote[:1] in changed:
        changed = changed.replace(quote[:1], b"'" if b'"' in quote else b'"')
    if changed != body:
        # Where no quote is left for it, any name will do: its text is read from the file again.
        yield start, end, bytes(changed) if _fits(bytes(changed), quote) else _name(body)
    for child in node.children:
        if child.type == "format_specifier":
            yield from _specifier(child, quote, data)


def _comments(node: Node) -> Iterator[Node]:
    todo = [node]
    while todo:
        one = todo.pop()
        if one.type == "comment":
            yield one
        todo += one.children


def _fits(text: bytes, quote: bytes) -> bool:
    """Tell whether this interpreter reads an expression in an f-string of such quotes."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(b"f" + quote + b"{" + text + b"}" + quote)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _name(body: bytes) -> bytes:
    """Return a name with the blanks and line ends that make it as long as an expression."""
    blanks = bytearray(b"\n".join(b" " * len(line) for line in body.split(b"\n")))
    if (at := blanks.find(b" ")) >= 0:
        blanks[at : at + 1] = b"_"
    return bytes(blanks)


def _specifier(node: Node, quote: bytes, data: bytearray) -> Iterator[Edit]:
    """Put a name for each field of a format that older syntax cannot have there."""
    for child in node.children:
        start, end = child.start_byte + 1, child.end_byte - 1
        inside = bytes(data[start:end])
        if data[start - 1 : start] == b"{" and any(c in inside for c in b"\\:{" + quote[:1]):
            yield start, end, _name(inside)


_EDITS = {"alias": _alias, "parameters": _parameters, "handler": _handler, "string": _string}
