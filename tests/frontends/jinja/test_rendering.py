"""For a concrete assignment, the segments put together are what Jinja itself renders.

Random templates of text, tags with whitespace control, ``if``, ``for``, ``set``, macros and filters are read
into segments; `put_together` evaluates guards and holes with plain Python and the result is compared.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import jinja2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from promptlint.frontends import jinja
from promptlint.frontends.base import Context
from promptlint.frontends.mapped import MappedText
from promptlint.layout import Guard, Segment
from promptlint.source import SourceFile

VALUES: Mapping[str, object] = {
    "s1": "Ada",
    "s2": " two words ",
    "yes": True,
    "no": False,
    "some": ["x", "y", "z"],
    "none_at_all": [],
    "people": [{"name": "Bo", "tags": ["p", "q"]}, {"name": "Cy", "tags": []}],
}
ENVIRONMENTS = {
    "jinja": jinja2.Environment(),
    "trimmed": jinja2.Environment(trim_blocks=True, lstrip_blocks=True),
}

_texts = st.sampled_from(["a", "b\n", "  ", "\n", "\n  ", " c ", "d\n\n", "{ ", " }", "# x"])
_open = st.sampled_from(["{%", "{%-", "{%+"])
_close = st.sampled_from(["%}", "-%}", "+%}"])
_shown = st.sampled_from(
    [
        "s1",
        "s2",
        "'const'",
        "1 + 2",
        "s1 ~ '-' ~ s2",
        "'<' + s2 + '>'",
        "s1 if yes else 'other'",
        "'x' if no else s2",
        "missing | default('fallback')",
        "s1 | default('unused')",
        "'Up' | upper",
        "people[1].name",
        "'%s!' % s1",
        "'{}:{who}'.format(s2, who=s1)",
        "' in ' | trim",
    ]
)
_conditions = st.sampled_from(["yes", "no", "not yes", "s1 == 'Ada'", "s2", "none_at_all", "some"])


@st.composite
def template(draw: st.DrawFn, depth: int = 3, loops: tuple[str, ...] = ()) -> str:
    """A template; ``loops`` are the loop variables in scope."""

    def tag(inside: str) -> str:
        return f"{draw(_open)} {inside} {draw(_close)}"

    parts: list[str] = []
    for _ in range(draw(st.integers(1, 4))):
        kinds = ["text", "text", "show", "set", "comment", "raw"] + (
            ["if", "for", "macro", "block"] if depth else []
        )
        kind = draw(st.sampled_from(kinds))
        if kind == "text":
            parts.append(draw(_texts))
        elif kind == "show":
            shown = draw(_shown if not loops else st.sampled_from([*loops, "loop.index", "s1"]))
            sign = draw(st.sampled_from(["", "-"]))
            parts.append(f"{{{{{sign} {shown} {draw(st.sampled_from(['', '-']))}}}}}")
        elif kind == "set":
            name = draw(st.sampled_from(["v1", "v2"]))
            parts.append(tag(f"set {name} = {draw(_shown)}") + f"[{{{{ {name} }}}}]")
        elif kind == "comment":
            parts.append(f"{{#{draw(st.sampled_from(['', '-']))} note {draw(st.sampled_from(['', '-']))}#}}")
        elif kind == "raw":
            opening = f"{draw(_open)} raw {draw(st.sampled_from(['%}', '-%}']))}"
            parts.append(opening + draw(st.sampled_from(["{{ s1 }}", " {% if %} ", "\n"])) + tag("endraw"))
        elif kind == "macro":
            name = f"m{draw(st.integers(0, 99))}"
            parts.append(tag(f"macro {name}(arg, other='o')") + "<{{ arg }}{{ other }}>" + tag("endmacro"))
            parts.append(f"{{{{ {name}(s1) }}}}{{{{ {name}('k', other=s2) }}}}")
        elif kind == "block":
            parts.append(tag("with w = s1") + "{{ w }}" + draw(template(depth=0)) + tag("endwith"))
        elif kind == "if":
            parts.append(tag(f"if {draw(_conditions)}") + "1" + draw(template(depth=depth - 1, loops=loops)))
            if draw(st.booleans()):
                parts.append(
                    tag("elif s1 == 'Bo' or yes") + "2" + draw(template(depth=depth - 1, loops=loops))
                )
            if draw(st.booleans()):
                parts.append(tag("else") + "3" + draw(template(depth=depth - 1, loops=loops)))
            parts.append(tag("endif"))
        else:
            number = len(loops) + depth * 10
            item = f"item{number}"
            over, shown = draw(
                st.sampled_from(
                    [
                        ("some", item),
                        ("none_at_all", item),
                        ("people", f"{item}.name"),
                        *([("['u', 'v']", item)] if depth > 1 else []),  # deeper ones are not unrolled
                        ("some if yes", item),
                    ]
                )
            )
            parts.append(tag(f"for {item} in {over}") + ".")
            parts.append(draw(template(depth=depth - 1, loops=(shown,))))
            if draw(st.booleans()):
                parts.append(tag("else") + "none")
            parts.append(tag("endfor"))
    return "".join(parts)


@dataclass
class Frame:
    """One turn of a loop while segments are put together."""

    path: str
    value: object
    index: int
    length: int


class Reader:
    """Evaluates guards and holes for `VALUES`."""

    def __init__(self, text: str, found: jinja.Fragment) -> None:
        self.text = text
        self.segments = found.segments
        self.holes = {hole.index: hole for hole in found.holes}
        self.tests: dict[object, dict[int, str]] = {}
        for segment in found.segments:
            for guard in segment.guards:
                self.tests.setdefault((guard.kind, guard.place), {})[guard.branch] = guard.expression

    def put_together(self) -> str:
        return "".join(self._part(list(enumerate(self.segments)), 0, []))

    def _part(self, part: Sequence[tuple[int, Segment]], depth: int, frames: list[Frame]) -> Iterator[str]:
        at = 0
        while at < len(part):
            index, segment = part[at]
            if len(segment.guards) == depth:
                yield self._hole(index, frames) if segment.text is None else segment.text
                at += 1
                continue
            guard = segment.guards[depth]
            end = at
            while end < len(part) and self._same(part[end][1], guard, depth):
                end += 1
            yield from self._guarded(guard, part[at:end], depth, frames)
            at = end

    def _same(self, segment: Segment, guard: Guard, depth: int) -> bool:
        if len(segment.guards) <= depth:
            return False
        other = segment.guards[depth]
        return (other.kind, other.place) == (guard.kind, guard.place)

    def _guarded(
        self, guard: Guard, part: Sequence[tuple[int, Segment]], depth: int, frames: list[Frame]
    ) -> Iterator[str]:
        def branch(number: int) -> list[tuple[int, Segment]]:
            return [(index, segment) for index, segment in part if segment.guards[depth].branch == number]

        if guard.kind == "for":
            items = VALUES[guard.expression]
            assert isinstance(items, list)
            for index, item in enumerate(items):
                frame = Frame(f"{guard.name}[]", item, index, len(items))
                yield from self._part(branch(0), depth + 1, [*frames, frame])
            if not items:
                yield from self._part(branch(1), depth + 1, frames)
            return
        tests = self.tests[(guard.kind, guard.place)]
        taken = max(tests)
        for number in sorted(tests):
            is_else = number > 0 and tests[number] == tests.get(0)
            if not is_else and ENVIRONMENTS["jinja"].compile_expression(tests[number])(**VALUES):
                taken = number
                break
            if number == max(tests) and not is_else:
                taken = number + 1
        yield from self._part(branch(taken), depth + 1, frames)

    def _hole(self, index: int, frames: list[Frame]) -> str:
        hole = self.holes[index]
        if hole.path == "loop.index":
            return str(frames[-1].index + 1)
        value: object = VALUES
        path = hole.path
        for frame in reversed(frames):
            if path.startswith(frame.path):
                value, path = frame.value, path[len(frame.path) :].lstrip(".")
                break
        for name, number in re.findall(r"([a-z]\w*)|\[(\d+)\]", path):
            if number:
                assert isinstance(value, list)
                value = value[int(number)]
            else:
                assert isinstance(value, Mapping)
                value = value.get(name, hole.default)
        return str(value)


def read(text: str, dialect: str) -> jinja.Fragment:
    source = SourceFile("a.j2", text)
    return jinja.segments(MappedText.of(source), Context(lambda path: None), dialect=dialect)


@settings(max_examples=100, deadline=None)
@given(text=template(), dialect=st.sampled_from(["jinja", "trimmed"]))
def test_segments_put_together_are_the_rendering(text: str, dialect: str) -> None:
    check_rendering(text, dialect)


@pytest.mark.slow
@settings(max_examples=1500, deadline=None)
@given(text=template(), dialect=st.sampled_from(["jinja", "trimmed"]))
def test_many_templates_put_together(text: str, dialect: str) -> None:
    check_rendering(text, dialect)


def check_rendering(text: str, dialect: str) -> None:
    found = read(text, dialect)
    assert found.complete, found.gaps
    assert Reader(text, found).put_together() == ENVIRONMENTS[dialect].from_string(text).render(VALUES)


@settings(max_examples=80, deadline=None)
@given(text=template(), dialect=st.sampled_from(["jinja", "trimmed"]))
def test_spans_are_where_the_text_stands(text: str, dialect: str) -> None:
    for segment in read(text, dialect).segments:
        raw = text[segment.place.span.start : segment.place.span.end]
        if segment.text is None or raw != segment.text:
            assert raw
            assert not raw[0].isspace()
            assert not raw[-1].isspace()
