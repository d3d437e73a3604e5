"""The data under rules/ as typed tables: the only code that reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from promptlint.catalog.catalog import Catalog as Catalog


def __getattr__(name: str) -> Any:
    # The profiles live in this package too; whoever wants only them pays for nothing else.
    if name == "Catalog":
        from promptlint.catalog.catalog import Catalog

        return Catalog
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
