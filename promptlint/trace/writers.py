"""Traces to share: lengths, times and salted hashes, no text.

Every id is a keyed hash of the block's own key, cut to 63 bits. With a secret salt nobody can test
a guessed prompt against the file; with one salt, files of one owner stay comparable.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

from promptlint.errors import InputError
from promptlint.files import replacing
from promptlint.trace.columns import Columns


def write_trace(columns: Columns, form: str, salt: str, path: Path) -> int:
    """Write a log as ``mooncake``, ``bailian``, ``weka`` or ``parquet``; return the number of requests.

    Mooncake and Bailian files name the block size only by their kind (512 and 16), so ours carry
    ``block_size`` in every row, which other readers pass over.

    Raises:
        InputError: the file cannot be written; nothing is left behind then.
    """
    if form == "parquet":
        from promptlint.trace.arrow import write_columns

        return write_columns(_salted_columns(columns, _Salted(salt)), str(path))
    rows = {"mooncake": _mooncake, "bailian": _bailian, "weka": _weka}[form](columns, _Salted(salt))
    try:
        with replacing(path) as temporary, temporary.open("w", encoding="utf-8") as file:
            for row in rows:
                file.write(json.dumps(row, separators=(",", ":")) + "\n")
    except OSError as error:
        raise InputError(
            f"{path}: cannot be written: {error.strerror or error}", "check folder and rights"
        ) from None
    return columns.requests


class _Salted:
    """Maps keys to salted 63-bit ids, each computed once."""

    def __init__(self, salt: str) -> None:
        self._key = (salt or secrets.token_hex(32)).encode()[:64]
        self._known: dict[int, int] = {}

    def __call__(self, keys: list[int]) -> list[int]:
        known, found = self._known, []
        for key in keys:
            value = known.get(key)
            if value is None:
                digest = blake2b(key.to_bytes(8, "little"), digest_size=8, key=self._key).digest()
                known[key] = value = int.from_bytes(digest, "little") >> 1
            found.append(value)
        return found


def _salted_columns(columns: Columns, salted: _Salted) -> Columns:
    """Return columns with salted ids, numbered namespaces and times from the first request on."""
    ids = np.array(salted(columns.ids.tolist()), dtype=np.uint64)
    names = tuple(f"namespace_{number}" for number in range(len(columns.namespaces)))
    return replace(columns, ids=ids, time=columns.time - _origin(columns), namespaces=names)


def _blocks(columns: Columns) -> Iterator[tuple[int, list[int]]]:
    ids, start = columns.ids, columns.start.tolist()
    for request in range(columns.requests):
        yield request, ids[start[request] : start[request + 1]].tolist()


def _origin(columns: Columns) -> float:
    """Return the time of the first request: times are shared as differences only."""
    return float(columns.time[0]) if columns.requests else 0.0


def _mooncake(columns: Columns, salted: _Salted) -> Iterator[dict[str, Any]]:
    origin = _origin(columns)
    for request, blocks in _blocks(columns):
        yield {
            "timestamp": round((float(columns.time[request]) - origin) * 1000),
            "input_length": int(columns.length[request]),
            "output_length": int(columns.output[request]),
            "hash_ids": salted(blocks),
            "block_size": columns.block_tokens,
            "session_id": str(int(columns.session[request])),
        }


def _bailian(columns: Columns, salted: _Salted) -> Iterator[dict[str, Any]]:
    origin = _origin(columns)
    turns: dict[int, tuple[int, int]] = {}
    for request, blocks in _blocks(columns):
        session = int(columns.session[request])
        parent, turn = turns.get(session, (-1, 0))
        turns[session] = (request, turn + 1)
        yield {
            "chat_id": request,
            "parent_chat_id": parent,
            "timestamp": round(float(columns.time[request]) - origin, 3),
            "input_length": int(columns.length[request]),
            "output_length": int(columns.output[request]),
            "type": "text",
            "turn": turn + 1,
            "hash_ids": salted(blocks),
            "block_size": columns.block_tokens,
        }


def _weka(columns: Columns, salted: _Salted) -> Iterator[dict[str, Any]]:
    """Yield one conversation a row, its times counted from its first request."""
    talks: dict[int, list[dict[str, Any]]] = {}
    begun: dict[int, float] = {}
    for request, blocks in _blocks(columns):
        session = int(columns.session[request])
        time = float(columns.time[request])
        begun.setdefault(session, time)
        talks.setdefault(session, []).append(
            {
                "t": round(time - begun[session], 3),
                "type": "n",
                "in": int(columns.length[request]),
                "out": int(columns.output[request]),
                "hash_ids": salted(blocks),
            }
        )
    for session, requests in talks.items():
        yield {
            "id": f"conversation_{session}",
            "block_size": columns.block_tokens,
            "hash_id_scope": "global",
            "requests": requests,
        }
