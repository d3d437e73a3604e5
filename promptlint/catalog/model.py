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
    file: str = ""  # data file that declares it


CARRIES: Mapping[str, str] = {
    "messages": "a list of messages, or of (role, text) pairs",
    "templates": "a list of messages whose texts are templates",
    "system": "system text",
    "user": "text of a user message",
    "assistant": "text of an assistant message",
    "prompt": "the whole prompt as one text, or a list of messages",
    "content": "text of the message that the call makes; `Sink.role` or the `role` argument says whose",
    "role": "the role of that message",
    "tools": "a list of tools or functions",
    "tool": "text that becomes part of one tool's definition",
    "model": "the model's name",
    "parameter": "a setting that is part of the cache key",
    "template": "text with holes in `Sink.dialect`",
    "values": "the mapping that fills the holes, or one of its values",
    "examples": "few-shot examples, put between the other texts",
    "selector": "what chooses such examples for each request",
    "history": "the variable under which earlier turns are put in, or a switch that puts them in",
    "key": "a cache key or salt",
    "options": "a mapping or object with more of the call's arguments, by the names listed beside it",
    "keys": "a mapping that may hold cache keys or salts, as extra_body and extra_headers",
    "clock": "a switch: where it is on, the library prints the time of each request, as system text",
    "ignored": "never part of the prompt",
}

RETURNS = ("response", "message", "template", "prompt", "agent", "tool")


@dataclass(frozen=True, slots=True)
class Sink:
    """A call or class through which text becomes part of a prompt.

    ``pattern`` is a full dotted path (``litellm.completion``), a suffix (``*.messages.create``), or a
    suffix below a root (``langchain*.**.PromptTemplate``: anywhere in a package so named).

    ``arguments`` maps where a value stands to what it carries. Where: a keyword; a position as a
    decimal string; ``doc`` (docstring of the class or function that the sink decorates or is the base
    of); ``return`` (what the decorated function returns); ``*`` (every other positional argument);
    ``**`` (every other keyword). What: one of `CARRIES`.
    ``returns`` says what the call gives back: one of `RETURNS`.
    """

    pattern: str
    arguments: Mapping[str, str]
    provider: str = ""
    surface: str = ""
    role: str = ""  # of the message that a message class makes
    returns: str = "response"
    dialect: str = ""  # of a template: "f-string", "jinja", "mustache", "$"
    loose: bool = False  # a suffix so common that the arguments must look like a prompt too
    source: str = ""
    file: str = ""


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
    file: str = ""


@dataclass(frozen=True, slots=True)
class Example:
    """A fenced block of a rule file. ``marks`` are the 1-based lines that must be reported."""

    good: bool
    language: str
    text: str
    filename: str = ""
    marks: tuple[int, ...] = ()  # of this code; other codes are not looked at
    options: Mapping[str, str] = field(default_factory=dict)
