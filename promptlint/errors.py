"""Errors that end a run, each with its exit code and the next step for the reader."""

from __future__ import annotations

from typing import ClassVar


class PromptlintError(Exception):
    """Base of every error that is the user's to mend.

    ``str(error)`` is one sentence that names the file or option; ``next_step`` says what to do.
    """

    exit_code: ClassVar[int] = 2

    def __init__(self, message: str, next_step: str = "") -> None:
        super().__init__(message)
        self.next_step = next_step


class UsageError(PromptlintError):
    """An option, a path or a code that does not exist."""


class ConfigError(PromptlintError):
    """A key in the configuration that cannot be understood; the message names file, key and line."""


class CatalogError(PromptlintError):
    """A data file under ``rules/`` (or a user's own) that does not follow its schema."""


class NothingToCheckError(PromptlintError):
    """No file was found that promptlint reads."""

    exit_code: ClassVar[int] = 3


class InputError(PromptlintError):
    """One input file that cannot be read; the run goes on with the others."""
