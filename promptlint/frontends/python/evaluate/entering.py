"""Where a value enters a prompt, when a small function only gives it a form.

::

    def bullets(lines): return "".join(f"* {line}\\n" for line in lines)

    system = "What you know:\\n" + bullets(store.search(question)) + RULES

What was looked up, or what an object tells of itself, enters the text where the function is called: there it can be
put behind the rules. A text of some length in the function's own result is one that may stand behind the value, and
a value that the function makes itself is mended in it; then the place stays. What only its name tells of stays too,
and knows where it was given its form. A picture is put among the texts where the function is called that encodes it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from promptlint.frontends.python.values.forms import is_picture
from promptlint.frontends.python.values.naming import MARKERS
from promptlint.frontends.python.values.pieces import Hole, Lit, flat, map_holes
from promptlint.frontends.python.values.values import DictV, FuncV, Str, Value
from promptlint.layout import DATA, Kind, Step
from promptlint.source import Place

_FORMED = "gets its form here"
_LOOKED_UP = DATA | {Kind.PER_USER}
DRESS = 72  # characters of a form: labels, tags and bullets


def entered(value: Value, func: FuncV, place: Place) -> Value:
    """Return what a function gives, with the place of its call for what it only gave a form."""
    if isinstance(value, Str):
        if value.parts and value.literal_length() < DRESS:
            form = _Form(func, func.module.place(func.node), place)
            return Str(map_holes(value.parts, form.given))
    elif isinstance(value, DictV):
        form = _Form(func, func.module.place(func.node), place)
        if is_picture(value):
            form.show(value)
        if form.marks(value):
            value.place = place
        for item in value.entries.values():
            if isinstance(item.value, Str):
                item.value = entered(item.value, func, place)
    return value


def filled(value: Str, form: Str, steps: Mapping[str, Step]) -> Str:
    """Return a short form with its fields filled, with the place of each argument for what was looked up."""
    if form.literal_length() >= DRESS:
        return value

    def given(hole: Hole) -> Hole:
        found = hole.cause is not None and hole.cause.kind in _LOOKED_UP
        return replace(hole, place=steps[hole.field].place) if found and hole.field in steps else hole

    return Str(map_holes(value.parts, given))


@dataclass(frozen=True, slots=True)
class _Form:
    """A function that gives values a form, where it stands, and where it is called."""

    func: FuncV
    within: Place
    call: Place

    def given(self, hole: Hole) -> Hole:
        """Return a value of its text as the caller has it."""
        cause = hole.cause
        if not self.within.holds(hole.place):
            return hole
        if cause is None and not hole.loop:
            step = Step(self.call, f"returned by {self.func.name}()")
            return hole if hole.given is not None else replace(hole, given=step)
        if cause is None:
            return replace(hole, place=self.call) if self.func.cls is not None else hole
        if cause.place is None or self.within.holds(cause.place):
            return hole
        if any(step.note == _FORMED for step in cause.chain):
            return hole  # by what was called from here
        of_object = self.func.cls is not None and cause.kind is not Kind.UNORDERED
        if not (of_object or cause.kind in _LOOKED_UP):
            return hole
        way = (*cause.chain, Step(hole.place, _FORMED))
        return replace(hole, place=self.call, cause=replace(cause, chain=way))

    def show(self, picture: DictV) -> None:
        """Give what a picture is made of the place of the call."""
        picture.place = self.call
        for item in picture.entries.values():
            one = item.value
            if isinstance(one, Str):
                item.value = Str(map_holes(one.parts, self._shown))
            elif isinstance(one, DictV):
                self.show(one)

    def marks(self, block: DictV) -> bool:
        """Tell whether the function puts a cache mark on what its caller gives it, a text or a block."""
        args = self.func.node.args
        given = [arg for arg in (*args.posonlyargs, *args.args, *args.kwonlyargs) if arg.arg != "self"]
        marked = given and any(key in block.entries for key in MARKERS)
        if not (marked and block.place and self.within.holds(block.place)):
            return False
        texts = [item.value for item in block.entries.values() if isinstance(item.value, Str)]
        own = (
            p for one in texts for p in flat(one.parts) if isinstance(p, Lit) and self.within.holds(p.place())
        )
        return sum(len(part.text) for part in own) < DRESS

    def _shown(self, hole: Hole) -> Hole:
        known = hole.cause is not None or hole.loop
        return hole if known or not self.within.holds(hole.place) else replace(hole, place=self.call)
