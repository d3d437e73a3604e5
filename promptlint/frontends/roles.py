"""Roles written into prompt text: ``system:`` or ``# user:`` alone on a line begins a message."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from promptlint.layout import Section, Segment

SYSTEM_ROLES = frozenset({"system", "developer"})
LINE = (
    r"^[ \t]*(?:#{1,2}[ \t]*)?(?P<line>system|developer|user|assistant|model|function|tool)[ \t]*"
    r"(?:\[[^\]\n]{0,200}\])?:[ \t]*"
)
"""The beginning of a role line, with what prompt flow writes in brackets; to be used with `re.MULTILINE`."""


@dataclass(slots=True)
class Speakers:
    """Counts messages: system messages before all others form the system section."""

    role: str = ""
    section: Section = Section.MESSAGES
    message: int = 0
    _counts: dict[Section, int] = field(default_factory=dict)

    def begin(self, role: str) -> None:
        """Start the next message."""
        self.role = role
        leads = role in SYSTEM_ROLES and not self._counts.get(Section.MESSAGES)
        self.section = Section.SYSTEM if leads else Section.MESSAGES
        self.message = self._counts.get(self.section, 0)
        self._counts[self.section] = self.message + 1

    def spoken(self, segment: Segment) -> Segment:
        """Return a segment as part of the current message."""
        return replace(segment, role=self.role, section=self.section, message=self.message)
