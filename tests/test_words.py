"""Counted nouns, and that no message spells its own."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from promptlint.words import counted, shortened

_ROOT = Path(__file__).parent.parent
_NOUNS = "tokens|blocks|files|lines|requests|findings|marks|messages|conversations|duplicates|holes|layers|replicas|modules|threads|errors|rows|prompts"
_BARE = re.compile(rf" (?:(?!in |of )[a-z]+ )?(?:{_NOUNS})\b")
_SIZES = re.compile(
    r"other\b|vocab|[A-Z_]{3,}|block_tokens|below_minimum|above_prompt|kv_bytes|\bsizes?\b|_percent|\btokens\[code\]"
)
"""What is never one: limits, minimums, sizes of blocks, shares."""


def test_counted() -> None:
    assert counted(1, "token") == "1 token"
    assert counted(0, "token") == "0 tokens"
    assert counted(1204, "input token") == "1,204 input tokens"
    assert counted(1, "prefix", "prefixes") == "1 prefix"
    assert counted(2, "prefix", "prefixes") == "2 prefixes"


def test_no_message_counts_by_itself() -> None:
    found = []
    for file in (*_ROOT.glob("promptlint/**/*.py"), *_ROOT.glob("runtime/**/*.py")):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if not isinstance(node, ast.JoinedStr):
                continue
            for value, text in zip(node.values, node.values[1:], strict=False):
                if (
                    isinstance(value, ast.FormattedValue)
                    and isinstance(text, ast.Constant)
                    and _BARE.match(text.value)
                ):
                    what = ast.unparse(value.value)
                    if not _SIZES.search(what) and "counted" not in what:
                        found.append(f"{file.name}:{node.lineno}: {what}{text.value[:30]!r}")
    assert not found, "\n".join(["use promptlint.words.counted:", *found])


def test_shortened() -> None:
    assert shortened("a  +\tb") == "a + b"
    assert shortened("f(x)  # why") == "f(x) # why"  # within one line it may be text
    assert shortened("run(  # noqa: S603\n    cmd,\n    cwd=here,\n)") == "run(cmd, cwd=here,)"
    assert shortened("x" * 70) == "x" * 59 + "…"
