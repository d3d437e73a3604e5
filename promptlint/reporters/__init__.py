"""Reporters: a report in, text out. They compute nothing that a check could have said."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from promptlint.report import Report
from promptlint.reporters.options import Options

FORMATS = ("text", "concise", "json", "sarif", "github", "junit")

__all__ = ["FORMATS", "Options", "render"]


def render(report: Report, format: str, options: Options | None = None) -> str:
    """Return a report in one of `FORMATS`, ending in a newline unless it is empty."""
    module = import_module(f"promptlint.reporters.{format}")
    write: Callable[[Report, Options], str] = module.render
    return write(report, options or Options())
