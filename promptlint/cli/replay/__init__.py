"""``promptlint replay``: the only command that imports the runtime."""

from promptlint.cli.replay.command import command

__all__ = ["command"]
