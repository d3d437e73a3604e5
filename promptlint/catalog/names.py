"""What a variable's name tells about its value.

A name is read as words, and English puts the noun that matters last: ``current_user_name`` is a user
name, ``date_format`` a format, ``user_prompt`` a prompt. A pattern therefore matches the whole name, or,
with a ``*`` in front, the end of it::

    "today"         today, the_today, today_str      whole name, neutral words aside
    "* session id"  session_id, chatSessionId        any words before
    "user.*"        user.plan, request.user.plan     anything read from an object so named
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from promptlint.catalog.model import Volatile
from promptlint.catalog.words import words
from promptlint.layout import Kind, Scope

Words = tuple[str, ...]
_PHRASE = 4  # words in front of a value that are read
# One word is too little for these, "Date:" or "at the same time:", and so is a "now" behind others.
_MOMENT = frozenset(("now", "today"))
_BRIEF = frozenset({Kind.CLOCK, Kind.COUNTER})
_TEXTS = frozenset(("text", "content", "contents", "data", "summary", "value", "details", "info"))


@dataclass(slots=True)
class NameTable:
    """Name patterns, indexed by their words.

    ``before`` and ``after`` are neutral words that do not change what a name means (``the``, ``str``);
    ``veto`` are words before a noun that make it something else (``max``, ``default``, ``is``).
    ``carriers`` are objects whose own name says nothing (``self``, ``state``, ``inputs``).
    ``stable`` are ends of names that only look volatile (``knowledge cutoff date``), and
    ``stable_owners`` objects whose attributes belong to the program (``examples``, ``settings``).
    ``chosen`` are words of names whose values the program's author chose (``language``, ``schema``);
    ``attributes`` are words that say nothing without another in front (``description``).
    ``settings`` are nouns that stay the program's even in a block of their own (``examples``), and ``moments``
    words that make such a noun one of a moment (``current``); ``samples`` are first words of what is shown as one.
    ``fixed`` are ends of names of texts that are sent as they are (``system prompt``).
    """

    before: frozenset[str] = frozenset()
    after: frozenset[str] = frozenset()
    veto: frozenset[str] = frozenset()
    carriers: frozenset[Words] = frozenset()
    stable: frozenset[Words] = frozenset()
    stable_owners: frozenset[Words] = frozenset()
    attributes: frozenset[str] = frozenset()
    chosen: frozenset[str] = frozenset()
    settings: frozenset[str] = frozenset()
    moments: frozenset[str] = frozenset()
    samples: frozenset[str] = frozenset()
    fixed: frozenset[Words] = frozenset()
    whole: dict[Words, Volatile] = field(default_factory=dict)
    ends: dict[Words, Volatile] = field(default_factory=dict)
    owners: dict[Words, Volatile] = field(default_factory=dict)
    declared: list[tuple[str, Volatile]] = field(default_factory=list)

    def add(self, pattern: str, value: Volatile) -> None:
        """Add one pattern; `ValueError` if it has no words."""
        table = self.whole
        text = pattern
        if pattern.startswith("* "):
            table, text = self.ends, pattern[2:]
        elif pattern.endswith(".*"):
            table, text = self.owners, pattern[:-2]
        key = tuple(text.split())
        if not key or not all(word.isalnum() and word == word.lower() for word in key):
            raise ValueError(f"{pattern!r} is not lower-case words, `* words` or `words.*`")
        table[key] = value

    def find(self, identifier: str) -> Volatile | None:
        """Return what the table knows about a variable, attribute path or subscript path."""
        last = identifier.rpartition(".")[2]
        for glob, declared in self.declared:
            if fnmatchcase(identifier, glob) or fnmatchcase(last, glob):
                return declared
        parts = [words(part) for part in identifier.split(".")]
        parts = [part for part in parts if part]
        if not parts:
            return None
        own = self._strip(parts[-1])
        owners = [self._strip(part) for part in parts[:-1]]
        owners = [owner for owner in owners if owner not in self.carriers]
        if self.stable_owners.intersection(owners):
            return None
        if owners:
            joined = owners[-1] + own
            if self._is_stable(joined):
                return None
            found = self._of_words(joined)
            if found is not None and found.scope is Scope.TENANT and _is_member(identifier):
                return None
            if found is not None:
                return found
            for owner in reversed(owners):
                if owner in self.owners:
                    mine = self._of_words(own)  # the turns of a request are a conversation
                    return mine if mine and mine.kind is Kind.HISTORY else self.owners[owner]
        if self._is_stable(own):
            return None
        # `page_content` is a pattern of its own, though `content` is neutral at the end of other names, and the text
        # of an e-mail is not its address.
        return self._of_words(self._counted(parts[-1])) or self._of_words(own)

    def is_chosen(self, identifier: str, *, plain: bool = True) -> bool:
        """Tell whether a name says that its value belongs to the program, not to one request.

        ``plain`` is the answer for a name of which nothing is said but an attribute (``description``).
        """
        parts = [words(part) for part in identifier.split(".")]
        said = {word for part in parts for word in part if not word.isdigit()}
        if said and (said <= self.attributes or not self.chosen.isdisjoint(said)):
            return plain or not self.chosen.isdisjoint(said)
        owners = [self._strip(part) for part in parts if part]
        return not self.stable_owners.isdisjoint(owners) or any(map(self._is_stable, owners))

    def is_setting(self, identifier: str) -> bool:
        """Tell whether the noun of a name is one of ``settings`` and no word in front makes it one of a moment."""
        parts = [words(part) for part in identifier.split(".")]
        nouns = [noun for part in parts if (noun := self._noun(part))]
        if any(map(self._is_stable, map(self._strip, parts))):
            return True
        if not nouns:  # `name`, `description`; but `items` and `data` are data
            return any(part[-1] not in self.after for part in parts if part)
        return any(map(self._names_setting, nouns))

    def _noun(self, name: Words) -> Words:
        """Take words off the end that say nothing of what a value is: ``file_name``, ``task_description_str``."""
        end = len(name)
        while end and (
            name[end - 1] in self.attributes or name[end - 1] in self.after or name[end - 1].isdigit()
        ):
            end -= 1
        return name[:end] or tuple(word for word in name[-1:] if word in _TEXTS)

    def _names_setting(self, noun: Words) -> bool:
        if noun[0] in self.samples:
            return True
        if len(noun) > 1 and noun[0] in self.moments:
            return False
        return noun[-1] in self.settings or (noun[-1] == "prompt" and len(noun) > 1)

    def is_fixed(self, identifier: str) -> bool:
        """Tell whether the last part of a name ends like one of ``fixed``, and no word in front makes it another's."""
        name = words(identifier.rpartition(".")[2])
        while name and name[-1] in self.after and name not in self.fixed:
            name = name[:-1]
        start = next((start for start in range(len(name)) if name[start:] in self.fixed), None)
        return start is not None and self.moments.isdisjoint(name[:start])

    def is_setting_label(self, label: str) -> bool:
        """Tell whether the last words in front of a value name one of ``settings``, and nobody's own."""
        said = words(label)[-_PHRASE:]
        return not self.settings.isdisjoint(said) and self.moments.isdisjoint(said)

    def find_phrase(self, text: str) -> Volatile | None:
        """Return what the last words in front of a value mean, the most words that mean anything."""
        said = words(text)[-_PHRASE:]
        for start in range(len(said)):
            found = self._of_words(self._strip(said[start:]))
            part = len(said) - start == 1 if said[-1] not in _MOMENT else start > 0
            if found is not None and not (part and found.kind in _BRIEF):
                return found
        return None

    def _of_words(self, name: Words) -> Volatile | None:
        if found := self.whole.get(name):
            return found
        for start in range(len(name)):
            if (found := self.ends.get(name[start:])) and not self.veto.intersection(name[:start]):
                return found
        return None

    @staticmethod
    def _counted(name: Words) -> Words:
        """Take numbers off the end of a name: ``document_2``."""
        end = len(name)
        while end > 1 and name[end - 1].isdigit():
            end -= 1
        return name[:end]

    def _is_stable(self, name: Words) -> bool:
        return any(name[start:] in self.stable for start in range(len(name)))

    def _strip(self, name: Words) -> Words:
        """Take neutral words off both ends, but never all of the name."""
        start, end = 0, len(name)
        while end - start > 1 and (name[end - 1] in self.after or name[end - 1].isdigit()):
            end -= 1
        while end - start > 1 and name[start] in self.before and name not in self.whole:
            start += 1
        return name[start:end]


def _is_member(identifier: str) -> bool:
    """Tell whether a path ends in something of an element of what has a name of its own: ``team[].name``."""
    of = identifier.split(".")[-2]
    return of.endswith("[]") and not of.endswith("s[]")
