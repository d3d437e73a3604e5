"""What a query in SQL tells of the rows that it gives.

``ORDER BY embedding <-> $1``, ``MATCH ?``      what is like a text
``FROM profile WHERE chat_id = ?``              who the one row is about

Rows of turns are the conversation, whoever speaks in it. A cursor that has run a query gives its rows::

    cursor.execute("SELECT fact FROM facts WHERE customer_id = %s", (who,))
    return [row[0] for row in cursor.fetchall()]
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from promptlint.catalog.model import Volatile
from promptlint.frontends.python.values.pieces import text_of
from promptlint.frontends.python.values.values import Str, Unknown
from promptlint.layout import Cause, Confidence, Kind, Scope

if TYPE_CHECKING:
    from promptlint.catalog.catalog import Catalog
    from promptlint.frontends.python.evaluate.machine import Frame, Machine
    from promptlint.frontends.python.values.arguments import Arguments

_BEGINS = re.compile(r"\s*SELECT\b", re.IGNORECASE)
_WRITTEN = re.compile(r"[\"']\s*SELECT\s", re.IGNORECASE)
_FROM = re.compile(r"\bFROM\s+[\"`]?(?:\w+\.)?(?P<table>\w+)", re.IGNORECASE)
_WHERE = re.compile(r"\bWHERE\b", re.IGNORECASE)
_KEY = re.compile(r"\b(?P<key>\w+)[\"`]?\s*=\s*'?(?:\?|:\w|\$\d|@\w|%s|%\(|\{\w)")
_SIMILAR = re.compile(
    r"\bORDER BY\b.*(<[-=#+~]>|(distance|similarity|ts_rank\w*|bm25)\()|\bMATCH\s+[?:$%@]",
    re.IGNORECASE | re.DOTALL,
)
MAX_QUERY = 4_000  # characters of a query that are read
_OF_TURNS = re.compile(
    r"(?:\b|_)(?:roles?|messages?|msgs?|turns?|history|chats?|conversations?|count|exists)(?:\b|_)",
    re.IGNORECASE,
)


def by_query(given: Arguments, catalog: Catalog) -> Volatile | None:
    """Return what the query that a call is given says of its rows; None where it says nothing."""
    query = given.args[0] if given.args else None
    if not isinstance(query, Str):
        return None
    texts = [text_of(part)[:MAX_QUERY] for part in query.parts]
    if any(map(_SIMILAR.search, texts)):
        return Volatile(Kind.RETRIEVED, Scope.REQUEST, Confidence.HIGH)
    if not texts or not _BEGINS.match(texts[0]):
        return None
    return _of_person("".join(text or "?" for text in texts)[:MAX_QUERY], catalog)


def run_by(m: Machine, cursor: Unknown, node: ast.Call, found: Cause | None, frame: Frame) -> None:
    """Keep why the rows of a cursor change, where a query is run by it as a statement of its own."""
    from promptlint.frontends.python.evaluate.machine import unknown_like

    owner = node.func.value if isinstance(node.func, ast.Attribute) else None
    if isinstance(owner, ast.Name) and m.unused is node and frame.names.get(owner.id) is not None:
        frame.names[owner.id] = unknown_like(cursor, name=owner.id, cause=found)


def asks_for_one(written: str) -> bool:
    """Tell whether a function, as it is written, looks rows up by a key: ``"SELECT … WHERE x = ?"``."""
    begun = _WRITTEN.search(written)
    where = _WHERE.search(written, begun.end()) if begun else None
    return where is not None and _KEY.search(written, where.end()) is not None


def _of_person(query: str, catalog: Catalog) -> Volatile | None:
    """Return what a row is that is looked up for one user, by the names of its table and key.

    One part is looked for behind the other: a prompt about SQL has many of each.
    """
    begun = _BEGINS.match(query)
    source = _FROM.search(query, begun.end()) if begun else None
    where = _WHERE.search(query, source.end()) if source else None
    keyed = _KEY.search(query, where.end()) if where else None
    if begun is None or source is None or keyed is None:
        return None
    columns, table, key = query[begun.end() : source.start()], source["table"], keyed["key"]
    if _OF_TURNS.search(columns) or _OF_TURNS.search(table):
        return None
    told = (catalog.name(name) for name in (key.lower(), f"{table.lower().removesuffix('s')}.row"))
    found = next((one for one in told if one is not None and one.kind is Kind.PER_USER), None)
    return Volatile(found.kind, found.scope, Confidence.MEDIUM) if found is not None else None
