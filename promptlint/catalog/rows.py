"""Rows of the TOML data, checked against their schema.

One file may hold any of the tables ``calls``, ``values``, ``names``, ``globals``, ``filters``, ``literals``
and ``sink``, so that a user's own file needs no further parts. Every complaint names file, row and key.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar

from promptlint.catalog.model import CARRIES, RETURNS, Sink, Volatile
from promptlint.errors import CatalogError
from promptlint.layout import Confidence, Kind, Scope

TABLES = ("calls", "values", "names", "globals", "filters", "literals", "sink")
PROFILE_TABLES = ("profile", "model", "select")  # may stand in the same file; read elsewhere
WORD_LISTS = (
    "before",
    "after",
    "veto",
    "carriers",
    "stable",
    "stable_owners",
    "attributes",
    "chosen",
    "settings",
    "moments",
    "samples",
    "fixed",
)
VARIANTS = ("", "set", "listing", "shuffle", "completion", "repr", "fetched", "whole-path")
DIALECTS = ("", "f-string", "jinja", "mustache", "$", "percent")
_PLACE = re.compile(r"[A-Za-z_]\w*|\d+|\*|\*\*")
_E = TypeVar("_E", bound=StrEnum)


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a file, for reading its keys with good complaints."""

    where: str  # "volatile/clock.toml: calls 3"
    data: Mapping[str, Any]
    file: str

    def fail(self, key: str, problem: str) -> CatalogError:
        """Return the error to raise about one key."""
        return CatalogError(f"{self.where}: `{key}` {problem}", "see docs/catalogue.md for the form of a row")

    def text(self, key: str, default: str | None = None) -> str:
        """Return a string."""
        value = self.data.get(key, default)
        if not isinstance(value, str) or (default is None and not value):
            raise self.fail(key, "must be a string" if key in self.data else "is missing")
        return value

    def strings(self, key: str) -> list[str]:
        """Return a list of at least one string."""
        value = self.data.get(key)
        if not isinstance(value, list) or not value or not all(isinstance(v, str) and v for v in value):
            raise self.fail(key, "must be a list of strings" if key in self.data else "is missing")
        return value

    def choice(self, key: str, kind: type[_E], default: _E | None = None) -> _E:
        """Return a member of an enumeration."""
        text = self.text(key, None if default is None else default.value)
        try:
            return kind(text)
        except ValueError:
            raise self.fail(key, f"is {text!r}, not one of {', '.join(kind)}") from None

    def among(self, key: str, allowed: tuple[str, ...]) -> str:
        """Return a string out of a fixed set whose first member is the default."""
        text = self.text(key, allowed[0])
        if text not in allowed:
            raise self.fail(key, f"is {text!r}, not one of {', '.join(a or '(empty)' for a in allowed)}")
        return text

    def only(self, *keys: str) -> None:
        """Refuse keys that nobody reads: mostly a spelling mistake."""
        for key in self.data:
            if key not in keys:
                raise self.fail(key, f"is not a key of this table; known: {', '.join(keys)}")


def words(row: Row, key: str) -> list[str]:
    """Return one of `WORD_LISTS`: names are read as lower-case words, and nothing else can match one."""
    found = row.strings(key)
    for phrase in found:
        if not phrase.split() or not all(word.isalnum() and word == word.lower() for word in phrase.split()):
            raise row.fail(key, f"holds {phrase!r}: write lower-case words with spaces between them")
    return found


def read_toml(path: Path, shown: str) -> dict[str, Any]:
    """Parse one data file.

    Raises:
        CatalogError: it cannot be read or is not TOML.
    """
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise CatalogError(f"{shown}: cannot be read: {error}", "save it as UTF-8") from None
    except (ValueError, RecursionError) as error:  # besides broken TOML: endless numbers and nesting
        raise CatalogError(f"{shown}: not TOML: {error}", "correct the line it names") from None


def rows(data: Mapping[str, Any], table: str, shown: str) -> Iterator[Row]:
    """Yield the rows of one table of a file."""
    entries = data.get(table, [])
    if not isinstance(entries, list):
        raise CatalogError(f"{shown}: `{table}` must be a table array", f"write [[{table}]]")
    for number, entry in enumerate(entries, 1):
        if not isinstance(entry, dict):
            raise CatalogError(f"{shown}: `{table}` must be a table array", f"write [[{table}]]")
        yield Row(f"{shown}: {table} {number}", entry, shown)


def check_tables(data: Mapping[str, Any], shown: str) -> None:
    """Refuse a file with tables that nobody reads."""
    for key in data:
        if key not in (*TABLES, *WORD_LISTS, *PROFILE_TABLES):
            known = ", ".join(TABLES)
            raise CatalogError(f"{shown}: `{key}` is not a table of the catalogue", f"known tables: {known}")


def volatile(row: Row, default: Confidence = Confidence.HIGH) -> Volatile:
    """Read what a row says about a value; ``default`` is the confidence of its table."""
    row.only("kind", "scope", "confidence", "variant", "source", "match", "pattern", "trigger")
    return Volatile(
        row.choice("kind", Kind),
        row.choice("scope", Scope),
        row.choice("confidence", Confidence, default),
        row.text("source"),
        row.among("variant", VARIANTS),
        row.file,
    )


def sinks(row: Row) -> Iterator[Sink]:
    """Read the sinks of a row: one for each of its patterns."""
    row.only(
        "match", "arguments", "provider", "surface", "role", "returns", "dialect", "loose", "source",
    )  # fmt: skip
    arguments = row.data.get("arguments")
    if not isinstance(arguments, dict) or not arguments:
        raise row.fail("arguments", "must be a table of what each argument carries")
    for place, carries in arguments.items():
        if not _PLACE.fullmatch(place):
            raise row.fail("arguments", f"has {place!r}, neither a keyword nor a position")
        if carries not in CARRIES:
            raise row.fail("arguments", f"has {carries!r} for {place}, not one of {', '.join(CARRIES)}")
    loose = row.data.get("loose", False)
    if not isinstance(loose, bool):
        raise row.fail("loose", "must be true or false")
    for pattern in row.strings("match"):
        yield Sink(
            pattern,
            dict(arguments),
            row.text("provider", ""),
            row.text("surface", ""),
            row.text("role", ""),
            row.among("returns", RETURNS),
            row.among("dialect", DIALECTS),
            loose,
            row.text("source"),
            row.file,
        )
