"""The engine: from paths to a report."""

from promptlint.engine.run import Request, check

__all__ = ["Request", "check"]
