"""The examples: every bad file has a finding, no good one has, and our own hook passes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from promptlint.baseline import Baseline
from promptlint.config import Config, load
from promptlint.config.load import find
from promptlint.engine import Request, check
from promptlint.findings import Status

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def found() -> dict[str, set[str]]:
    report = check(Request(("examples",), Config(root=ROOT, cache=False, jobs=1), ROOT))
    assert report.errors == ()
    codes: dict[str, set[str]] = {}
    for finding in report.active:
        codes.setdefault(finding.primary.path, set()).add(finding.code)
    return codes


def names(folder: str) -> list[str]:
    return sorted(path.name for path in (ROOT / "examples" / folder).iterdir())


def test_each_bad_file_has_a_good_twin() -> None:
    assert names("bad") == names("good")


@pytest.mark.parametrize("name", names("bad"))
def test_bad(found: dict[str, set[str]], name: str) -> None:
    assert found.get(f"examples/bad/{name}")


@pytest.mark.parametrize("name", names("good"))
def test_good(found: dict[str, set[str]], name: str) -> None:
    assert found.get(f"examples/good/{name}") is None


def test_our_own_hook() -> None:
    config = replace(load(ROOT / "examples/accepted.toml"), cache=False)
    assert config.baseline is not None
    request = Request(
        ("examples",), config, ROOT, force_exclude=True, baseline=Baseline.read(config.baseline)
    )
    report = check(request)
    assert report.active == ()
    assert report.notes == ()  # the baseline lists nothing that is gone
    assert report.count(Status.BASELINED) > 0


def test_no_configuration_hides_what_the_readme_shows() -> None:
    assert find(ROOT / "examples/bad") is None
