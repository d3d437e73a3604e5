"""Configuration: ``[tool.promptlint]`` in pyproject.toml, or promptlint.toml."""

from promptlint.config.load import find, load
from promptlint.config.model import DEFAULT_EXCLUDE, TEST_CODE, Config, Jinja

__all__ = ["DEFAULT_EXCLUDE", "TEST_CODE", "Config", "Jinja", "find", "load"]
