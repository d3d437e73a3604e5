from __future__ import annotations

from collections.abc import Callable

import pytest

from promptlint.findings import Finding, Status
from promptlint.fixes.apply import plan
from promptlint.source import SourceFile
from promptlint.suppress import apply, ignored_codes, matches, parse

Make = Callable[..., Finding]


def run(make: Make, text: str, at: int | None = None, in_force: bool = True) -> list[tuple[str, str, str]]:
    source = SourceFile("a.py", text)
    findings = [] if at is None else [make(source, at, at + 1)]
    marked = apply(findings, {"a.py": parse(source)}, {"a.py": source}.get, lambda code: in_force)
    return [(f.code, f.status.value, f.reason or f.message) for f in marked]


def test_used_with_reason(make_finding: Make) -> None:
    assert run(make_finding, "x  # promptlint: ignore[PL101] fine\n", 0) == [("PL101", "suppressed", "fine")]


def test_prefix_and_name_select(make_finding: Make) -> None:
    for codes in ("PL1", "clock-before-stable", "ALL", "pl101"):
        assert run(make_finding, f"x  # promptlint: ignore[{codes}]\n", 0)[0][1] == Status.SUPPRESSED


def test_half_used(make_finding: Make) -> None:
    first, second = run(make_finding, "x  # promptlint: ignore[PL101, PL105]\n", 0)
    assert first[1] == "suppressed"
    assert second == ("PL902", "active", "suppression without effect: no finding of PL105 here")


@pytest.mark.parametrize("word", ["disable", "noqa", "ignore-line", "ignore_next_line", "skip-file"])
def test_words_of_other_tools_are_said(make_finding: Make, word: str) -> None:
    first, second = run(make_finding, f"x  # promptlint: {word}=PL101\n", 0)
    assert first[:2] == ("PL101", "active")
    assert second == ("PL902", "active", f"suppression without effect: `{word}` is no word of ours")
    source = SourceFile("a.py", f"# promptlint: {word}\n")
    [said] = apply([], {"a.py": parse(source)}, {"a.py": source}.get, lambda code: True)
    assert said.fix is not None
    assert said.fix.edits == ()  # `fix` keeps what was meant
    assert parse(SourceFile("a.py", "# promptlint: see the manual\n")) == []
    assert parse(SourceFile("a.j2", "{# promptlint: module rules #}\n")) == []


def test_other_line_does_not_count(make_finding: Make) -> None:
    first, second = run(make_finding, "x\ny  # promptlint: ignore\n", 0)
    assert first[:2] == ("PL101", "active")
    assert second == ("PL902", "active", "suppression without effect: no finding here")


def test_codes_not_in_force_are_not_called_unused(make_finding: Make) -> None:
    assert run(make_finding, "x  # promptlint: ignore[PL105]\n", in_force=False) == []


def test_selectors() -> None:
    assert matches("PL1", "PL101", "n")
    assert not matches("PL2", "PL101", "n")
    assert not matches("clock", "PL101", "clock-before-stable")


def test_per_file_ignores_are_globs() -> None:
    ignores = {"old/**": ("PL1",), "*.md": ("PL2",), "/top.j2": ("PL3",)}
    assert ignored_codes("old/a/b.md", ignores) == ("PL1", "PL2")
    assert ignored_codes("top.j2", ignores) == ("PL3",)
    assert ignored_codes("a/top.j2", ignores) == ()


@pytest.mark.parametrize(
    ("text", "mended"),
    [
        ("x = 1  # promptlint: ignore[PL105] why\ny\n", "x = 1\ny\n"),
        ("a\n    # promptlint: ignore-next-line\nb\n", "a\nb\n"),
        ("# promptlint: ignore-file", ""),
        ("x  # promptlint: ignore[PL101, PL105] why\n", "x  # promptlint: ignore[PL101] why\n"),
    ],
)
def test_unused_ones_can_be_removed(make_finding: Make, text: str, mended: str) -> None:
    source = SourceFile("a.py", text)
    findings = [make_finding(source, 0, 1)] if "PL101" in text else []
    marked = apply(findings, {"a.py": parse(source)}, {"a.py": source}.get, lambda code: True)
    unused = [f for f in marked if f.code == "PL902"]
    assert plan(unused, {"a.py": source}.get).texts == {"a.py": mended}
