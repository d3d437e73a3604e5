"""Logs that tests build in one line, and where the large public traces are."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def traces() -> Path:
    """Return the folder of the public traces with their expected values, or skip."""
    given = os.environ.get("PROMPTLINT_TRACES")
    folder = Path(given) if given else ROOT.parent / "shared" / "traces"
    if not (folder / "EXPECTED.json").is_file():
        pytest.skip(f"no public traces at {folder}; PROMPTLINT_TRACES names their folder")
    return folder


@pytest.fixture
def write_log(tmp_path: Path) -> Callable[..., Path]:
    """Return a function that writes JSON lines and gives their path."""

    def write(*rows: object, name: str = "log.jsonl") -> Path:
        path = tmp_path / name
        lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return path

    return write
