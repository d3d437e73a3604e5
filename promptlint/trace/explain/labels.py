"""Words that stand before a changing value and say what it is."""

from __future__ import annotations

import re
from collections.abc import Mapping

from promptlint.layout import Kind

# The most telling kinds first. "_" stands for a blank, underscore, hyphen or nothing.
_WORDS: Mapping[Kind, str] = {
    Kind.COUNTER: r"""
        steps? turns? iterations? attempts? rounds? cycles? counters? remaining left used budget progress page retry
        tick so_far spent calls?_made""",
    Kind.RANDOM: r"random\w* seed nonce salt shuffl\w* sampled? dice lottery canary lucky",
    Kind.ENVIRONMENT: r"""
        host(?:name)? pid process cwd working_dir\w* directory branch commit revision container pod node machine
        platform sandbox workspace_path worker port ip shell kernel build""",
    Kind.PER_USER: r"""
        users? user_names? user_ids? customers? accounts? tenants? members? e_mail patients? students? clients?
        speakers? locale language country city time_zone room plan organi[sz]ation company employee caller name""",
    Kind.IDENTIFIER: r"""
        id uuid guid key token reference ref number no request_id trace_id session_id run_id correlation_id
        conversation_id thread_id message_id job_id task_id ticket_id order_id case_id event_id call_id""",
    Kind.RETRIEVED: r"""
        context documents? passages? search_results? results memor(?:y|ies) knowledge sources? snippets? retriev\w*
        relevant facts notes excerpts? articles? chunks? hits found""",
    Kind.REQUEST_INPUT: r"question query input task topic asked request",
}
# Things that are told apart by a number behind them.
_NUMBERED = re.compile(
    r"(?<![a-z])(?:ticket|order|case|job|run|request|session|thread|trace|conversation|task|event|batch|issue)"
    r"\s*(?:#|no\.?|nr\.?|number|:|=)?\s*#?$",
    re.IGNORECASE,
)


def _pattern(words: str) -> re.Pattern[str]:
    each = "|".join(word.replace("_", "[ _-]?") for word in words.split())
    return re.compile(rf"(?<![a-z])(?:{each})(?![a-z])", re.IGNORECASE)


_PATTERNS = {kind: _pattern(words) for kind, words in _WORDS.items()}


def says(kind: Kind, text: str) -> str:
    """Return the word in a text that stands for a kind, or "".

    Only such words enter reports: the rest of a label may be private.
    """
    found = _PATTERNS[kind].search(text)
    return found.group().lower() if found else ""


def labelled(text: str) -> tuple[Kind, str] | None:
    """Return the first kind that a label speaks of, and the word that does."""
    return next(((kind, word) for kind in _PATTERNS if (word := says(kind, text))), None)


def is_numbered(label: str) -> bool:
    """Tell whether a label ends with a thing that bears a number: ``Ticket #``."""
    return _NUMBERED.search(label) is not None
