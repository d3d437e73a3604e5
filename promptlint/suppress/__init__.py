"""Suppressions: comments in the checked files, and per-file ignores of the configuration."""

from promptlint.suppress.apply import UNUSED_CODE, apply, ignored_codes, matches
from promptlint.suppress.comments import Suppression, parse

__all__ = ["UNUSED_CODE", "Suppression", "apply", "ignored_codes", "matches", "parse"]
