"""A short run of tools/fuzz.py over every frontend and check."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.mark.slow
def test_mutated_inputs_break_nothing() -> None:
    command = [sys.executable, "tools/fuzz.py", "2000", "7"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
