"""Words that stand before a changing value and say what it is."""

from __future__ import annotations

import re
from collections.abc import Mapping

from promptlint.layout import Kind

# The most telling kinds first. A blank in a word stands for a blank, underscore, hyphen or nothing.
_WORDS: Mapping[Kind, tuple[str, ...]] = {
    Kind.COUNTER: (
        *(
            "steps?",
            "turns?",
            "iterations?",
            "attempts?",
            "rounds?",
            "cycles?",
            "counters?",
            "remaining",
            "left",
        ),
        *(
            "used",
            "budget",
            "progress",
            "page",
            "retry",
            "tick",
            "messages? so far",
            "so far",
            "spent",
            "calls? made",
        ),
    ),
    Kind.RANDOM: (
        r"random\w*",
        "seed",
        "nonce",
        "salt",
        r"shuffl\w*",
        "sampled?",
        "dice",
        "lottery",
        "canary",
        "lucky",
    ),
    Kind.ENVIRONMENT: (
        *(
            "host(?:name)?",
            "pid",
            "process",
            "cwd",
            r"working dir\w*",
            "directory",
            "branch",
            "commit",
            "revision",
        ),
        *(
            "container",
            "pod",
            "node",
            "machine",
            "platform",
            "sandbox",
            "workspace path",
            "worker",
            "port",
            "ip",
        ),
        *("shell", "kernel", "build"),
    ),
    Kind.PER_USER: (
        *("users?", "user names?", "user ids?", "customers?", "accounts?", "tenants?", "members?", "e mail"),
        *(
            "patients?",
            "students?",
            "clients?",
            "speakers?",
            "locale",
            "language",
            "country",
            "city",
            "time zone",
            "room",
            "plan",
        ),
        *("organi[sz]ation", "company", "employee", "caller", "name"),
    ),
    Kind.IDENTIFIER: (
        *("id", "uuid", "guid", "key", "token", "reference", "ref", "number", "no"),
        *("request id", "trace id", "session id", "run id", "correlation id", "conversation id", "thread id"),
        *("message id", "job id", "task id", "ticket id", "order id", "case id", "event id", "call id"),
    ),
    Kind.RETRIEVED: (
        *("context", "documents?", "passages?", "search results?", "results", "memor(?:y|ies)", "knowledge"),
        *(
            "sources?",
            "snippets?",
            r"retriev\w*",
            "relevant",
            "facts",
            "notes",
            "excerpts?",
            "articles?",
            "chunks?",
        ),
        *("hits", "found"),
    ),
    Kind.REQUEST_INPUT: ("question", "query", "input", "task", "topic", "asked", "request"),
}


# Things that are told apart by a number behind them.
_NUMBERED = re.compile(
    r"(?<![a-z])(?:ticket|order|case|job|run|request|session|thread|trace|conversation|task|event|batch|issue)"
    r"\s*(?:#|no\.?|nr\.?|number|:|=)?\s*#?$",
    re.IGNORECASE,
)


def is_numbered(label: str) -> bool:
    """Tell whether a label ends with a thing that bears a number: ``Ticket #``."""
    return _NUMBERED.search(label) is not None


def _pattern(words: tuple[str, ...]) -> re.Pattern[str]:
    each = "|".join(word.replace(" ", "[ _-]?") for word in words)
    return re.compile(rf"(?<![a-z])(?:{each})(?![a-z])", re.IGNORECASE)


_PATTERNS = {kind: _pattern(words) for kind, words in _WORDS.items()}


def says(kind: Kind, text: str) -> bool:
    """Tell whether a text has a word that stands for a kind."""
    return _PATTERNS[kind].search(text) is not None


def labelled(text: str) -> Kind | None:
    """Return the first kind that a label speaks of."""
    return next((kind for kind, pattern in _PATTERNS.items() if pattern.search(text)), None)
