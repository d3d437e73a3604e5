"""Small programs in one line, as fixtures."""

from __future__ import annotations

import textwrap
from collections.abc import Callable

import pytest

from tests.frontends.python.build import Program, run, system_prompt


@pytest.fixture(scope="session")
def program() -> Callable[..., Program]:
    """Return a function that analyses a program, given as text or as ``{path: text}``."""
    return run


@pytest.fixture(scope="session")
def talking() -> Callable[[str], Program]:
    """Return a function that analyses a program with a vendor's library, so that its lists may be conversations."""
    return lambda text: run(f"{textwrap.dedent(text)}\nimport openai\n")


@pytest.fixture(scope="session")
def system() -> Callable[..., str]:
    """Return a function that shows the system prompt which an expression makes."""
    return system_prompt
