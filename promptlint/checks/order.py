"""PL201 to PL205: the same things in another order, in front of stable text."""

from __future__ import annotations

from promptlint.checks.before_stable import BeforeStable
from promptlint.layout import Kind

_UNORDERED = frozenset({Kind.UNORDERED})

COLLECTION = BeforeStable(
    "PL201",
    "unordered-collection",
    _UNORDERED,
    "the order of {what}",
    "sort it before it becomes text",
    variants=frozenset({"", "set"}),
)
DIRECTORY = BeforeStable(
    "PL202",
    "directory-order",
    _UNORDERED,
    "the order of the listing {what}",
    "sort the listing: its order is the file system's",
    variants=frozenset({"listing"}),
)
SHUFFLED = BeforeStable(
    "PL203",
    "random-order",
    frozenset({Kind.RANDOM}),
    "the order drawn by {what}",
    "draw once with a fixed seed, or put what is drawn behind the stable text",
    variants=frozenset({"shuffle"}),
)
COMPLETION = BeforeStable(
    "PL204",
    "completion-order",
    _UNORDERED,
    "the order in which {what} finishes",
    "collect the results in the order in which they were started",
    variants=frozenset({"completion"}),
)
REPR = BeforeStable(
    "PL205",
    "unstable-repr",
    _UNORDERED,
    "the text of {what}, made from a memory address or hash,",
    "print a name or a field instead of the object",
    variants=frozenset({"repr"}),
)

CHECKS = (COLLECTION, DIRECTORY, SHUFFLED, COMPLETION, REPR)
