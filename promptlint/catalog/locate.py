"""Where the data lies: beside the package in a checkout, inside it when installed."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from promptlint.errors import CatalogError


@cache
def rules_root() -> Path:
    """Return the folder with the rule files, ``volatile/``, ``sinks/`` and ``profiles/``.

    Raises:
        CatalogError: neither place has it; the installation is damaged.
    """
    package = Path(__file__).resolve().parent.parent
    for folder in (package / "_rules", package.parent / "rules"):
        if folder.is_dir():
            return folder
    raise CatalogError(
        f"the rule data is missing: no {package / '_rules'}", "install promptlint-cache again, from a wheel"
    )


def data_files(folder: str, suffix: str = ".toml") -> list[Path]:
    """Return the files of one folder of the data, in the order of their names."""
    return sorted(path for path in (rules_root() / folder).iterdir() if path.suffix == suffix)


def own_files(extra: tuple[Path, ...]) -> list[Path]:
    """Return a user's own data files: each path is a TOML file, or a folder searched for them.

    Raises:
        CatalogError: a path does not exist.
    """
    found: list[Path] = []
    for path in extra:
        if path.is_dir():
            found.extend(sorted(path.rglob("*.toml")))
        elif path.is_file():
            found.append(path)
        else:
            raise CatalogError(
                f"{path.as_posix()}: no such catalogue file or folder",
                "correct `catalogs` in the configuration",
            )
    return found
