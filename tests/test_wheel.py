"""The wheel that users install: what is in it, and that it works away from the checkout."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (path,) = folder.glob("*.whl")
    return path


def test_contents(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.partition("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"promptlint", "promptlint_runtime"}
    assert "promptlint/_rules/PL101-clock-before-stable.md" in names
    assert "promptlint/_rules/profiles/vllm.toml" in names
    assert "promptlint/py.typed" in names
    ours = {
        path.relative_to(ROOT / "rules").as_posix() for path in (ROOT / "rules").rglob("*") if path.is_file()
    }
    assert {f"promptlint/_rules/{name}" for name in ours} <= set(names)


def test_check_away_from_the_checkout(wheel: Path, tmp_path: Path) -> None:
    site, work = tmp_path / "site", tmp_path / "work"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(site), str(wheel)]
    subprocess.run(pip, check=True, capture_output=True)
    work.mkdir()
    (work / "a.j2").write_text((ROOT / "examples/bad/support.j2").read_text())
    environment = {**os.environ, "PYTHONPATH": str(site), "XDG_CACHE_HOME": str(tmp_path / "cache")}

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "promptlint", *arguments]
        return subprocess.run(command, cwd=work, env=environment, capture_output=True, text=True, check=False)

    for _ in range(2):  # cold, then warm
        done = run("check", "--isolated", "--format", "json", ".")
        assert done.returncode == 1, done.stderr
        assert {f["code"] for f in json.loads(done.stdout)["findings"]} >= {"PL101", "PL104"}
    assert run("explain", "PL101").returncode == 0
    assert run("profiles").returncode == 0
    where = [sys.executable, "-c", "import promptlint; print(promptlint.__file__)"]
    out = subprocess.run(where, cwd=work, env=environment, capture_output=True, text=True, check=True).stdout
    assert out.startswith(str(site))
