"""The layout: one prompt as it will be sent, as an ordered list of segments.

Every frontend makes layouts, every check reads them. Nothing here judges.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from promptlint.source import Place
from promptlint.words import shortened


class Scope(StrEnum):
    """The set of requests within which a text is equal, widest first."""

    RELEASE = "release"
    PROCESS = "process"
    MACHINE = "machine"
    DAY = "day"
    TENANT = "tenant"
    USER = "user"
    SESSION = "session"
    REQUEST = "request"
    UNKNOWN = "unknown"

    @property
    def rank(self) -> int:
        """Return the position from wide (0) to narrow; `UNKNOWN` counts as the widest."""
        return 0 if self is Scope.UNKNOWN else _SCOPES.index(self)

    def narrower_than(self, other: Scope) -> bool:
        """Tell whether text of this scope changes while text of the other stays equal."""
        return self.rank > other.rank


_SCOPES = tuple(Scope)


class Kind(StrEnum):
    """What makes a value change; the public names used in reports."""

    CLOCK = "clock"
    IDENTIFIER = "identifier"
    RANDOM = "random"
    UNORDERED = "unordered"
    ENVIRONMENT = "environment"
    COUNTER = "counter"
    PER_USER = "per-user"
    RETRIEVED = "retrieved"
    REQUEST_INPUT = "request-input"
    TOOLS_ORDER = "tools-order"
    HISTORY_REWRITE = "history-rewrite"
    BREAKPOINT_MISPLACED = "breakpoint-misplaced"
    BREAKPOINT_LIMIT = "breakpoint-limit"
    BELOW_MINIMUM = "below-minimum"
    WHITESPACE = "whitespace"
    CHAT_TEMPLATE = "chat-template"
    PARAMETER_CHANGE = "parameter-change"
    TTL = "ttl"
    ROUTING = "routing"
    HISTORY = "history"  # the conversation so far: grows at its end, not a fault by itself
    OTHER = "other"


# Data differs between requests by nature. Only its place can be wrong.
DATA = frozenset({Kind.RETRIEVED, Kind.REQUEST_INPUT})
# What says what a request is about. Several in one sentence are one fault.
ABOUT = DATA | {Kind.IDENTIFIER, Kind.ENVIRONMENT}


class Confidence(StrEnum):
    """How a fact was learned: traced to its source, matched by a pattern, or guessed by a name."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"

    @property
    def rank(self) -> int:
        """Return 2 for high, 1 for medium, 0 for low."""
        return {"high": 2, "medium": 1, "low": 0}[self.value]


# Variants of a cause that only the place of a value tells: it came out of an argument, or stands apart from the text.
ARGUMENT = "argument"
APART = "apart"
ROWS = "rows"  # variant of a cut of a list that only its use tells to be one of turns
UNSET = "unset"  # the choice of a parameter that some calls are not given
INCLUDED = "included here"  # the note of a step where one template brings in another


@dataclass(frozen=True, slots=True)
class Step:
    """One place that a value passed through on its way into the prompt."""

    place: Place
    note: str


@dataclass(frozen=True, slots=True)
class Cause:
    """Why a value changes, how often, and where it is made."""

    kind: Kind
    scope: Scope
    what: str  # short, for the message: "datetime.now()", "the name `user_name`"
    confidence: Confidence
    place: Place | None = None
    chain: tuple[Step, ...] = ()  # from the source towards the prompt
    # Of `UNORDERED` and `RANDOM`: "set", "listing", "shuffle", "completion", "repr"; of a clock: "snapshot"; of
    # `REQUEST_INPUT`: "argument", "apart"; of `RETRIEVED`: "fetched".
    variant: str = ""
    name: str = ""  # what the value is known by, where `what` shows how it is written


class OriginKind(StrEnum):
    """What stands at a segment's place in the source."""

    LITERAL = "literal"
    VARIABLE = "variable"  # a name, attribute or subscript whose value is not known
    CALL = "call"
    INCLUDE = "include"
    OPAQUE = "opaque"  # the frontend gave up here; `why` says it


