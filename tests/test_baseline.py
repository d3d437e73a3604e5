from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptlint.baseline import Baseline, update
from promptlint.errors import InputError, UsageError
from promptlint.findings import Finding, Status
from promptlint.report import fingerprint
from promptlint.source import SourceFile


def every(code: str, path: str) -> bool:
    return True


Make = Callable[..., Finding]
LINES = st.lists(st.text(alphabet="ab {}", max_size=8), max_size=6)


def at_line(make: Make, text: str, line: int, path: str = "a.j2") -> tuple[Finding, SourceFile]:
    source = SourceFile(path, text)
    start = source.line_starts[line]
    return make(source, start, start + len(source.line_text(line + 1)), prompt="p"), source


@given(before=LINES, after=LINES, moved=LINES, indent=st.integers(0, 4))
def test_fingerprints_survive_moved_and_indented_lines(
    make_finding: Make, before: list[str], after: list[str], moved: list[str], indent: int
) -> None:
    one = at_line(make_finding, "\n".join([*before, "It is {{ now() }}", *after]), len(before))
    two = at_line(
        make_finding, "\n".join([*moved, " " * indent + "It is  {{ now() }}", *after]), len(moved), "b.j2"
    )
    assert fingerprint(*one) == fingerprint(*two)


@given(text=st.text(min_size=1, max_size=20).filter(lambda t: t.split() and t.split() != ["x"]))
def test_fingerprints_change_with_the_text(make_finding: Make, text: str) -> None:
    line = " ".join(text.replace("\r", " ").split())
    one, two = at_line(make_finding, "x", 0), at_line(make_finding, line, 0)
    assert fingerprint(*one) != fingerprint(*two)


@given(old=st.lists(st.sampled_from("abc"), max_size=6), new=st.lists(st.sampled_from("abc"), max_size=6))
def test_only_as_many_as_were_accepted(make_finding: Make, old: list[str], new: list[str]) -> None:
    def all_of(names: list[str]) -> tuple[list[Finding], dict[str, SourceFile]]:
        pairs = [at_line(make_finding, name, 0, f"{n}.j2") for n, name in enumerate(names)]
        return [f for f, _ in pairs], {s.path: s for _, s in pairs}

    findings, sources = all_of(old)
    baseline = Baseline.of(findings, sources.get)
    findings, sources = all_of(new)
    marked, gone = baseline.apply(findings, sources.get, every)
    for name in "abc":
        hits = [f for f, n in zip(marked, new, strict=True) if n == name and f.status is Status.BASELINED]
        assert len(hits) == min(old.count(name), new.count(name))
    assert gone == sum(max(0, old.count(n) - new.count(n)) for n in "abc")


def test_round_trip_and_growth(make_finding: Make, tmp_path: Path) -> None:
    finding, source = at_line(make_finding, "x", 0)
    other, second = at_line(make_finding, "y", 0, "b.j2")
    load = {"a.j2": source, "b.j2": second}.get
    path = tmp_path / "base.json"
    path.write_text(update(path, [finding, other], load, every, allow_growth=False).dump())
    assert Baseline.read(path).counts == Baseline.of([other, finding], load).counts
    path.write_text(update(path, [finding], load, every, allow_growth=False).dump())  # shrinks
    with pytest.raises(UsageError, match=r"would grow by 1: PL101 b\.j2"):
        update(path, [finding, other], load, every, allow_growth=False)
    assert update(path, [finding, other], load, every, allow_growth=True).counts.total() == 2


@pytest.mark.parametrize("text", ["", "[]", '{"version": 1}', '{"version": 9, "findings": []}'])
def test_what_is_no_baseline(tmp_path: Path, text: str) -> None:
    path = tmp_path / "base.json"
    path.write_text(text)
    with pytest.raises(InputError, match="baseline"):
        Baseline.read(path)
