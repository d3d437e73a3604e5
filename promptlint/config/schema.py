"""The keys of the configuration and how each value is read."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from promptlint.layout import Kind, Scope

Reader = Callable[[tuple[str, ...], Any, Path], Any]

_CODE = re.compile(r"^(?:ALL|PL\d{0,3}|[a-z][a-z-]+)$")


class Invalid(Exception):
    """A value that does not fit; ``path`` is the key below ``[tool.promptlint]``."""

    def __init__(self, path: tuple[str, ...], why: str) -> None:
        super().__init__(why)
        self.path = path


def _text(path: tuple[str, ...], value: Any, root: Path) -> str:
    if not isinstance(value, str):
        raise Invalid(path, f"must be a string, not {_kind(value)}")
    return value


def _flag(path: tuple[str, ...], value: Any, root: Path) -> bool:
    if not isinstance(value, bool):
        raise Invalid(path, f"must be true or false, not {_kind(value)}")
    return value


def _count(path: tuple[str, ...], value: Any, root: Path) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise Invalid(path, f"must be a whole number of at least 0, not {value!r}")
    return value


def _texts(path: tuple[str, ...], value: Any, root: Path) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise Invalid(path, f"must be a list of strings, not {_kind(value)}")
    return tuple(value)


def _codes(path: tuple[str, ...], value: Any, root: Path) -> tuple[str, ...]:
    codes = _texts(path, value, root)
    for code in codes:
        if not _CODE.match(code):
            raise Invalid(path, f"{code!r} is not a rule code; write PL101, PL1, ALL or a rule's name")
    return codes


def _pair(path: tuple[str, ...], value: Any, root: Path) -> tuple[str, str]:
    if not isinstance(value, list) or len(value) != 2 or not all(isinstance(v, str) and v for v in value):
        raise Invalid(path, 'must be two strings, as in ["{{", "}}"]')
    return value[0], value[1]


def _path(path: tuple[str, ...], value: Any, root: Path) -> Path:
    return root / _text(path, value, root)


def _paths(path: tuple[str, ...], value: Any, root: Path) -> tuple[Path, ...]:
    return tuple(root / item for item in _texts(path, value, root))


def _ignores(path: tuple[str, ...], value: Any, root: Path) -> dict[str, tuple[str, ...]]:
    if not isinstance(value, dict):
        raise Invalid(path, "must be a table of globs to lists of codes")
    return {glob: _codes((*path, glob), codes, root) for glob, codes in value.items()}


def _scopes(path: tuple[str, ...], value: Any, root: Path) -> dict[str, str]:
    if not isinstance(value, dict):
        raise Invalid(path, "must be a table of variable names to scopes")
    scopes = [scope.value for scope in Scope if scope is not Scope.UNKNOWN]
    for name, text in value.items():
        scope, _, kind = (part.strip() for part in str(text).partition(","))
        if scope not in scopes:
            raise Invalid((*path, name), f"{scope!r} is not a scope; the scopes are {', '.join(scopes)}")
        if kind and kind not in list(Kind):
            raise Invalid((*path, name), f"{kind!r} is not a kind; the kinds are {', '.join(Kind)}")
    return {name: str(text) for name, text in value.items()}


def _kind(value: Any) -> str:
    words = {str: "a string", bool: "true or false", int: "a number", float: "a number", list: "a list"}
    return words.get(type(value), "a table" if isinstance(value, dict) else f"{value!r}")


KEYS: Mapping[str, Reader] = {
    "select": _codes,
    "extend-select": _codes,
    "ignore": _codes,
    "exclude": _texts,
    "extend-exclude": _texts,
    "include": _texts,
    "include-tests": _flag,
    "respect-gitignore": _flag,
    "per-file-ignores": _ignores,
    "profile": _text,
    "model": _text,
    "tokenizer": _text,
    "min-lost-tokens": _count,
    "max-file-size": _count,
    "scopes": _scopes,
    "catalogs": _paths,
    "baseline": _path,
    "jobs": _count,
    "cache": _flag,
    "cache-dir": _path,
}

JINJA_KEYS: Mapping[str, Reader] = {
    "block": _pair,
    "variable": _pair,
    "comment": _pair,
    "trimmed": _flag,
}
