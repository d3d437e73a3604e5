"""Fixtures that build in one line what a test of engine, reporters or commands needs."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import settings

from promptlint.catalog.model import Rule
from promptlint.findings import Cost, Finding, Severity
from promptlint.layout import Confidence, Kind, Layout, Scope, Segment
from promptlint.source import SourceFile, Span

# How long an example takes says more about the machine than about the code.
settings.register_profile("promptlint", deadline=None)
settings.load_profile("promptlint")


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Leave out what needs an engine that is not here.

    ``PROMPTLINT_ENGINE`` names the one that must be: a test of it then fails where it cannot be imported.
    """
    marker = item.get_closest_marker("engine")
    if marker is None:
        return
    name, here = marker.args[0], os.environ.get("PROMPTLINT_ENGINE")
    if here and here != name:
        pytest.skip(f"this is the environment of {here}, not of {name}")
    if not here and find_spec(name) is None:
        pytest.skip(f"{name} is not installed")


_CALL = re.compile(r"\{\{ *now\(\) *\}\}")
_RULES = {
    "PL101": Rule(
        "PL101", "clock-before-stable", Kind.CLOCK, "A clock stands before stable text.", "# Why\n"
    ),
    "PL199": Rule("PL199", "quiet-rule", Kind.OTHER, "Off by default.", "", default=False),
    "PL902": Rule("PL902", "unused-suppression", Kind.OTHER, "A suppression has no effect.", ""),
}


def clock_finding(source: SourceFile, start: int, end: int, **changes: object) -> Finding:
    """Return a finding of the toy rule at a range of a file."""
    fields: dict[str, object] = {
        "code": "PL101",
        "name": "clock-before-stable",
        "kind": Kind.CLOCK,
        "message": "`now()` before stable text",
        "primary": source.place(start, end),
        "severity": Severity.WARNING,
        "confidence": Confidence.HIGH,
        "scope": Scope.REQUEST,
        "cost": Cost(1204, 75, "vllm"),
        "prompt": source.path,
    }
    return Finding(**{**fields, **changes})  # type: ignore[arg-type]


@pytest.fixture(scope="session")
def make_finding() -> Callable[..., Finding]:
    """Return `clock_finding`."""
    return clock_finding


@pytest.fixture
def toy_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace frontends and checks by one rule: ``{{ now() }}`` is a fault, ``crash`` an internal error.

    ``{% include "x" %}`` loads x, and its clocks count too. Tests of the engine's own work need no more.
    """
    from promptlint.engine import units
    from promptlint.engine.judge import Judge

    def layouts_of(source: SourceFile, kind: object, context: object, *, named: bool) -> list[Layout] | None:
        if source.path.endswith((".md", ".txt", ".json", ".toml")) and not named and "{{" not in source.text:
            return None
        if "crash" in source.text:
            raise ZeroDivisionError("toy")
        sources = [source]
        for name in re.findall(r'include "([^"]+)"', source.text):
            folder = source.path.rpartition("/")[0]
            other = context.load(f"{folder}/{name}" if folder else name)  # type: ignore[attr-defined]
            sources += [other] if other else []
        segments = tuple(Segment(s.place(*m.span()), None) for s in sources for m in _CALL.finditer(s.text))
        return [Layout(source.path, source.place(0, len(source.text)), segments)]

    def findings(self: Judge, layouts: Iterable[Layout]) -> Iterator[Finding]:
        for layout in layouts:
            for segment in layout.segments:
                stand_in = SourceFile(segment.place.path, "")
                span: Span = segment.place.span
                yield clock_finding(stand_in, span.start, span.end, prompt=layout.name)

    monkeypatch.setattr(units, "layouts_of", layouts_of)
    monkeypatch.setattr(Judge, "findings", findings)
    monkeypatch.setattr(Judge, "rules", {code: (rule.name, rule.default) for code, rule in _RULES.items()})


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Return a function that writes files below a fresh working folder and returns the folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / ".cache"))

    def build(files: dict[str, str]) -> Path:
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return tmp_path

    return build
