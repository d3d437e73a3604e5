"""Reading a profile or a model row from a TOML table, with one clear error for each mistake."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import fields
from datetime import date
from typing import Any

from promptlint.catalog.profile import Granularity, ModelRow, Profile, TtlKind
from promptlint.errors import CatalogError


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("a string")
    return value


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise TypeError("true or false")
    return value


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
        raise TypeError("a number that is not negative")
    return float(value)


def _count(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise TypeError(
            "a whole number that is not negative; leave the field out where nothing is documented"
        )
    return value


def _day(value: object) -> date:
    if not isinstance(value, date):
        raise TypeError("a date such as 2026-11-29")
    return value


def _many(item: Callable[[object], Any]) -> Callable[[object], Any]:
    def convert(value: object) -> tuple[Any, ...]:
        if not isinstance(value, list):
            raise TypeError("a list")
        return tuple(item(one) for one in value)

    return convert


def _table(item: Callable[[object], Any]) -> Callable[[object], Any]:
    def convert(value: object) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise TypeError("a table")
        return {key: item(one) for key, one in value.items()}

    return convert


_CONVERT: Mapping[str, Callable[[object], object]] = {
    "str": _text,
    "bool": _flag,
    "int | None": _count,
    "float | None": _number,
    "date | None": _day,
    "tuple[str, ...]": _many(_text),
    "tuple[int, ...]": _many(_count),
    "Mapping[str, str]": _table(_text),
    "Mapping[str, int]": _table(_count),
    "Mapping[str, float]": _table(_number),
    "Mapping[str, tuple[str, ...]]": _table(_many(_text)),
    "Mapping[str, Mapping[str, str]]": _table(_table(_text)),
    "Granularity": lambda value: Granularity(_text(value)),
    "TtlKind": lambda value: TtlKind(_text(value)),
}
_DERIVED = frozenset(("extras", "models", "model"))


def _fields(kind: type[Profile | ModelRow], table: Mapping[str, Any], path: str) -> dict[str, Any]:
    """Convert the keys of a table that are fields of a class; raise `CatalogError` for a wrong value."""
    found: dict[str, Any] = {}
    for entry in fields(kind):
        if entry.name in table and entry.name not in _DERIVED:
            try:
                found[entry.name] = _CONVERT[str(entry.type)](table[entry.name])
            except (TypeError, ValueError) as error:
                title = table.get("name") or table.get("profile") or "?"
                raise CatalogError(
                    f"{path}: `{entry.name}` of {title!r}: {error}",
                    "see docs/caches.md for the form of a profile",
                ) from None
    return found


def read_profile(table: Mapping[str, Any], path: str, rows: tuple[ModelRow, ...] = ()) -> Profile:
    """Make a profile of a TOML table whose ``inherits`` has been resolved.

    Raises:
        CatalogError: a required field is missing, a value has the wrong type, or a key looks misspelt.
    """
    known = {entry.name for entry in fields(Profile)} - _DERIVED
    for required in ("name", "provider", "title", "source", "granularity"):
        if required not in table:
            raise CatalogError(
                f"{path}: profile {table.get('name', '?')!r} has no `{required}`",
                "add it, or `inherits` from a profile that has it",
            )
    extras = {key: value for key, value in table.items() if key not in known and key != "inherits"}
    for key in extras:
        if close := difflib.get_close_matches(key, known, 1, 0.9):
            raise CatalogError(f"{path}: unknown field `{key}`", f"did you mean `{close[0]}`?")
    return Profile(**_fields(Profile, table, path), extras=extras, models=rows)


def read_row(table: Mapping[str, Any], path: str) -> ModelRow:
    """Make a model row of a TOML table.

    Raises:
        CatalogError: a required field is missing, unknown or of the wrong type.
    """
    known = {entry.name for entry in fields(ModelRow)}
    if missing := {"profile", "match", "source"} - table.keys():
        raise CatalogError(f"{path}: a [[model]] row has no `{min(missing)}`", "add it")
    if unknown := table.keys() - known:
        raise CatalogError(f"{path}: a [[model]] row has an unknown key `{min(unknown)}`", "remove it")
    return ModelRow(**_fields(ModelRow, table, path))
