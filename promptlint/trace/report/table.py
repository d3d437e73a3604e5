"""One row a request, as Parquet."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from promptlint.errors import InputError, UsageError
from promptlint.files import replacing
from promptlint.trace.explain.outcome import Outcome

SCHEMA = {
    "file": "string",
    "line": "int64",
    "time": "float64",
    "id": "string",
    "provider": "string",
    "model": "string",
    "session": "string",
    "profile": "string",
    "input_tokens": "int64",
    "read_tokens": "int64",
    "read_is_counted": "bool",
    "predicted_tokens": "int64",
    "reusable_tokens": "int64",
    "lost_tokens": "int64",
    "usd": "float64",
    "reason": "string",
    "kind": "string",
    "detail": "string",
    "difference_token": "int64",
    "difference_section": "string",
}


def row_of(outcome: Outcome, usd: float | None) -> dict[str, Any]:
    """Return one row of the table."""
    request, diff = outcome.request, outcome.difference
    return {
        "file": request.file,
        "line": request.line,
        "time": request.time,
        "id": request.id,
        "provider": request.provider,
        "model": request.model,
        "session": request.session,
        "profile": outcome.profile,
        "input_tokens": request.input_tokens,
        "read_tokens": outcome.read,
        "read_is_counted": outcome.counted,
        "predicted_tokens": outcome.predicted,
        "reusable_tokens": outcome.reusable,
        "lost_tokens": outcome.lost,
        "usd": usd,
        "reason": outcome.reason.value,
        "kind": outcome.kind.value if outcome.kind else None,
        "detail": outcome.detail,
        "difference_token": diff.token if diff else None,
        "difference_section": diff.section.value if diff else None,
    }


def write_parquet(rows: list[dict[str, Any]], path: Path) -> None:
    """Write rows to a file, whole or not at all.

    Raises:
        UsageError: pyarrow is not installed.
        InputError: the file cannot be written.
    """
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise UsageError("parquet needs pyarrow", "install promptlint-cache[ray], or pyarrow") from None
    types = {
        "string": pyarrow.string(),
        "int64": pyarrow.int64(),
        "float64": pyarrow.float64(),
        "bool": pyarrow.bool_(),
    }
    schema = pyarrow.schema([(name, types[kind]) for name, kind in SCHEMA.items()])
    try:
        with replacing(path) as temporary:
            pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows, schema=schema), temporary)
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error}", "check folder and rights") from None
