"""Hash-only traces: Mooncake, Qwen-Bailian, WEKA."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeGuard

from promptlint.trace.model import Hashed
from promptlint.trace.readers.fields import number, text
from promptlint.trace.readers.stream import Record, Skipped

MOONCAKE_BLOCK = 512
BAILIAN_BLOCK = 16
WEKA_BLOCK = 64
_LATEST = 1e18  # of a time; beyond it stands no number that a clock gave


def is_mooncake(value: Mapping[str, Any]) -> bool:
    """Tell by ``hash_ids`` beside a time; Bailian has a conversation as well."""
    return "hash_ids" in value and "input_length" in value and "chat_id" not in value


def is_bailian(value: Mapping[str, Any]) -> bool:
    """Tell by ``hash_ids`` beside ``chat_id``."""
    return "hash_ids" in value and "chat_id" in value


def is_weka(value: Mapping[str, Any]) -> bool:
    """Tell by a conversation with its requests in it."""
    requests = value.get("requests")
    return isinstance(requests, list) and ("hash_id_scope" in value or "block_size" in value)


def _are_ids(value: Any) -> TypeGuard[list[int]]:
    return isinstance(value, list) and all(type(item) is int for item in value)


def _row(
    record: Record,
    block: int,
    unit: float,
    name: str,
    skipped: Skipped,
    session: str = "",
    *,
    chained: bool = False,
) -> Hashed | None:
    value = record.value
    ids = value.get("hash_ids")
    if not _are_ids(ids):
        skipped.add(name, record.line, "hash_ids is not a list of whole numbers")
        return None
    if chained and len(set(ids)) < len(ids):
        skipped.add(name, record.line, "a chained hash stands in hash_ids twice")
        return None
    time = value.get("timestamp", 0)
    return Hashed(
        record.line,
        ids,
        number(value.get("block_size")) or block,
        float(time) * unit if isinstance(time, int | float) and abs(time) < _LATEST else 0.0,
        number(value.get("input_length")),
        number(value.get("output_length")) or 0,
        session=session,
        kind=text(value.get("type")),
    )


def read_mooncake(records: Iterator[Record], name: str, skipped: Skipped) -> Iterator[Hashed]:
    """Yield requests; times are milliseconds, ids are chained, the last block may be partial."""
    for record in records:
        session = text(record.value.get("session_id"))
        if row := _row(record, MOONCAKE_BLOCK, 1e-3, name, skipped, session, chained=True):
            yield row


def read_bailian(records: Iterator[Record], name: str, skipped: Skipped) -> Iterator[Hashed]:
    """Yield requests; times are seconds, hashes are per block and get chained later.

    A turn names its parent turn; the root of that chain is the conversation.
    """
    roots: dict[str, str] = {}
    for record in records:
        chat, parent = text(record.value.get("chat_id")), text(record.value.get("parent_chat_id"))
        root = roots.get(parent, parent) if parent not in ("-1", "") else chat
        roots[chat] = root
        if row := _row(record, BAILIAN_BLOCK, 1.0, name, skipped, root):
            yield row


def read_weka(records: Iterator[Record], name: str, skipped: Skipped) -> Iterator[Hashed]:
    """Yield requests of Claude Code conversations; a sub-agent's times count from its own start.

    A conversation keeps the order of its list, sub-agents where they were called, although they
    may run beside the main thread: its place in time never goes back.
    """
    for record in records:
        value = record.value
        if not isinstance(value.get("requests"), list):
            skipped.add(name, record.line, "no list of requests in it")
            continue
        conversation = text(value.get("id")) or str(record.line)
        block = number(value.get("block_size")) or WEKA_BLOCK
        # Ids of scope "local" are numbered anew in every conversation.
        scope = conversation if value.get("hash_id_scope", "local") == "local" else ""
        latest = 0.0
        for time, depth, item in _flat(value["requests"], 0.0, 0):
            if time is None or not _are_ids(ids := item.get("hash_ids")):
                what = (
                    "a request without its time"
                    if time is None
                    else "hash_ids is not a list of whole numbers"
                )
                skipped.add(name, record.line, what)
                continue
            latest = max(latest, time)
            yield Hashed(
                record.line,
                ids,
                block,
                time,
                number(item.get("in")),
                number(item.get("out")) or 0,
                namespace=scope,
                session=conversation,
                kind=text(item.get("type")),
                depth=depth,
                order=latest,
            )


def _flat(
    requests: list[Any], base: float, depth: int
) -> Iterator[tuple[float | None, int, Mapping[str, Any]]]:
    """Yield time, depth and fields of all requests, those of sub-agents where they were called."""
    for item in requests:
        fields = item if isinstance(item, Mapping) else {}
        start = fields.get("t")
        time = base + start if isinstance(start, int | float) else None
        if isinstance(inner := fields.get("requests"), list) and time is not None:
            yield from _flat(inner, time, depth + 1)
        else:
            yield time, depth, fields
