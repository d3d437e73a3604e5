"""What every check is given, and the words that all of them use."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Protocol

from promptlint.findings import Cost, Finding, Severity, Status
from promptlint.layout import APART, ARGUMENT, DATA, Cause, Confidence, Guard, Kind, Layout, Scope
from promptlint.words import counted

_CODE = re.compile(r"[\w.$]+(?:[\[(].*)?|.*\)|[{\[].*", re.DOTALL)
ENVIRONMENT = "environment variable "
BLOCK = 16  # tokens of the smallest block in wide use (vLLM)
# Tokens that nobody would move a value for, whatever is asked for: the word that closes a sentence, and behind data,
# or what only a name tells of, the label of the next field.
WORDS = 5
LABEL = 10
DATA_FIRST = 32  # tokens of fixed text in a piece behind data that make a word worthwhile
ARGUMENT_FIRST = 128  # of the same behind an argument in running text: all else but its place is a guess
# Tokens that close a prompt four times as long ("Answer in JSON."): nobody moves what may be a value in front of them.
ENDING = 64
BY_PLACE = frozenset({ARGUMENT, APART})
# What a text of the program that is not seen counts for, in tokens: in thresholds, never in figures.
UNSEEN = 48
NEAR = 16  # tokens between two values that make two faults of them
NEAR_DATA = 48  # and between two of data: labels stand there


class ProfileLike(Protocol):
    """The part of a cache profile that checks look at."""

    @property
    def name(self) -> str:
        """Return the profile's name."""
        ...

    @property
    def block_tokens(self) -> int | None:
        """Return the tokens of one block, None where the profile has none."""
        ...


