"""Placeholders in plain text: which style a text uses, and its pieces in that style.

| style    | looks like                                                         | filled by            |
|----------|--------------------------------------------------------------------|----------------------|
| format   | ``{x}``, ``{x.y[0]!r:>10}``, ``{{`` for a brace                    | ``str.format``       |
| braces   | ``{x}`` only, every other brace stands for itself                  | ``str.replace``      |
| percent  | ``%s``, ``%(x)s``, ``%%``                                          | ``%``                |
| dollar   | ``$x``, ``${x}``, ``$$``                                           | ``string.Template``  |
| mustache | ``{{x}}``, ``{{{x}}}``, ``{{#each xs}}…{{/each}}``, ``{{> part}}`` | Mustache, Handlebars |
| angle    | ``<<NAME>>``, ``[[NAME]]``, ``<current_date>``                     | ``str.replace``      |
| bang     | ``!<INPUT 3>!``                                                    | ``str.replace``      |

Jinja has a frontend of its own, which callers ask first.
"""

from __future__ import annotations

from promptlint.frontends.fields import mustache, simple
from promptlint.frontends.mapped import MappedText
from promptlint.layout import Segment

STYLES = (*simple.SCANNERS, "mustache")

__all__ = ["STYLES", "brace_names", "detect", "has_dollars", "second_stage", "segments"]


def segments(text: MappedText, style: str) -> tuple[Segment, ...]:
    """Cut a text into literal segments and holes.

    A text that breaks the rules of its style (a single brace, an unclosed section) is never refused:
    what is not a field stands for itself.

    Raises:
        ValueError: ``style`` is not one of `STYLES`.
    """
    if style == "mustache":
        return mustache.segments(text)
    if style not in simple.SCANNERS:
        raise ValueError(f"unknown placeholder style {style!r}")
    return simple.segments(text, simple.SCANNERS[style])


def detect(text: str) -> str | None:
    """Return the placeholder style of a text, or None where no style is certain.

    Ask the Jinja frontend first: a bare ``{{ name }}`` is called ``mustache`` here.
    """
    from promptlint.frontends.fields import styles  # its patterns take time to compile

    return styles.detect(text)


def brace_names(text: str) -> frozenset[str]:
    """Return the names that stand in single braces and are no code: fields of a second stage."""
    from promptlint.frontends.fields import styles

    return styles.brace_names(text)


def has_dollars(text: str) -> bool:
    """Tell whether the prose of a text has names in ``${…}`` that no shell sets."""
    from promptlint.frontends.fields import styles

    return styles.has_dollars(text)


def second_stage(text: MappedText, names: frozenset[str]) -> tuple[Segment, ...]:
    """Cut a text at ``{name}`` for these names only; see `brace_names`."""
    return simple.segments(text, simple.braced(names))
