"""What can still be said about a template that does not parse: its text and its ``{{ … }}`` tags."""

from __future__ import annotations

import re

from promptlint.frontends.base import Delimiters
from promptlint.frontends.jinja.values import Piece, Source, Symbol
from promptlint.layout import OriginKind

MAX_PIECES = 20_000
_NAME = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")


def loose_pieces(text: str, source: Source, delimiters: Delimiters) -> list[Piece]:
    """Cut a broken template at its delimiters: conditions and loops are lost, whitespace is kept."""
    pairs = (delimiters.variable, delimiters.block, delimiters.comment)
    opening = re.compile("|".join(f"({re.escape(pair[0])})" for pair in pairs))
    found: list[Piece] = []
    at = 0
    while at < len(text) and len(found) < MAX_PIECES:
        match = opening.search(text, at)
        end = text.find(pairs[(match.lastindex or 1) - 1][1], match.end()) if match else -1
        stop = match.start() if match and end >= 0 else len(text)
        if stop > at:
            found.append(Piece(source.place(at, stop), text[at:stop]))
        if match is None or end < 0:
            break
        close = end + len(pairs[(match.lastindex or 1) - 1][1])
        if match.lastindex == 1:
            expression = text[match.end() : end].strip("-+ \t\n")
            name = _NAME.search(expression)
            path = name.group() if name else ""
            symbol = Symbol(
                OriginKind.OPAQUE, path, expression, exact=False, why="the template does not parse"
            )
            found.append(Piece(source.place(match.start(), close), None, symbol))
        at = close
    return found
