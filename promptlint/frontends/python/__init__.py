"""Python: what a program assembles into prompts, followed across modules.

Files are parsed when needed and evaluated symbolically: text as pieces with places, holes with the
reason why they change. docs/python.md has the picture, and says what each package holds.
"""

from promptlint.frontends.python.analyze import Unit, analyze

__all__ = ["Unit", "analyze"]
