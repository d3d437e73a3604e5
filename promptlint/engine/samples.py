"""Sample values in the place of holes: loops are run over given lists, conditions decided by given values.

::

    {% for s in sections %}## {{ s.title }}{% endfor %}      {"sections": [{"title": "Fees"}, {"title": "Ports"}]}
                      ↓
    ## Fees  ## Ports                                        the same segments, once for each element

What a value does not decide stays as it is. Each text keeps the scope of its hole: a sample tells how long it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, islice
from typing import Any

from promptlint.layout import Guard, Layout, Segment

MAX_ELEMENTS = 200  # of a given list that are shown
MAX_PIECES = 20_000  # of a prompt: loops within loops make many of a short list
_BEFORE = 200  # characters in front of a collection in which its loop's targets stand
_TARGETS = re.compile(r"\bfor\s+([\w\s,()]+?)\s+in\s*$|^\{%[-+]?\s*(?:async\s+)?for\s+([\w\s,()]+?)\s+in\b")
_STEP = re.compile(r"\.?([^.\[\]]+)|\[(-?\d+)\]|(\[\])")
_SEPARATOR = re.compile(r"""(["'])((?:\\.|(?!\1).)*)\1\s*(?:\.join\(|\)\s*$)""")
_COUNTED = re.compile(r"enumerate\((?:.*,\s*(?:start\s*=\s*)?(\d+)\s*\))?")
_MISSING = object()


@dataclass(frozen=True, slots=True)
class Samples:
    """Values by the names of holes; ``source`` gives the text of a file, where the variables of a loop are named."""

    values: Mapping[str, Any]
    source: Callable[[str], str]

    def fill(self, segments: Sequence[Segment], depth: int = 0) -> Iterator[Segment]:
        """Yield segments with the values in them; ``depth`` conditions and loops around them are dealt with."""
        heads = {g.place: g.expression for s in segments for g in s.guards if g.branch == 0}
        for guard, group in groupby(segments, lambda s: s.guards[depth] if len(s.guards) > depth else None):
            inside = list(group)
            if guard is None:
                for segment in inside:
                    yield from self._filled(segment)
            elif guard.kind == "for" and isinstance(found := self._at(_path(guard)), list | Mapping):
                for bound in self._rounds(guard, found):
                    yield from bound.fill(inside, depth + 1)
            elif guard.kind != "if" or self._may_hold(guard, heads.get(guard.place, "")):
                yield from self.fill(inside, depth + 1)

    def _rounds(self, guard: Guard, found: list[Any] | Mapping[str, Any]) -> Iterator[Samples]:
        pairs = guard.expression.rstrip().endswith("items()")
        elements = list(found.items()) if pairs and isinstance(found, Mapping) else list(found)
        path, targets = _path(guard), self._targets(guard)
        counted = _COUNTED.match(guard.expression) if len(targets) == 2 else None
        first = int(counted[1] or 0) if counted else 0
        for number, element in enumerate(elements[:MAX_ELEMENTS], first):
            bound: dict[str, Any] = {f"{path}[]": element}
            parts = (number, element) if counted else element
            if len(targets) == 1:
                bound[targets[0]] = element
            elif isinstance(parts, list | tuple) and len(parts) == len(targets):
                for name, part in zip(targets, parts, strict=True):
                    bound[name] = bound[f"{path}[].{name}"] = part
            yield Samples({**self.values, **bound}, self.source)

    def _targets(self, guard: Guard) -> list[str]:
        text, span = self.source(guard.place.path), guard.place.span
        found = _TARGETS.search(text[max(0, span.start - _BEFORE) : span.start]) or _TARGETS.search(
            text[span.start : span.end]
        )
        return re.findall(r"\w+", found[1] or found[2]) if found else []

    def _may_hold(self, guard: Guard, head: str) -> bool:
        """Tell whether a branch is taken, as far as the values tell."""
        first = self._truth(head)
        if guard.branch and guard.expression == head:
            return first is not True
        own = self._truth(guard.expression)
        return own is not False and not (guard.branch and first)

    def _truth(self, condition: str) -> bool | None:
        plain = condition.removeprefix("not ").strip()
        value = self._at(plain)
        return None if value is _MISSING else bool(value) is (plain == condition.strip())

    def _filled(self, segment: Segment) -> Iterator[Segment]:
        """Yield a hole's sample text, or the turns that are given for a conversation."""
        if segment.is_hole:
            for name in (segment.origin.expression, segment.origin.name, *segment.origin.names):
                value = self._at(name) if name else _MISSING
                if value is _MISSING or value is None:
                    continue
                if isinstance(value, list) and value and all(map(_is_turn, value)):
                    for turn in value[:MAX_ELEMENTS]:
                        role = str(turn.get("role", segment.role))
                        yield replace(segment, text=_text(turn["content"], ""), role=role)
                else:
                    yield replace(segment, text=_text(value, segment.origin.expression))
                return
        yield segment

    def _at(self, name: str) -> Any:
        """Return the value under a name: ``user.name``, ``user["name"]``, ``rows[0].text``, ``sections[].title``."""
        path = re.sub(r"""\[["']([^"'\]]+)["']\]""", r".\1", name)
        for end in [len(path), *(m.start() for m in reversed(list(re.finditer(r"[.\[]", path))))]:
            found = self.values.get(
                path[:end] + "[]" if path[end : end + 2] == "[]" else path[:end], _MISSING
            )
            if found is not _MISSING:
                return _below(found, path[end:].removeprefix("[]"))
        return _MISSING


def _path(guard: Guard) -> str:
    return guard.name.removesuffix(".items") or guard.expression


def _below(value: Any, rest: str) -> Any:
    """Return what stands under the rest of a path; the rest has to be a path to the end."""
    at = 0
    while at < len(rest):
        step = _STEP.match(rest, at)
        if step is None or step[3]:
            return _MISSING
        key: Any = step[1] if step[1] is not None else int(step[2])
        try:
            value = value[key]
        except (LookupError, TypeError):
            return _MISSING
        at = step.end()
    return value


def _is_turn(value: Any) -> bool:
    return isinstance(value, Mapping) and "content" in value


def _text(value: Any, expression: str) -> str:
    """Return a value as a prompt shows it: a list joined as the expression joins it, or counted."""
    if isinstance(value, list | Mapping):
        if re.search(r"\blen\(|\|\s*(?:length|count)\b", expression):
            return str(len(value))
        if "join" in expression:
            separator = _SEPARATOR.search(expression)
            return (separator[2] if separator else "").replace("\\n", "\n").join(map(str, value))
    return value if isinstance(value, str) else str(value)


def filled(layout: Layout, values: Mapping[str, Any], source: Callable[[str], str]) -> Layout:
    """Return a layout with sample values in it."""
    pieces = tuple(islice(Samples(values, source).fill(layout.segments), MAX_PIECES + 1))
    told = f"it has more than {MAX_PIECES:,} pieces with the samples: the rest is not shown"
    return layout.with_segments(pieces[:MAX_PIECES], (told,) if len(pieces) > MAX_PIECES else ())


def unused(values: Mapping[str, Any], segments: Sequence[Segment]) -> list[str]:
    """Return the names of values that no hole, loop or condition of a prompt asks for."""
    asked = " ".join(
        f"{s.origin.expression} {s.origin.name} {' '.join(s.origin.names)} "
        + " ".join(f"{guard.expression} {guard.name}" for guard in s.guards)
        for s in segments
    )
    return [name for name in values if not re.search(rf"(?<![\w]){re.escape(name)}(?![\w])", asked)]
