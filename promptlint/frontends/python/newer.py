"""Syntax newer than the running interpreter, rewritten to older syntax of the same length.

libcst reads today's grammar on any Python. Its tree tells where the new constructs stand; each is
overwritten in the text with an equivalent that has exactly as many characters, so that every position
in the tree that ``ast`` then builds is still right::

    type Alias[T] = list[T]        pass;Alias    = list[T]
    def f[T: int](x): …            def f        (x): …
    except A, B:                   except A| B:
    t"Hi {name}"                   f"Hi {name}"
    f"{d["key"]}"                  f"{d['key']}"
    f"{f"{d['k']}"}"               f"{_           }"
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator


def lower(text: str) -> str | None:
    """Return an equivalent of equal length, or None when libcst is missing or cannot read it either."""
    try:
        import libcst as cst
        from libcst.metadata import ByteSpanPositionProvider, MetadataWrapper
    except ImportError:
        return None
    try:
        wrapper = MetadataWrapper(cst.parse_module(text), unsafe_skip_copy=True)
        spans = wrapper.resolve(ByteSpanPositionProvider)
    except (cst.ParserSyntaxError, cst.CSTLogicError, ValueError, TypeError, RecursionError):
        return None
    data = text.encode()
    out = bytearray(data)
    # The outer ones last: what they overwrite needs no edit of its own.
    edits = sorted(_edits(cst, wrapper.module, spans, data), key=lambda edit: edit[1] - edit[0])
    for start, end, new in edits:
        out[start:end] = new.ljust(end - start)[: end - start]
    return out.decode(errors="replace")


def _edits(cst: Any, module: Any, spans: Any, data: bytes) -> Iterator[tuple[int, int, bytes]]:
    for node, span in spans.items():
        start, end = span.start, span.start + span.length
        if isinstance(node, cst.TypeAlias):
            yield start, start + 5, b"pass;"
        elif isinstance(node, cst.TypeParameters):
            yield start, end, b""
        elif isinstance(node, cst.FormattedString):
            yield from _fstring(cst, node, spans, data)
        elif type(node).__name__ == "TemplatedString":
            prefix = data[start : start + 2].lower()
            at = start + prefix.find(b"t")
            yield at, at + 1, b"f"
        elif isinstance(node, cst.ExceptHandler) and node.type is not None:
            inner = spans.get(node.type)
            if inner and isinstance(node.type, cst.Tuple) and not node.type.lpar:
                body = data[inner.start : inner.start + inner.length]
                yield inner.start, inner.start + inner.length, body.replace(b",", b"|")


def _fstring(cst: Any, node: Any, spans: Any, data: bytes) -> Iterator[tuple[int, int, bytes]]:
    """Give strings inside an f-string's fields another quote, and no backslash."""
    quote = node.end.encode()
    inner = b"'" if b'"' in quote else b'"'
    for part in node.parts:
        if not isinstance(part, cst.FormattedStringExpression):
            continue
        span = spans.get(part.expression)
        if span is None:
            continue
        body = data[span.start : span.start + span.length]
        changed = body.replace(b"\\", b" ")
        if quote[:1] in changed and inner not in changed:
            changed = changed.replace(quote[:1], inner)
        elif quote in changed:
            # No quote is left for it. Any name will do: its text is read from the file again.
            changed = b"_"
        if len(quote) == 1:
            changed = changed.replace(b"\n", b" ")
        if changed != body:
            yield span.start, span.start + span.length, changed
