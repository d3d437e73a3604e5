"""What README.md shows is what the commands print today; ``python tools/readme.py`` refreshes it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.mark.slow
def test_readme_shows_real_output() -> None:
    done = subprocess.run([sys.executable, "tools/readme.py", "--check"], cwd=ROOT, check=False)
    assert done.returncode == 0, "run tools/readme.py"
