"""The table ``rules/tokenizers.toml``: encodings, and which model uses which."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from typing import Any

from promptlint.catalog.locate import rules_root
from promptlint.catalog.profile import plain_model
from promptlint.errors import CatalogError


@dataclass(frozen=True, slots=True)
class EncodingRow:
    """A known encoding: its pattern, the hash of its vocabulary, its name in tiktoken's cache."""

    name: str
    pattern: str
    sha256: str
    cache: str


@dataclass(frozen=True, slots=True)
class Choice:
    """How to count for a model: by an encoding, or by the factor of a family.

    ``exact`` names the family's vocabulary in an optional package; empty where there is none.
    """

    encoding: str = ""
    family: str = ""
    factor: float = 1.0
    exact: str = ""


@cache
def _table() -> dict[str, Any]:
    path = rules_root() / "tokenizers.toml"
    try:
        with path.open("rb") as file:
            return tomllib.load(file)
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise CatalogError(f"{path}: {error}", "install promptlint-cache again") from None


@cache
def encodings() -> dict[str, EncodingRow]:
    """Return the known encodings by name."""
    return {
        name: EncodingRow(name, row["pattern"], row["sha256"], row["cache"])
        for name, row in _table()["encodings"].items()
    }


@cache
def probe(name: str) -> tuple[int, ...]:
    """Return the ids that a vocabulary gives for `probe_text`; empty where they are not known."""
    return tuple(_table()["probe"].get(name, ()))


def probe_text() -> str:
    """Return the text whose ids prove that another implementation has the same vocabulary and rules."""
    text: str = _table()["probe"]["text"]
    return text


@cache
def choose(model: str) -> Choice | None:
    """Return how to count for a model name, or None for one that no row fits."""
    plain = plain_model(model)
    for row in _table()["model"]:
        if any(fnmatchcase(plain, pattern) for pattern in row["match"]):
            family = row.get("family", "")
            known = _table()["family"].get(family, {})
            return Choice(row.get("encoding", ""), family, known.get("factor", 1.0), known.get("exact", ""))
    return None