@dataclass(frozen=True, slots=True)
class Origin:
    """What stands in the source: its kind, the expression as written, and the names in it."""

    kind: OriginKind
    expression: str = ""
    name: str = ""  # the variable or dotted callee that decides its scope
    why: str = ""
    names: tuple[str, ...] = ()  # every variable and callee in it, where there are several
    chain: tuple[Step, ...] = ()  # assignments it came through, from the source towards the prompt
    field: str = ""  # the field of a template that the value fills, asked where its own name tells nothing
    given: str = ""  # the argument of the function that makes the prompt, where the value comes out of one
    fixed: bool = (
        False  # its name says that it is text of the program, however long: a system prompt, instructions
    )

    @property
    def shown(self) -> str:
        """Return the expression as messages show it."""
        return shortened(self.expression or f"{self.name}()")


LITERAL = Origin(OriginKind.LITERAL)


class Section(StrEnum):
    """Part of a request, in the order in which most providers read it."""

    TOOLS = "tools"
    SYSTEM = "system"
    MESSAGES = "messages"


@dataclass(frozen=True, slots=True)
class Guard:
    """A condition or loop around a segment."""

    kind: str  # "if", "for", "while", "try", "match"
    expression: str
    place: Place
    branch: int = 0  # 0 for the first branch, 1 for the next, …
    scope: Scope = Scope.UNKNOWN  # scope of the condition's value, or of the iterated collection
    cause: Cause | None = None
    name: str = ""  # the variable that decides it, for the catalogue
    names: tuple[str, ...] = ()  # every variable in it, where there are several
    reads: tuple[str, ...] = ()  # the data in it, by the names that holes have: "builtins.input" for `line`
    known_as: tuple[
        tuple[str, str], ...
    ] = ()  # what a caller calls the arguments in it: ("text", "question")


@dataclass(frozen=True, slots=True)
class Breakpoint:
    """A cache mark written in the source (``cache_control``, ``cachePoint``, …)."""

    place: Place
    marker: str  # name of the field
    ttl: str = ""  # as written: "5m", "1h", "" for the default
    made: Place | None = None  # where it is written itself, if not where it is put on


@dataclass(frozen=True, slots=True)
class Segment:
    """A piece of a prompt: literal text, or a hole whose text is known only at run time."""

    place: Place
    text: str | None  # None: a hole
    origin: Origin = LITERAL
    section: Section = Section.MESSAGES
    role: str = ""  # "system", "user", …; "" where the prompt has no messages
    message: int = 0  # index of the message (or tool) within its section
    scope: Scope = Scope.UNKNOWN
    cause: Cause | None = None
    guards: tuple[Guard, ...] = ()
    breakpoint: Breakpoint | None = None  # a mark at the end of this segment

    @property
    def is_hole(self) -> bool:
        """Tell whether the text is unknown until run time."""
        return self.text is None

    @property
    def of_message(self) -> tuple[Section, int]:
        """Return the message that the text is part of: its section and its number there."""
        return self.section, self.message

    @property
    def effective_scope(self) -> Scope:
        """Return the narrower of the text's own scope and that of the guards around it."""
        return self.scope_within(())

    def scope_within(self, shared: Container[Guard]) -> Scope:
        """Return the scope among requests for which some conditions turn out alike."""
        around = (guard.scope for guard in self.guards if guard not in shared)
        return max((self.scope, *around), key=lambda scope: scope.rank)


@dataclass(frozen=True, slots=True)
class Parameter:
    """A request parameter that decides what a cache may share: model, tool_choice, thinking, …"""

    name: str
    place: Place
    text: str | None = None  # the constant, if it is one
    scope: Scope = Scope.UNKNOWN
    cause: Cause | None = None
    choices: tuple[str, ...] = ()  # different values on different paths of the program
    guards: tuple[Guard, ...] = ()  # the conditions that choose between them


