"""Runs the commands shown in README.md again and puts in what they print: ``python tools/readme.py [--check]``.

A shown command is a line ``$ promptlint …`` in a fenced block; what follows it in the block is its output.
With ``--check`` nothing is written and a difference ends with 1.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
_SHOWN = re.compile(r"^\$ promptlint (?P<command>.+)\n(?P<output>(?:(?!^```).*\n)*)", re.MULTILINE)


def refreshed(text: str) -> str:
    """Return the text with the present output of every command."""
    return _SHOWN.sub(lambda m: f"$ promptlint {m['command']}\n{_run(m['command'])}", text)


def _run(command: str) -> str:
    name, *arguments = command.split()
    call = [sys.executable, "-m", "promptlint", name, *arguments]
    done = subprocess.run(call, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        raise SystemExit(f"{command}: {done.stderr}")
    return done.stdout.rstrip() + "\n"


def main() -> int:
    """Refresh or compare README.md."""
    path = ROOT / "README.md"
    before = path.read_text(encoding="utf-8")
    after = refreshed(before)
    if "--check" not in sys.argv:
        path.write_text(after, encoding="utf-8")
        return 0
    return int(before != after)


if __name__ == "__main__":
    sys.exit(main())
