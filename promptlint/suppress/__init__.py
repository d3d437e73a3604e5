"""Suppressions: comments in the checked files, and per-file ignores of the configuration."""

from promptlint.suppress.apply import UNUSED_CODE, UNUSED_NAME, apply, ignored_codes, matches
from promptlint.suppress.comments import Suppression, parse

__all__ = ["UNUSED_CODE", "UNUSED_NAME", "Suppression", "apply", "ignored_codes", "matches", "parse"]