class Measure(Protocol):
    """A layout counted in tokens, for one profile and tokenizer."""

    @property
    def profile(self) -> ProfileLike:
        """Return the cache rules that apply."""
        ...

    def tokens(self, index: int) -> int:
        """Return the tokens of a literal segment; 0 for a hole."""
        ...

    def lost_behind(self, index: int, scope: Scope, within: Iterable[Guard] = ()) -> Cost:
        """Return the tokens behind a segment that are more stable than ``scope``, where some conditions hold."""
        ...


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Below which cost a finding is only counted.

    ``lost_tokens`` is what the user asked for and holds for every kind. None: one block of sixteen
    tokens, two where only a name speaks for the fault (four at the end of a long prompt), and `DATA_FIRST` in one piece for data, which has to stand
    somewhere (`ARGUMENT_FIRST` where it is taken for data by its place alone). A profile with larger
    blocks hides nothing more: it loses whole blocks as soon as the text behind grows.
    """

    lost_tokens: int | None = None

    def of(self, kind: Kind, confidence: Confidence, profile: ProfileLike, variant: str = "") -> int:
        """Return the fewest lost tokens that make a finding active."""
        if self.lost_tokens is not None:
            return self.lost_tokens
        block = min(profile.block_tokens or BLOCK, BLOCK)
        if kind in DATA:
            return ARGUMENT_FIRST if variant == ARGUMENT else DATA_FIRST
        return 2 * block if confidence is Confidence.LOW else block

    def status(
        self,
        kind: Kind,
        confidence: Confidence,
        cost: Cost | None,
        profile: ProfileLike,
        variant: str = "",
        before: int = 0,
    ) -> Status:
        """Return whether a finding of this cost counts. A cost that nobody can know always does.

        ``before`` is the tokens of fixed text in front of a value that is only guessed, or of a prompt that is.
        """
        if cost is None:
            return Status.ACTIVE
        least = self.of(kind, confidence, profile, variant)
        if self.lost_tokens is None and cost.tokens * 4 < before:
            least = max(least, ENDING)
        return Status.ACTIVE if cost.tokens >= least else Status.BELOW_THRESHOLD


class Check(Protocol):
    """One rule: layouts in, findings out. ``default`` tells whether it runs unless asked for."""

    @property
    def code(self) -> str:
        """Return the code, ``PL101``."""
        ...

    @property
    def name(self) -> str:
        """Return the name, ``clock-before-stable``."""
        ...

    @property
    def default(self) -> bool:
        """Tell whether the rule runs without being selected."""
        ...

    def run(self, layout: Layout, measure: Measure, thresholds: Thresholds) -> Iterator[Finding]:
        """Yield the findings in one annotated layout."""
        ...


HOW_OFTEN = {
    Scope.RELEASE: "changes with a release",
    Scope.PROCESS: "differs between processes",
    Scope.MACHINE: "differs between machines",
    Scope.DAY: "changes every day",
    Scope.TENANT: "differs between tenants",
    Scope.USER: "differs between users",
    Scope.SESSION: "differs between conversations",
    Scope.REQUEST: "changes with every request",
    Scope.UNKNOWN: "may change at any time",
}

# Stable tokens behind, from which a finding is (warning, error). None: never.
_LEVELS: dict[Scope, tuple[int, int | None]] = {
    Scope.RELEASE: (4096, None),
    Scope.PROCESS: (256, None),
    Scope.MACHINE: (256, None),
    Scope.DAY: (64, None),
    Scope.TENANT: (64, 4096),
    Scope.USER: (32, 2048),
    Scope.SESSION: (16, 1024),
    Scope.REQUEST: (1, 512),
    Scope.UNKNOWN: (4096, None),
}


def severity(kind: Kind, scope: Scope, tokens: int, history: bool = False) -> Severity:
    """Return how often the value changes times what stands behind it, as one of three words.

    ========  ==================  ================
    scope     warning from        error from
    ========  ==================  ================
    request   1 token             512, or history
    session   16                  1,024
    user      32                  2,048
    tenant    64                  4,096
    day       64                  -
    machine   256                 -
    process   256                 -
    ========  ==================  ================

    Everything less is information. Data (`DATA`) is never an error: it has to stand somewhere.
    """
    if history and scope is Scope.REQUEST:
        return Severity.WARNING if kind in DATA else Severity.ERROR
    warning, error = _LEVELS[scope]
    if error is not None and tokens >= error and kind not in DATA:
        return Severity.ERROR
    return Severity.WARNING if tokens >= warning else Severity.INFO


def of_tokens(cost: Cost, tokens: int, profile: ProfileLike) -> Cost:
    """Return a cost of another number of tokens, with the whole blocks that these are."""
    return replace(cost, tokens=tokens, blocks=tokens // (profile.block_tokens or 1))


def weaker(*confidences: Confidence) -> Confidence:
    """Return the least of several confidences."""
    return min(confidences, key=lambda confidence: confidence.rank)


def lost_text(cost: Cost | None, history: bool, unseen: str = "") -> str:
    """Say what is computed again: ``412 stable tokens (25 blocks) behind it``; ``unseen`` is a text not counted."""
    parts = []
    # Beside a whole conversation, or a text of the program, a handful of tokens is nothing to speak of.
    if cost is not None and cost.tokens and not ((history or unseen) and cost.tokens < NEAR):
        about = "about " if cost.estimated else ""
        # A profile without blocks counts each token as one; saying so twice helps nobody.
        told = 0 < cost.blocks < cost.tokens
        blocks = f" ({counted(cost.blocks, 'block')})" if told else ""
        parts.append(f"{about}{counted(cost.tokens, 'stable token')}{blocks}")
    if unseen:
        parts.append(unseen)
    if history:
        parts.append("the whole conversation")
    return f"{' and '.join(parts)} behind it" if parts else "what stands behind it"


def quoted(what: str) -> str:
    """Return the short text of a cause, code in backticks: ``datetime.now()`` but not ``the turn``."""
    if what.startswith(ENVIRONMENT):
        return f"{ENVIRONMENT}`{what.removeprefix(ENVIRONMENT)}`"
    return f"`{what}`" if "`" not in what and _CODE.fullmatch(what) else what


def is_history(*causes: Cause | None) -> bool:
    """Tell whether one of the causes is the conversation so far."""
    return any(cause is not None and cause.kind is Kind.HISTORY for cause in causes)


def costliest(findings: Iterable[Finding]) -> list[Finding]:
    """Keep one finding for each code and place: the one that counts and costs most.

    One template may be part of several prompts; the worst of them is what its author has to know.
    """
    kept: dict[tuple[str, object], Finding] = {}
    for finding in findings:
        key = (finding.code, finding.primary)
        if key not in kept or _weight(finding) > _weight(kept[key]):
            kept[key] = finding
    return list(kept.values())


def _weight(finding: Finding) -> tuple[bool, int, int, int]:
    tokens = finding.cost.tokens if finding.cost else 0
    return (
        finding.status is Status.ACTIVE,
        finding.severity.rank,
        tokens,
        finding.confidence.rank,
    )
