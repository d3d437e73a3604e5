"""What a start imports is what it costs: named here, since times on a shared machine tell little."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HEAVY = {"torch", "transformers", "tree_sitter", "numpy", "tokenizers", "tiktoken", "jinja2", "yaml"}


def imported(*arguments: str) -> set[str]:
    script = (
        "import sys\n"
        "from promptlint.cli.main import main\n"
        "try: main(sys.argv[1:])\n"
        "except SystemExit: pass\n"
        "print('\\n'.join(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments], capture_output=True, text=True, check=True
    )
    return {line.strip() for line in done.stderr.splitlines()}


def test_version_and_help_import_nothing_but_click() -> None:
    for arguments in (["--version"], ["--help"]):
        ours = {name for name in imported(*arguments) if name.startswith("promptlint")}
        assert ours == {"promptlint", "promptlint.cli", "promptlint.cli.main", "promptlint.errors"}


def test_a_warm_check_imports_no_frontend(tmp_path: Path) -> None:
    (tmp_path / "a.j2").write_text("It is {{ now() }}.\n" + "You are a helpful assistant. " * 20)
    arguments = ("check", "--isolated", "--cache-dir", str(tmp_path / "cache"), str(tmp_path / "a.j2"))
    assert "jinja2" in imported(*arguments)
    warm = imported(*arguments)
    assert not {name.partition(".")[0] for name in warm} & HEAVY
    assert "promptlint.checks" not in warm
