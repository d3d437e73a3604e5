"""The catalogue: everything the data says, loaded when it is first asked for."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from promptlint.catalog import rows
from promptlint.catalog.clock import clock_scope
from promptlint.catalog.literals import Literal, find_literals
from promptlint.catalog.locate import data_files, own_files, rules_root
from promptlint.catalog.model import Rule, Sink, Volatile
from promptlint.catalog.names import NameTable
from promptlint.catalog.patterns import DottedIndex
from promptlint.errors import CatalogError
from promptlint.layout import Confidence, Kind, Scope

# A traced call is a fact, a global that a program registered under a telling name nearly one.
_CONFIDENCE = {
    "calls": Confidence.HIGH,
    "values": Confidence.HIGH,
    "globals": Confidence.HIGH,
    "filters": Confidence.HIGH,
    "names": Confidence.LOW,
    "literals": Confidence.LOW,
}
_KIND_OF_SCOPE = {
    Scope.PROCESS: Kind.ENVIRONMENT,
    Scope.MACHINE: Kind.ENVIRONMENT,
    Scope.DAY: Kind.CLOCK,
    Scope.TENANT: Kind.PER_USER,
    Scope.USER: Kind.PER_USER,
    Scope.SESSION: Kind.IDENTIFIER,
    Scope.REQUEST: Kind.REQUEST_INPUT,
}


class Catalog:
    """Typed access to the data under ``rules/`` and to a user's own files of the same form.

    Args:
        extra: TOML files, or folders of them, whose rows win over equal ones of ours.
        names: from the configuration: a glob over variable names, and ``scope`` or ``scope, kind``.
            The first glob that fits decides; scope ``release`` says that the value is constant.
    """

    def __init__(self, extra: tuple[Path, ...] = (), names: Mapping[str, str] | None = None) -> None:
        self._extra = extra
        self._declared = [(glob, _declared(glob, value)) for glob, value in (names or {}).items()]

    def load(self) -> None:
        """Read every table now, so that a fault in a user's own file ends the run at its start.

        Raises:
            CatalogError: a file does not follow its schema.
        """
        _ = self._calls, self._values, self._names, self._globals, self._filters, self._literals, self._sinks

    def call(self, dotted: str) -> Volatile | None:
        """Return what a call's dotted path tells: ``datetime.datetime.now``, ``uuid.uuid4``.

        Reading an environment variable is asked for as ``os.environ[NAME]``.
        """
        return self._calls.find(dotted)

    def value(self, dotted: str) -> Volatile | None:
        """Return what an outside attribute tells without being called: ``sys.argv``, ``flask.request.json``."""
        return self._values.find(dotted)

    def name(self, identifier: str) -> Volatile | None:
        """Return what the name of a variable or attribute path tells."""
        return self._names.find(identifier)

    def is_chosen(self, identifier: str, *, plain: bool = True) -> bool:
        """Tell whether a name says that its value belongs to the program; ``plain`` for one like ``description``."""
        return self._names.is_chosen(identifier, plain=plain)

    def is_setting(self, identifier: str) -> bool:
        """Tell whether a name says that its value is the program's even where it is printed like data."""
        return self._names.is_setting(identifier)

    def is_fixed(self, identifier: str) -> bool:
        """Tell whether a name is that of a text which the program sends as it is: ``self.system_prompt``."""
        return self._names.is_fixed(identifier)

    def is_setting_label(self, label: str) -> bool:
        """Tell whether what stands in front of a value announces a setting: ``Output format:``."""
        return self._names.is_setting_label(label)

    def phrase(self, text: str) -> Volatile | None:
        """Return what the words in front of a value tell of it: ``Current date and time:``."""
        return self._names.find_phrase(text)

    def template_global(self, name: str) -> Volatile | None:
        """Return what a function or variable that templates are given tells: ``now``, ``uuid4``."""
        return self._globals.find(name)

    def template_filter(self, name: str) -> Volatile | None:
        """Return what a template filter does to its value: ``shuffle`` makes it random."""
        return self._filters.find(name)

    def literals(self, text: str) -> Iterator[tuple[int, int, Volatile]]:
        """Yield the range of each value of one run that was pasted into a fixed text."""
        return find_literals(text, self._literals)

    clock_scope = staticmethod(clock_scope)

    def sink(self, dotted_path: str) -> Sink | None:
        """Return the sink that a call's dotted path names."""
        return self._sinks.find(dotted_path)

    @cached_property
    def sinks_by_suffix(self) -> Mapping[str, tuple[Sink, ...]]:
        """Return all sinks by the last segment of their patterns, the most exact first."""
        return self._sinks.suffixes()

    @cached_property
    def sinks(self) -> tuple[Sink, ...]:
        """Return every sink."""
        return tuple(entry.value for entry in self._sinks)

    @cached_property
    def rules(self) -> Mapping[str, Rule]:
        """Return every rule by its code, in the order of the codes."""
        from promptlint.catalog.rules import load_rules

        return load_rules(rules_root())

    @cached_property
    def _own(self) -> list[tuple[str, dict[str, Any]]]:
        return [_read(path, path.as_posix()) for path in own_files(self._extra)]

    @cached_property
    def _volatile(self) -> list[tuple[str, dict[str, Any]]]:
        return [*_shipped("volatile"), *self._own]

    @cached_property
    def _calls(self) -> DottedIndex[Volatile]:
        return self._dotted("calls")

    @cached_property
    def _values(self) -> DottedIndex[Volatile]:
        return self._dotted("values")

    @cached_property
    def _globals(self) -> DottedIndex[Volatile]:
        return self._dotted("globals")

    @cached_property
    def _filters(self) -> DottedIndex[Volatile]:
        return self._dotted("filters")

    @cached_property
    def _names(self) -> NameTable:
        lists: dict[str, set[str]] = {key: set() for key in rows.WORD_LISTS}
        for shown, data in self._volatile:
            for key, found in lists.items():
                if key in data:
                    found.update(rows.words(rows.Row(shown, data, shown), key))

        def phrases(key: str) -> frozenset[tuple[str, ...]]:
            return frozenset(tuple(phrase.split()) for phrase in lists[key])

        table = NameTable(
            frozenset(lists["before"]),
            frozenset(lists["after"]),
            frozenset(lists["veto"]),
            carriers=phrases("carriers"),
            stable=phrases("stable"),
            stable_owners=phrases("stable_owners"),
            attributes=frozenset(lists["attributes"]),
            chosen=frozenset(lists["chosen"]),
            settings=frozenset(lists["settings"]),
            moments=frozenset(lists["moments"]),
            samples=frozenset(lists["samples"]),
            fixed=phrases("fixed"),
            declared=list(self._declared),
        )
        self._fill("names", table.add)
        return table

    @cached_property
    def _literals(self) -> tuple[Literal, ...]:
        found: list[Literal] = []
        for shown, data in self._volatile:
            for row in rows.rows(data, "literals", shown):
                try:
                    pattern = re.compile(row.text("pattern"), re.IGNORECASE)
                except re.error as error:
                    raise row.fail("pattern", f"is not a regular expression: {error}") from None
                if "value" not in pattern.groupindex:
                    raise row.fail("pattern", "needs a group named `value`")
                found.append(
                    Literal(pattern, row.text("trigger"), rows.volatile(row, _CONFIDENCE["literals"]))
                )
        return tuple(found)

    @cached_property
    def _sinks(self) -> DottedIndex[Sink]:
        index: DottedIndex[Sink] = DottedIndex()
        for shown, data in [*_shipped("sinks"), *self._own]:
            for row in rows.rows(data, "sink", shown):
                for sink in rows.sinks(row):
                    _add(row, sink.pattern, sink, index.add)
        return index

    def _dotted(self, table: str) -> DottedIndex[Volatile]:
        index: DottedIndex[Volatile] = DottedIndex()
        self._fill(table, index.add)
        return index

    def _fill(self, table: str, add: Callable[[str, Volatile], None]) -> None:
        for shown, data in self._volatile:
            for row in rows.rows(data, table, shown):
                value = rows.volatile(row, _CONFIDENCE[table])
                for pattern in row.strings("match"):
                    _add(row, pattern, value, add)


