"""YAML with places, built from the parser's events: nothing is constructed, no tag is obeyed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

import yaml
from yaml.events import (
    AliasEvent,
    CollectionEndEvent,
    CollectionStartEvent,
    DocumentStartEvent,
    Event,
    MappingStartEvent,
    NodeEvent,
    ScalarEvent,
)

from promptlint.frontends.documents.nodes import (
    MAX_DEPTH,
    MAX_NODES,
    DataError,
    DictNode,
    Entry,
    ListNode,
    Node,
    Scalar,
    place_of,
)
from promptlint.frontends.documents.yaml_scalars import mapped
from promptlint.frontends.mapped import MappedText
from promptlint.source import SourceFile

_CORE = "tag:yaml.org,2002:"
_PROPERTIES = re.compile(r"(?:[&!]\S*\s+(?:#[^\n]*\s+)*)+")
_TRUE = frozenset({"true", "yes", "on"})
_PLAIN_FLOAT = re.compile(r"[-+]?\d[\d.]*(?:[eE][-+]?\d+)?|[-+]?\.\d+(?:[eE][-+]?\d+)?", re.ASCII)
_MAX_DIGITS = 100
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_PATTERNS: Mapping[str, list[tuple[str, re.Pattern[str]]]] = yaml.SafeLoader.yaml_implicit_resolvers


def load_all(source: SourceFile) -> tuple[Node, ...]:
    """Read every document of a YAML stream.

    Aliases share the node of their anchor; merge keys are resolved, the mapping's own keys win.

    Raises:
        DataError: the text is not YAML, nests deeper than `MAX_DEPTH`, refers to itself, or stands for
            more than `MAX_NODES` nodes once its aliases are followed.
    """
    loader = None
    builder = _Builder(source)
    try:
        loader = _LOADER(source.text)
        while loader.check_event():
            builder.take(loader.get_event())
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        at = min(mark.index if mark else getattr(error, "position", 0), len(source.text))
        why = getattr(error, "problem", None) or getattr(error, "reason", None) or "malformed"
        raise builder.error(at, str(why)) from None
    finally:
        if loader is not None:
            loader.dispose()
    return tuple(builder.documents)


@dataclass(slots=True)
class _Size:
    """How many nodes a node stands for, and how deep they nest, with all aliases followed."""

    nodes: int
    depth: int


@dataclass(slots=True)
class _Frame:
    """A collection that is being read. ``nodes`` holds items, or keys and values in turn."""

    is_mapping: bool
    start: int
    anchor: str | None
    nodes: list[Node] = field(default_factory=list)
    size: _Size = field(default_factory=lambda: _Size(1, 1))


class _Builder:
    def __init__(self, source: SourceFile) -> None:
        self.source = source
        self.documents: list[Node] = []
        self.frames: list[_Frame] = []
        self.at = 0  # where the event in hand begins
        self.anchors: dict[str, tuple[Node, _Size]] = {}

    def error(self, at: int, why: str) -> DataError:
        return DataError(self.source, at, f"not YAML: {why}")

    def take(self, event: Event) -> None:
        """Add one event to the tree."""
        self.at = _index(event.start_mark)
        if isinstance(event, ScalarEvent):
            self.put(self.scalar(event), _Size(1, 0), event.anchor)
        elif isinstance(event, AliasEvent):
            if event.anchor not in self.anchors:
                raise self.error(self.at, f"alias *{event.anchor} stands before or inside its anchor")
            self.put(*self.anchors[event.anchor], None)
        elif isinstance(event, CollectionStartEvent):
            start = self.start_of(event)
            if len(self.frames) >= MAX_DEPTH:
                raise self.error(start, f"nested deeper than {MAX_DEPTH}")
            self.frames.append(_Frame(isinstance(event, MappingStartEvent), start, event.anchor))
        elif isinstance(event, CollectionEndEvent):
            frame = self.frames.pop()
            self.put(self.collection(frame, _index(event.end_mark)), frame.size, frame.anchor)
        elif isinstance(event, DocumentStartEvent):
            self.anchors.clear()

    def put(self, node: Node, size: _Size, anchor: str | None) -> None:
        """Give a finished node to the collection around it, or to the stream."""
        if anchor is not None:
            self.anchors[anchor] = (node, size)
        if not self.frames:
            self.documents.append(node)
            return
        frame = self.frames[-1]
        frame.nodes.append(node)
        total = frame.size
        total.nodes += size.nodes
        total.depth = max(total.depth, size.depth + 1)
        if total.nodes > MAX_NODES:
            raise self.error(self.at, f"its aliases stand for more than {MAX_NODES:,} values")
        if total.depth > MAX_DEPTH:
            raise self.error(self.at, f"nested deeper than {MAX_DEPTH} once its aliases are followed")

    def start_of(self, event: NodeEvent) -> int:
        """Return where a node begins behind its anchor and tag."""
        start = _index(event.start_mark)
        if (event.anchor or getattr(event, "tag", None)) and (
            match := _PROPERTIES.match(self.source.text, start)
        ):
            return min(match.end(), _index(event.end_mark)) if isinstance(event, ScalarEvent) else match.end()
        return start

    def collection(self, frame: _Frame, end: int) -> Node:
        # A block collection ends where the next token starts; what it owns ends with its last value.
        if self.source.text[end - 1 : end] not in ("]", "}"):
            end = max((place_of(node).span.end for node in frame.nodes), default=frame.start)
        place = self.source.place(frame.start, max(frame.start, end))
        if not frame.is_mapping:
            return ListNode(place, tuple(frame.nodes))
        own: list[Entry] = []
        inherited: dict[str, Entry] = {}
        for key, value in zip(frame.nodes[::2], frame.nodes[1::2], strict=False):
            if isinstance(key, MappedText) and key.text == "<<":
                for entry in _merged(value):
                    inherited.setdefault(entry.name, entry)
            else:
                own.append(Entry(self.name_of(key), place_of(key), value))
        names = {entry.name for entry in own}
        return DictNode(place, (*(e for e in inherited.values() if e.name not in names), *own))

    def name_of(self, key: Node) -> str:
        if isinstance(key, MappedText):
            return key.text
        if isinstance(key, Scalar):
            return key.raw
        return self.source.text[key.place.span.start : key.place.span.end]

    def scalar(self, event: ScalarEvent) -> Node:
        start, end = self.start_of(event), _index(event.end_mark)
        tag = event.tag
        if tag is None or tag == "!":
            is_plain = event.implicit[0] and tag is None
            tag = _resolved(event.value) if is_plain else _CORE + "str"
        kind = tag.removeprefix(_CORE)
        if kind in ("null", "bool", "int", "float", "timestamp"):
            return Scalar(self.source.place(start, max(start, end)), _value(kind, event.value), event.value)
        return mapped(self.source, start, end, event.value, event.style or "")


def _index(mark: object) -> int:
    """Return the offset of a mark; the two parsers have classes of their own for it."""
    return int(getattr(mark, "index", 0))


def _resolved(value: str) -> str:
    """Return the tag of a plain scalar by the patterns of YAML 1.1."""
    for tag, pattern in _PATTERNS.get(value[:1], ()):
        if pattern.match(value):
            return tag
    return _CORE + "str"


def _merged(value: Node) -> tuple[Entry, ...]:
    """Return the entries behind a merge key: of one mapping, or of several, the first of which wins."""
    if isinstance(value, DictNode):
        return value.distinct()
    if isinstance(value, ListNode):
        return tuple(entry for item in value.items if isinstance(item, DictNode) for entry in item.distinct())
    return ()


def _value(kind: str, raw: str) -> bool | int | float | None:
    """Return the value of a plain scalar; None where it has none here (dates, sexagesimal numbers)."""
    if kind == "bool":
        return raw.lower() in _TRUE
    text = raw.replace("_", "")
    if kind == "int" and len(text) <= _MAX_DIGITS and ":" not in text:
        digits = text.lstrip("+-")
        base = (
            2
            if digits.startswith("0b")
            else 16
            if digits.startswith("0x")
            else 8
            if digits[:1] == "0"
            else 10
        )
        try:
            return int(text, base if digits != "0" else 10)
        except ValueError:
            return None
    if kind == "float":
        if _PLAIN_FLOAT.fullmatch(text):
            try:
                return float(text)
            except ValueError:
                return None
        lowered = text.lower()
        if lowered.endswith((".inf", ".nan")):
            return float(lowered.replace(".", ""))
    return None
