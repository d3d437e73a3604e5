from __future__ import annotations

from collections.abc import Callable

import pytest

from promptlint.cli.main import main


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Return a function that runs a command line and gives exit code, output and errors."""

    def call(*args: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as leave:
            main(list(args))
        out, err = capsys.readouterr()
        return int(leave.value.code or 0), out, err

    return call
