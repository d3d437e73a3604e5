"""What comes in by `-`: its text, under a name whose ending says how it is read."""

from __future__ import annotations

import ast
import json
import os
import re
import sys
import warnings
from pathlib import Path

from promptlint.source import SourceFile, decode

_WORDS = {".py": "Python", ".json": "JSON", ".jinja": "a Jinja template"}
_STATEMENT = re.compile(r"(?:from [\w.]+ import |import [\w.]+|(?:async )?def \w+\(|class \w+[(:]|@\w)")
_CODE = (
    *(ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Assign),
    *(ast.If, ast.For, ast.With, ast.Try),
)
"""Statements of programs. Names and annotations alone may be words, and `role: user` is YAML."""


def read_stdin(filename: str | None) -> tuple[SourceFile, str]:
    """Read standard input; with it comes what was assumed of it, "" where ``filename`` says what it is.

    Raises:
        InputError: it is binary.
    """
    data = sys.stdin.buffer.read()
    if filename:
        return decode(data, _shown(filename)), ""
    ending = guessed(decode(data, "stdin").text)
    return decode(data, f"stdin{ending}"), f"standard input is read as {_WORDS[ending]}"


def _shown(filename: str) -> str:
    """Return a name as reports and imports know the file: relative to the working folder."""
    return os.path.relpath(filename) if Path(filename).is_relative_to(Path.cwd()) else filename


def guessed(text: str) -> str:
    """Return the ending that fits a text: ``.py``, ``.json`` or, as for any other text, ``.jinja``."""
    if text.lstrip()[:1] in ("{", "[") and _is_json(text):
        return ".json"
    return ".py" if _is_python(text) else ".jinja"


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _is_python(text: str) -> bool:
    """Tell whether a text is a program; one that is just being typed is known by its first line."""
    lines = (line for line in text.splitlines() if line.strip() and not line.startswith("#"))
    if _STATEMENT.match(next(lines, "")):
        return True
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of odd escapes, for example
            body = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return any(isinstance(statement, _CODE) for statement in body)