@dataclass(frozen=True, slots=True)
class Observation:
    """Something a frontend saw that is not a segment: history cut, tools changed, a re-rendered turn.

    ``what`` is one of the words in `OBSERVATIONS`; the checks turn it into a finding.
    """

    what: str
    place: Place
    detail: str = ""
    cause: Cause | None = None
    related: tuple[Step, ...] = ()
    confidence: Confidence = Confidence.HIGH
    data: Mapping[str, str] = field(default_factory=dict)


OBSERVATIONS: Mapping[str, str] = {
    "history-cut": "earlier turns are dropped from the front",
    "history-rewritten": "earlier turns are changed after they were sent",
    "history-inserted": "something is put before the end of the history",
    "tools-changed": "the tool list changes within a conversation",
    "tools-unordered": "the tool list has no fixed order",
    "dedent-after-interpolation": "whitespace of fixed text depends on an inserted value",
    "template-clock": "a chat template prints the time",
    "template-rewrites": "a chat template renders an earlier turn differently later",
    "template-moves-tools": "a chat template puts the tools behind earlier turns",
    "parse-error": "the file cannot be parsed",
    "replica-random": "requests of one conversation go to different replicas",
    "parameter-flips": "a parameter that is part of the cache key differs between calls",
    "mark-on-changing": "a cache mark stands on or behind text that changes",
    "mark-limit": "more cache marks than the provider takes",
    "mark-below-minimum": "the marked prefix is shorter than the provider's minimum",
    "mark-missing": "a long stable prefix has no mark although the provider needs one",
    "mark-stops": "marks are only ever added: once there are as many as a request may have, no later turn gets one",
    "turns-unmarked": "only what stands in front of the conversation is marked: each step of the loop pays all turns so far in full",
    "mark-order": "a longer lifetime stands behind a shorter one",
    "mark-forbidden": "a mark on a block that cannot carry one",
    "mark-lookback": "one step adds more blocks than the provider looks back over",
    "mark-moved": "a mark moves so that the earlier write is never read",
    "key-per-request": "the cache key or salt is different in every request",
    "ttl-short": "the lifetime is shorter than the interval between calls",
    "written-at-once": "many requests are sent at the same moment, before one of them has written their prefix",
    "usage-miscounted": "cached tokens are counted twice or forgotten",
}


class LayoutKind(StrEnum):
    """What a layout was read from."""

    REQUEST = "request"  # assembled at a visible call to a model
    PROMPT = "prompt"  # a prompt text without a visible call
    TEMPLATE = "template"  # a template file
    CHAT_TEMPLATE = "chat-template"


@dataclass(frozen=True, slots=True)
class Layout:
    """One prompt: segments in the order in which the model reads them.

    ``complete`` is False where the frontend gave up on a part; ``gaps`` says where and why, and no
    rule claims more than that. ``confidence`` tells how sure it is that this text is a prompt.
    """

    name: str
    place: Place
    segments: tuple[Segment, ...]
    kind: LayoutKind = LayoutKind.TEMPLATE
    complete: bool = True
    gaps: tuple[str, ...] = ()
    provider: str = ""  # "openai", "anthropic", …; "" when unknown
    model: str = ""
    confidence: Confidence = Confidence.HIGH
    parameters: tuple[Parameter, ...] = ()
    observations: tuple[Observation, ...] = ()
    repeated: bool = False  # sent again and again within one conversation (history follows)
    rebuilt: bool = False  # its list of messages is made again for each of those requests
    alone: bool = False  # sent in a loop, and yet no conversation goes on in it

    def with_segments(self, segments: tuple[Segment, ...], gaps: tuple[str, ...] = ()) -> Layout:
        """Return the same layout with other segments; ``gaps`` say what is left out of them."""
        return replace(self, segments=segments, gaps=self.gaps + gaps, complete=self.complete and not gaps)
