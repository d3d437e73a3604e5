"""Typed rows of the catalogue."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from promptlint.layout import Confidence, Kind, Scope


@dataclass(frozen=True, slots=True)
class Volatile:
    """A reason to expect change: what a call, a name or a pattern tells about a value."""

    kind: Kind
    scope: Scope
    confidence: Confidence
    source: str = ""  # where this row comes from, for `promptlint explain`
    variant: str = ""  # as in `Cause.variant`


@dataclass(frozen=True, slots=True)
class Sink:
    """A call or class through which text becomes part of a prompt.

    ``pattern`` is a full dotted path (``litellm.completion``) or a suffix (``*.messages.create``).
    ``arguments`` maps a keyword, or a position as a decimal string, to what it carries:
    ``messages``, ``system``, ``user``, ``assistant``, ``prompt``, ``tools``, ``model``, ``parameter``,
    ``template`` (text with holes), ``values`` (the mapping that fills them), ``ignored``.
    ``returns`` says what the call gives back: ``response``, ``message``, ``template``, ``prompt``, ``agent``.
    """

    pattern: str
    arguments: Mapping[str, str]
    provider: str = ""
    surface: str = ""
    role: str = ""  # of the message that a message class makes
    returns: str = "response"
    dialect: str = ""  # of a template: "f-string", "jinja", "mustache", "$"
    loose: bool = False  # a suffix so common that the arguments must look like a prompt too


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule file under ``rules/``."""

    code: str
    name: str
    kind: Kind
    summary: str
    body: str  # Markdown: why, examples, fix safety, references
    default: bool = True
    severity: str = "by-cost"
    examples: tuple[Example, ...] = ()


@dataclass(frozen=True, slots=True)
class Example:
    """A fenced block of a rule file. ``marks`` are the 1-based lines that must be reported."""

    good: bool
    language: str
    text: str
    filename: str = ""
    marks: tuple[int, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict)
