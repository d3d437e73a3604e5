"""Finding and reading the configuration file."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from promptlint.config.lines import line_of
from promptlint.config.model import Config, Jinja
from promptlint.config.schema import JINJA_KEYS, KEYS, Invalid, Reader
from promptlint.errors import ConfigError

NAMES = ("promptlint.toml", ".promptlint.toml", "pyproject.toml")
_SECTION = ("tool", "promptlint")


def find(start: Path) -> Path | None:
    """Return the nearest configuration at or above a folder.

    A pyproject.toml counts only if it has a ``[tool.promptlint]`` table. The search ends at a folder
    that holds ``.git``.
    """
    for folder in (start, *start.parents):
        for name in NAMES:
            path = folder / name
            if path.is_file() and (name != "pyproject.toml" or _has_section(path)):
                return path
        if (folder / ".git").exists():
            break
    return None


def _has_section(path: Path) -> bool:
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    if "promptlint" not in text:
        return False
    try:
        return "promptlint" in tomllib.loads(text).get("tool", {})
    except (ValueError, RecursionError, AttributeError, TypeError):
        return "[tool.promptlint" in text  # `load` says what is wrong with it


def load(path: Path) -> Config:
    """Read one configuration file.

    Raises:
        ConfigError: the file cannot be read, or a key is unknown or has a wrong value; the message
            names file, line and key.
    """
    try:
        text = path.read_text(encoding="utf-8")
        data = tomllib.loads(text)
    except OSError as error:
        raise ConfigError(
            f"{path}: {error.strerror or error}", "check the path given with --config"
        ) from None
    except UnicodeDecodeError:
        raise ConfigError(f"{path}: not valid UTF-8", "save it as UTF-8") from None
    except RecursionError:
        raise ConfigError(f"{path}: nested too deeply", "mend the syntax") from None
    except ValueError as error:  # of numbers with thousands of digits, too
        raise ConfigError(f"{path}: not valid TOML: {error}", "mend the syntax") from None
    prefix: tuple[str, ...] = ()
    if path.name == "pyproject.toml":
        prefix = _SECTION
        tool = data.get("tool", {})
        data = tool.get("promptlint", {}) if isinstance(tool, dict) else {}
        if not isinstance(data, dict):
            raise _error(path, text, prefix, Invalid((), "must be a table"))
    elif isinstance(tool := data.get("tool"), dict) and "promptlint" in tool:
        why = f"belongs in pyproject.toml; in {path.name} the same keys stand without `tool.promptlint`"
        raise _error(path, text, (), Invalid(_SECTION, why))
    config = Config(root=path.parent, source=path)
    try:
        return replace(config, **_read_table(data, {**KEYS, "jinja": _jinja}, (), path.parent))
    except Invalid as fault:
        raise _error(path, text, prefix, fault) from None


def _read_table(
    data: Mapping[str, Any], keys: Mapping[str, Reader], path: tuple[str, ...], root: Path
) -> dict[str, Any]:
    """Turn a table into keyword arguments of `Config` or `Jinja`."""
    settings: dict[str, Any] = {}
    for key, value in data.items():
        reader = keys.get(key)
        if reader is None:
            close = get_close_matches(key.replace("_", "-"), keys, 1)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            raise Invalid((*path, key), f"unknown key{hint}")
        settings[key.replace("-", "_")] = reader((*path, key), value, root)
    return settings


def _jinja(path: tuple[str, ...], value: Any, root: Path) -> Jinja:
    if not isinstance(value, dict):
        raise Invalid(path, "must be a table")
    jinja = Jinja(**_read_table(value, JINJA_KEYS, path, root))
    starts = {"block": jinja.block[0], "variable": jinja.variable[0], "comment": jinja.comment[0]}
    for key, start in starts.items():
        if list(starts.values()).count(start) > 1:
            raise Invalid((*path, key), f"another mark begins with {start!r}, too")
    return jinja


def _error(path: Path, text: str, prefix: tuple[str, ...], fault: Invalid) -> ConfigError:
    full = (*prefix, *fault.path)
    return ConfigError(
        f"{path}:{line_of(text, full)}: {'.'.join(full)}: {fault}",
        "see docs/configuration.md for the keys and their values",
    )