def _add(row: rows.Row, pattern: str, value: Any, add: Callable[[str, Any], None]) -> None:
    try:
        add(pattern, value)
    except ValueError as error:
        raise row.fail("match", str(error)) from None


def _read(path: Path, shown: str) -> tuple[str, dict[str, Any]]:
    data = rows.read_toml(path, shown)
    rows.check_tables(data, shown)
    return shown, data


@lru_cache(maxsize=4)
def _shipped(folder: str) -> tuple[tuple[str, dict[str, Any]], ...]:
    """Return our own files of one folder; parsed once a process, whatever the number of catalogues."""
    return tuple(_read(path, f"{folder}/{path.name}") for path in data_files(folder))


def _declared(glob: str, value: str) -> Volatile:
    scope_text, _, kind_text = (part.strip() for part in value.partition(","))
    try:
        scope = Scope(scope_text)
        kind = Kind(kind_text) if kind_text else _KIND_OF_SCOPE.get(scope, Kind.OTHER)
    except ValueError as error:
        raise CatalogError(
            f"names: {glob!r} = {value!r}: {error}",
            f"write one of {', '.join(Scope)}, then a comma and a kind",
        ) from None
    # Somebody wrote it down: as good as a traced call.
    return Volatile(kind, scope, Confidence.HIGH, "configuration", "", "configuration")
