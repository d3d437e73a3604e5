"""Finding a cache profile by its name, or by the provider and model of a request.

Looking up one profile parses the index and the one file that holds it; everything is parsed only for
`load_profiles`. A user's own files come first: a profile of a known name changes the fields it names, a new
name adds a profile, ``[[model]]`` and ``[[select]]`` rows stand before ours.
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

from promptlint.catalog.locate import rules_root
from promptlint.catalog.profile import ModelRow, Profile, plain_model
from promptlint.catalog.profile_reader import read_profile, read_row
from promptlint.errors import CatalogError

DEFAULT_PROFILE = "vllm"
_GRADES = {
    "D": "vendor document",
    "S": "SDK or engine source",
    "T": "third party",
    "M": "third-party measurement",
    "U": "not verified",
}


@dataclass(frozen=True, slots=True)
class Source:
    """Where a figure was read: title, address and the day of the copy."""

    code: str
    title: str
    seen: str
    address: str = ""


@cache
def _parse(path: Path) -> Mapping[str, Any]:
    """Parse one TOML file, once.

    Raises:
        CatalogError: it cannot be read or is not TOML.
    """
    try:
        with path.open("rb") as file:
            return tomllib.load(file)
    except OSError as error:
        raise CatalogError(f"{path}: {error.strerror or error}", "check the path and rights") from None
    except (
        ValueError,
        RecursionError,
    ) as error:  # besides broken TOML: encodings, endless numbers and nesting
        raise CatalogError(f"{path}: {error}", "correct the TOML syntax") from None


def _folder() -> Path:
    return rules_root() / "profiles"


@cache
def sources() -> Mapping[str, Source]:
    """Return every source by its code."""
    table = _parse(_folder() / "sources.toml")
    return {code: Source(code, **row) for code, row in table.items()}


def describe_source(citation: str) -> str:
    """Spell out ``CODE:GRADE``, or several joined by ``+``, with title and date.

    >>> describe_source("VLLM:S")
    'vllm 0.33.0, read as source (SDK or engine source, seen 2026-11-29)'
    """
    said = []
    for one in citation.split("+"):
        code, _, grade = one.partition(":")
        source = sources().get(code)
        title, seen = (source.title, f", seen {source.seen}") if source else (code, "")
        said.append(f"{title} ({_GRADES.get(grade, grade or 'own file')}{seen})")
    return "; ".join(said)


class ProfileCatalog:
    """Our profiles with a user's own files before them."""

    def __init__(self, extra: tuple[Path, ...] = ()) -> None:
        self._extra = extra
        self._done: dict[str, Profile] = {}

    @property
    def names(self) -> tuple[str, ...]:
        """Return every profile's name, ours first, in the order of the index."""
        ours = [name for held in self._index["files"].values() for name in held]
        own = [
            table["name"] for path in self._extra for table in self._own(path, "profile") if "name" in table
        ]
        return tuple(dict.fromkeys([*ours, *own]))

    @property
    def _index(self) -> Mapping[str, Any]:
        return _parse(_folder() / "index.toml")

    def _own(self, path: Path, key: str) -> list[dict[str, Any]]:
        tables = _parse(path).get(key, [])
        if not isinstance(tables, list):
            raise CatalogError(f"{path}: `{key}` is not a list of tables", f"write [[{key}]]")
        return tables

    def _file_of(self, name: str) -> Path | None:
        """Return our file that holds a profile: the one with its name, or the one the index tells."""
        if (direct := _folder() / f"{name}.toml").is_file() and name not in ("index", "sources"):
            return direct
        for stem, held in self._index["files"].items():
            if name in held:
                return _folder() / f"{stem}.toml"
        return None

    def _tables(self, name: str) -> list[tuple[Path, dict[str, Any]]]:
        """Return every table that speaks of a profile: a user's own, last file first, then ours."""
        found = [
            (path, table)
            for path in reversed(self._extra)
            for table in self._own(path, "profile")
            if table.get("name") == name
        ]
        if home := self._file_of(name):
            found += [(home, table) for table in self._own(home, "profile") if table["name"] == name]
        if not found:
            close = difflib.get_close_matches(name, self.names, 3, 0.5)
            hint = f"did you mean {', '.join(close)}?" if close else "`promptlint profiles` lists them"
            raise CatalogError(f"unknown cache profile {name!r}", hint)
        return found

    def _merged(self, name: str, seen: tuple[str, ...] = ()) -> tuple[dict[str, Any], tuple[str, ...], Path]:
        """Return a profile's table with everything it inherits, the names it comes from, and its file."""
        if name in seen:
            raise CatalogError(f"profile {name!r} inherits from itself", "break the circle of `inherits`")
        tables = self._tables(name)
        merged: dict[str, Any] = {}
        line: tuple[str, ...] = (name,)
        for _, table in reversed(tables):
            if "inherits" in table and table["inherits"] != name:
                base, above, _ = self._merged(table["inherits"], (*seen, name))
                # A figure of the base that this profile does not set keeps its own source.
                base["provenance"] = {
                    key: base["provenance"].get(key, base["source"])
                    for key in base
                    if key
                    not in ("name", "title", "provider", "source", "provenance", "survives", "uncertain")
                }
                merged, line = base, (name, *above)
            own_provenance = table.get("provenance", {})
            for key, value in table.items():
                if key in ("survives", "uncertain", "usage") and isinstance(merged.get(key), dict):
                    merged[key] = {**merged[key], **value} if key != "usage" else value
                elif key != "provenance":
                    merged[key] = value
            kept = {key: said for key, said in merged.get("provenance", {}).items() if key not in table}
            merged["provenance"] = {**kept, **own_provenance}
        return merged, line, tables[0][0]

    def _rows(self, line: tuple[str, ...]) -> tuple[ModelRow, ...]:
        """Return the model rows of a profile and of those it inherits from, nearest first."""
        rows = []
        for name in line:
            home = self._file_of(name)
            for path in [*reversed(self._extra), *([home] if home else [])]:
                rows += [read_row(t, str(path)) for t in self._own(path, "model") if t.get("profile") == name]
        return tuple(rows)

    def get(self, name: str) -> Profile:
        """Return one profile.

        Raises:
            CatalogError: there is none of that name, or its file does not follow the schema.
        """
        if name not in self._done:
            merged, line, path = self._merged(name)
            self._done[name] = read_profile(merged, str(path), self._rows(line))
        return self._done[name]

    def find(self, provider: str, model: str = "", on: date | None = None) -> Profile | None:
        """Return the rules for a request, the model's own applied, or None where nothing fits.

        A model name with a prefix (``bedrock/us.anthropic.claude-…``) tells its provider itself.
        """
        wanted, plain = self._provider(provider, model), plain_model(model)
        own = [row for path in reversed(self._extra) for row in self._own(path, "select")]
        rows = [*own, *self._index["select"]]
        named = [row for row in rows if row.get("provider") == wanted]
        if wanted == "openai":  # its client speaks to many others
            named = [row for row in rows if "provider" not in row] + named
        elif not named and wanted in self.names:  # "vllm", "sglang", …: the provider is the profile
            return self.get(wanted).for_model(model, on)
        for row in named or [row for row in rows if "provider" not in row]:
            if any(fnmatchcase(plain, pattern) for pattern in row["match"]):
                return self.get(row["profile"]).for_model(model, on) if row["profile"] else None
        return None

    def _provider(self, provider: str, model: str) -> str:
        """Return the index's word for a provider; the prefix of the model name wins over a gateway's."""
        said = provider.lower()
        if said in ("", "litellm", "openrouter"):
            prefixes = [
                part for part in model.lower().split("/")[:-1] if part not in ("litellm", "openrouter")
            ]
            said = prefixes[0] if prefixes else said
        for word, aliases in self._index["aliases"].items():
            if said in aliases:
                return str(word)
        return said


@cache
def profile_catalog(extra: tuple[Path, ...] = ()) -> ProfileCatalog:
    """Return the catalogue for a set of user files, made once."""
    return ProfileCatalog(extra)


def load_profiles(extra: Sequence[Path] = ()) -> Mapping[str, Profile]:
    """Parse and return all profiles by name; ``extra`` are a user's own files."""
    catalog = profile_catalog(tuple(extra))
    return {name: catalog.get(name) for name in catalog.names}


def get_profile(name: str, extra: Sequence[Path] = ()) -> Profile:
    """Return one profile by name, parsing no other file than its own and the index.

    Raises:
        CatalogError: there is none of that name.
    """
    return profile_catalog(tuple(extra)).get(name)


def profile_for(
    provider: str, model: str = "", extra: Sequence[Path] = (), on: date | None = None
) -> Profile | None:
    """Return the rules that a provider applies to a model, or None where none are known."""
    return profile_catalog(tuple(extra)).find(provider, model, on)
