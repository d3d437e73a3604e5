"""The layouts that one run has given, each once: how texts, messages and tools become layouts."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from promptlint.frontends.python.evaluate import audience
from promptlint.frontends.python.evaluate.machine import Frame, Machine, Results
from promptlint.frontends.python.evaluate.twins import Twins
from promptlint.frontends.python.prompts.conversing import stays
from promptlint.frontends.python.prompts.emit import Emitter, emitter_of
from promptlint.frontends.python.prompts.history import HistoryWatch
from promptlint.frontends.python.prompts.stages import Stages
from promptlint.frontends.python.values.forms import (
    MIN_TEXT,
    is_message,
    opens_as_system,
)
from promptlint.frontends.python.values.values import (
    DictV,
    Item,
    ListV,
    Str,
    Value,
)
from promptlint.layout import Confidence, Layout, LayoutKind, Observation, Section
from promptlint.source import Place

_OF_ONE_LIST = ("layouts", "seen", "silent", "stages", "calls", "twins", "assigned")


class Layouts(HistoryWatch):
    """Collects the layouts of one run, and what was seen of histories."""

    def __init__(self) -> None:
        super().__init__()
        self.layouts: list[Layout] = []
        self.count = 0  # of everything that was ever offered
        self.seen: set[object] = set()
        self.stages = Stages()
        self.calls: Results = {}  # that recorded something: to be run again for other layouts
        self.twins: Twins = {}  # of what modules and classes hold
        self.assigned: dict[object, Value] = {}  # to names of modules and classes by functions
        self.silent = False
        self.constants: set[Place] = set()  # where texts stand that may be filled out of sight

    @contextmanager
    def into(self, layouts: list[Layout]) -> Iterator[None]:
        """Collect layouts elsewhere meanwhile, as if nothing had been seen."""
        saved = {name: getattr(self, name) for name in _OF_ONE_LIST}
        self.layouts, self.seen, self.silent, self.stages = layouts, set(), False, Stages()
        self.calls, self.twins, self.assigned = {}, {}, {}
        try:
            yield
        finally:
            for name, value in saved.items():
                setattr(self, name, value)

    def observe(self, observation: Observation, about: Value | None = None) -> None:
        """Keep something that is not a segment, as a layout of its own."""
        if self.silent:
            return
        self.count += 1
        key = (observation.what, observation.place)
        if key in self.seen:
            return
        self.seen.add(key)
        emitter = Emitter()
        if isinstance(about, Str):
            emitter.parts(about.parts)
        self.layouts.append(
            Layout(
                observation.what,
                observation.place,
                tuple(emitter.segments),
                LayoutKind.PROMPT,
                observations=(observation,),
                confidence=observation.confidence,
            )
        )

    def text(
        self,
        m: Machine,
        name: str,
        value: Value,
        node: ast.AST,
        frame: Frame,
        confidence: Confidence,
        *,
        turns: bool = False,
        weak: bool = False,
    ) -> None:
        """Keep a text whose name says that it is a prompt; ``turns`` if a system text has a conversation behind it."""
        place = frame.module.place(node)
        emitter = emitter_of(m, stays=stays(node, frame))
        emitter.role = "system" if "system" in name.lower() or opens_as_system(value) else ""
        if emitter.role:
            emitter.section = Section.SYSTEM
        emitter.value(value, place)
        known = sum(len(s.text) for s in emitter.segments if s.text)
        # However short, what changes may have a text behind it that is not seen: f"{now}\n{system_prompt}".
        short = known < MIN_TEXT and not (known and any(s.cause for s in emitter.segments))
        said = not weak or audience.is_addressed(emitter.segments)
        if short or not said or audience.is_code(emitter.segments) or audience.is_page(emitter.segments):
            return
        layout = self._layout(m, f"{name} in {frame.where}", place, LayoutKind.PROMPT, confidence)
        if turns and emitter.role:
            layout = replace(layout, repeated=True)
        self.add(m, layout.with_segments(tuple(emitter.segments), emitter.gaps))

    def message_list(
        self, m: Machine, name: str, value: ListV, node: ast.AST, frame: Frame, *, repeated: bool = False
    ) -> None:
        """Keep a list of messages; ``repeated`` tells that they go on in a loop that has ended."""
        if not any(is_message(i.value) for i in value.items):
            return
        place = frame.module.place(node)
        emitter = emitter_of(m)
        emitter.messages(value, place)
        layout = self._layout(m, f"{name} in {frame.where}", place, LayoutKind.PROMPT, Confidence.MEDIUM)
        layout = replace(layout, repeated=layout.repeated or repeated)
        self.add(m, layout.with_segments(tuple(emitter.segments), emitter.gaps))

    def tool(self, m: Machine, value: DictV, place: Place, frame: Frame) -> None:
        """Keep one tool definition."""
        if value.cause is None:
            return
        emitter = emitter_of(m)
        emitter.tools(ListV([Item(value)]), place)
        layout = self._layout(m, f"tool in {frame.where}", place, LayoutKind.PROMPT, Confidence.MEDIUM)
        self.add(m, layout.with_segments(tuple(emitter.segments), emitter.gaps))

    def tool_text(self, m: Machine, value: Str, node: ast.AST, frame: Frame, *, sure: bool = False) -> None:
        """Keep a text that becomes part of a tool's definition; ``sure`` tells that it does, whatever its name.

        Who is given tools goes on when it has used one.
        """
        place = frame.module.place(node)
        emitter = emitter_of(m)
        emitter.section = Section.TOOLS
        emitter.parts(value.parts)
        layout = self._layout(m, f"tool in {frame.where}", place, LayoutKind.PROMPT, Confidence.MEDIUM)
        self.add(
            m,
            replace(layout, repeated=layout.repeated or sure).with_segments(
                tuple(emitter.segments), emitter.gaps
            ),
        )

    def _layout(
        self, m: Machine, name: str, place: Place, kind: LayoutKind, confidence: Confidence
    ) -> Layout:
        gaps = ("the evaluation budget was used up here",) if m.exhausted else ()
        return Layout(
            name, place, (), kind, complete=not gaps, gaps=gaps, confidence=confidence, repeated=m.repeats()
        )

    def add(self, m: Machine, layout: Layout) -> None:
        """Keep a layout unless an equal one is there."""
        if self.silent or (not layout.segments and not layout.observations and not layout.parameters):
            return
        self.count += 1
        key = (
            layout.kind,
            tuple(
                (s.place, s.section, s.cause.kind if s.cause else None, s.cause.scope if s.cause else None)
                for s in layout.segments
            ),
            tuple(layout.observations and (o.what, o.place) for o in layout.observations),
            tuple((p.name, p.text, p.choices, p.scope, p.cause and p.cause.kind) for p in layout.parameters),
            layout.repeated,
            layout.place in self.constants,
        )
        if key in self.seen:
            return
        self.seen.add(key)
        self.layouts.append(replace(layout, segments=layout.segments))
