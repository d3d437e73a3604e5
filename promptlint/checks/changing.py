"""PL101 to PL108: values that change unseen, or data, in front of stable text."""

from __future__ import annotations

from promptlint.checks.before_stable import BeforeStable
from promptlint.layout import Kind, Scope

CLOCK = BeforeStable(
    "PL101",
    "clock-before-stable",
    frozenset({Kind.CLOCK}),
    "the time from {what}",
    "move the time behind the stable text, into the last user message, or print only the date",
    fixes={
        Scope.DAY: "move the date behind the stable text, or into the last user message",
        Scope.PROCESS: "the time is read once, when the module is imported: leave it out, or move it to the end",
    },
)
IDENTIFIER = BeforeStable(
    "PL102",
    "identifier-before-stable",
    frozenset({Kind.IDENTIFIER}),
    "the identifier {what}",
    "leave it out, send it as metadata, or move it behind the stable text",
)
RANDOM = BeforeStable(
    "PL103",
    "random-before-stable",
    frozenset({Kind.RANDOM}),
    "the random value {what}",
    "draw it once per release, or move it behind the stable text",
    variants=frozenset({""}),
)
PER_USER = BeforeStable(
    "PL104",
    "per-user-before-stable",
    frozenset({Kind.PER_USER}),
    "the user's data {what}",
    "put what all users share first and what belongs to one user behind it",
    subjects={Scope.TENANT: "the tenant's data {what}"},
    fixes={Scope.TENANT: "put what all tenants share first and what belongs to one tenant behind it"},
)
ENVIRONMENT = BeforeStable(
    "PL105",
    "environment-before-stable",
    frozenset({Kind.ENVIRONMENT}),
    "the environment value {what}",
    "give it in a message behind the stable text; a path or host can be a fixed word in front of that",
)
COUNTER = BeforeStable(
    "PL106",
    "counter-before-stable",
    frozenset({Kind.COUNTER}),
    "the counter {what}",
    "append the count to the newest message instead of rendering it into earlier text",
)
RETRIEVED = BeforeStable(
    "PL107",
    "retrieved-before-stable",
    frozenset({Kind.RETRIEVED}),
    "the retrieved text {what}",
    "put instructions and examples first and what was retrieved behind them",
    peers=frozenset({Kind.REQUEST_INPUT}),
)
REQUEST_INPUT = BeforeStable(
    "PL108",
    "request-input-before-stable",
    frozenset({Kind.REQUEST_INPUT}),
    "the input {what}",
    "put the fixed instructions first and the input last",
    peers=frozenset({Kind.RETRIEVED}),
)

CHECKS = (CLOCK, IDENTIFIER, RANDOM, PER_USER, ENVIRONMENT, COUNTER, RETRIEVED, REQUEST_INPUT)
