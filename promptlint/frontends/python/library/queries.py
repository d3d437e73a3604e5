"""What a query in SQL tells of the rows that it gives.

``ORDER BY embedding <-> $1``, ``MATCH ?``      what is like a text
``FROM profile WHERE chat_id = ?``              who the one row is about

Rows of turns are the conversation, whoever speaks in it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from promptlint.catalog.model import Volatile
from promptlint.frontends.python.values.pieces import text_of
from promptlint.frontends.python.values.values import Str
from promptlint.layout import Confidence, Kind, Scope

if TYPE_CHECKING:
    from promptlint.catalog.catalog import Catalog
    from promptlint.frontends.python.values.arguments import Arguments

_BEGINS = re.compile(r"\s*SELECT\b", re.IGNORECASE)
_FROM = re.compile(r"\bFROM\s+[\"`]?(?:\w+\.)?(?P<table>\w+)", re.IGNORECASE)
_WHERE = re.compile(r"\bWHERE\b", re.IGNORECASE)
_KEY = re.compile(r"\b(?P<key>\w+)[\"`]?\s*=\s*(?:\?|:\w|\$\d|%s|%\()")
_SIMILAR = re.compile(
    r"\bORDER BY\b.*(<[-=#+~]>|(distance|similarity|ts_rank\w*|bm25)\()|\bMATCH\s+[?:$%@]",
    re.IGNORECASE | re.DOTALL,
)
MAX_QUERY = 4_000  # characters of a query that are read
_OF_TURNS = re.compile(r"\b(?:role|content|messages?|turns?|history|count|exists)\b", re.IGNORECASE)


def by_query(given: Arguments, catalog: Catalog) -> Volatile | None:
    """Return what the query that a call is given says of its rows; None where it says nothing."""
    query = given.args[0] if given.args else None
    if not isinstance(query, Str):
        return None
    texts = [text_of(part)[:MAX_QUERY] for part in query.parts]
    if any(map(_SIMILAR.search, texts)):
        return Volatile(Kind.RETRIEVED, Scope.REQUEST, Confidence.HIGH)
    return next(filter(None, (_of_person(text, catalog) for text in texts)), None)


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
