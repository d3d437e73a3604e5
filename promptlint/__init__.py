"""promptlint: find what breaks the prefix cache before it ships."""

__version__ = "0.1.0"
