"""The kind of a change, told by the two texts that differ and by what stands around them."""

from __future__ import annotations

import json
import re
from typing import Any

from promptlint.layout import Confidence, Kind, Section
from promptlint.trace.explain.arrange import Verdict, arrangement, meaning, parsed, plain_json
from promptlint.trace.explain.diff import Difference, Shape
from promptlint.trace.explain.history import Entry
from promptlint.trace.explain.labels import labelled, says
from promptlint.trace.explain.values import by_label, by_values, label_of
from promptlint.trace.model import Part

_TEMPLATE = re.compile(
    r"<\|[\w ]+\|>|\[/?INST\]|<(?:start|end)_of_turn>|<<SYS>>|<｜[^｜]+｜>|\[/?AVAILABLE_TOOLS\]"
)

_TEMPLATE_LINE = re.compile(
    r"(cutting knowledge date|today date|today's date|current date|knowledge cutoff|reasoning:)",
    re.IGNORECASE,
)


def kind_of(diff: Difference, old: Entry, new: Entry) -> Verdict:
    """Return the kind of a difference.

    Order of the evidence: the shape of the change (order of tools, keys, lines; whitespace), what
    the values themselves look like (times, ids, counters), the label before them, where they stand.
    """
    a, b = diff.old_part, diff.new_part
    if any(part is not None and part.section is Section.TOOLS for part in (a, b)):
        return _tools(diff, old, new)
    if diff.section is Section.MESSAGES and diff.shape is not Shape.EDITED:
        if _swapped(old, new, diff.part):
            return Kind.UNORDERED, Confidence.HIGH, "the same blocks of one turn in another order"
        if a and a.kind == "thinking":
            return Kind.HISTORY_REWRITE, Confidence.HIGH, _REASONING
        return Kind.HISTORY_REWRITE, Confidence.HIGH, _SHAPES[diff.shape]
    if a is None or b is None:
        return Kind.OTHER, Confidence.LOW, "a part is missing"
    if found := _rendered(diff, a, b):
        return found
    if found := arrangement(a.text, b.text):
        return found
    if a.kind == "image" == b.kind and (found := _image(a, b)):
        return found
    if a.kind == "thinking" or b.kind == "thinking":
        return Kind.HISTORY_REWRITE, Confidence.HIGH, _REASONING
    same_talk = old.talk == new.talk
    if found := by_values(diff, old, new):
        return found
    in_history = diff.section is Section.MESSAGES and same_talk and _is_history(diff, old)
    if in_history and not _is_rendered_anew(diff, old):
        return Kind.HISTORY_REWRITE, Confidence.HIGH, "an earlier turn was changed after it had been sent"
    return _by_place(diff, same_talk)


_REASONING = "earlier reasoning is no longer sent as it was"

_SHAPES = {
    Shape.INSERTED: "something was put in before the end of the history",
    Shape.REMOVED: "earlier turns are gone",
    Shape.REPLACED: "earlier turns were replaced",
    Shape.SHORTER: "the end of the history is gone",
}

_GONE = re.compile(
    r"\b(?:removed|omitted|elided|truncated|cleared|cut|trimmed|summary|summari[sz]ed)\b|…|\.\.\."
)


def _is_rendered_anew(diff: Difference, old: Entry) -> bool:
    """Tell whether the opening message was made again with other values in its middle, not cut or replaced."""
    a, b = diff.old_part, diff.new_part
    parts = old.request.parts[: diff.part]
    if a is None or b is None or any(part.role == "assistant" for part in parts):
        return False
    if len(b.text) < len(a.text) / 2 or _GONE.search(diff.new):
        return False
    kept = len(a.text) - len(diff.old)
    return kept > len(a.text) / 2 or labelled(label_of(diff)) is not None


def _swapped(old: Entry, new: Entry, at: int) -> bool:
    """Tell whether the parts of one turn, or neighbouring results of tools, only changed places."""
    first = old.request.parts[at]
    for size in range(2, 33):
        was, now = (entry.request.parts[at : at + size] for entry in (old, new))
        if len(was) < size or len(now) < size or was[-1].role != first.role:
            return False
        if sorted(part.digest for part in was) == sorted(part.digest for part in now):
            return True
    return False


def _image(a: Part, b: Part) -> Verdict | None:
    """Return a verdict for two pictures: another quality, or a link that is signed anew."""
    left, right = parsed(a.text), parsed(b.text)
    if not (isinstance(left, dict) and isinstance(right, dict)):
        return None
    was, now = (json.dumps(_without(value, "detail"), sort_keys=True) for value in (left, right))
    if was == now:
        return Kind.PARAMETER_CHANGE, Confidence.HIGH, "the same picture in another quality"
    if re.sub(r"\?[^\"\s]*", "", was) == re.sub(r"\?[^\"\s]*", "", now):
        return Kind.IDENTIFIER, Confidence.HIGH, "the same picture under a link that is signed anew"
    return None


def _without(value: Any, key: str) -> Any:
    if isinstance(value, dict):
        return {name: _without(item, key) for name, item in value.items() if name != key}
    return value


def _is_history(diff: Difference, old: Entry) -> bool:
    """Tell whether the part stands in a chat; a bare prompt has no turns."""
    return bool(diff.old_part and diff.old_part.role) or len(old.request.parts) > 1


def _tools(diff: Difference, old: Entry, new: Entry) -> Verdict:
    was = [part for part in old.request.parts if part.section is Section.TOOLS]
    now = [part for part in new.request.parts if part.section is Section.TOOLS]
    before, after = ([meaning(part.text) for part in parts] for parts in (was, now))
    if len(was) == len(now) and before == after:
        return Kind.UNORDERED, Confidence.HIGH, "the same definitions with their keys in another order"
    if sorted(before) == sorted(after):
        return Kind.TOOLS_ORDER, Confidence.HIGH, "the same tools in another order"
    a, b = diff.old_part, diff.new_part
    names, names_now = ([_name(part.text) for part in parts] for parts in (was, now))
    if sorted(names) != sorted(names_now):
        gone, come = sorted(set(names) - set(names_now)), sorted(set(names_now) - set(names))
        said = ", ".join([*(f"+{name}" for name in come[:4]), *(f"-{name}" for name in gone[:4])])
        if (a and a.kind == "schema") or (b and b.kind == "schema"):
            return Kind.PARAMETER_CHANGE, Confidence.HIGH, "another response schema"
        return Kind.TOOLS_ORDER, Confidence.HIGH, f"the tool list changed: {said}"
    if a and b:
        if b.kind == "schema" and meaning(a.text) != meaning(b.text):
            return Kind.PARAMETER_CHANGE, Confidence.HIGH, "another response schema"
        if found := arrangement(plain_json(a.text), plain_json(b.text)):
            return found
        if found := by_values(diff, old, new):
            return found
        if diff.shape is Shape.EDITED:
            return by_label(diff) or (Kind.TOOLS_ORDER, Confidence.MEDIUM, "a tool definition was changed")
    return Kind.TOOLS_ORDER, Confidence.HIGH, "the tools come in another order"


def _name(text: str) -> str:
    value = parsed(text)
    if not isinstance(value, dict):
        return text[:40]
    inner = value.get("function") or value.get("toolSpec") or value
    return str(inner.get("name") or value.get("type", "")) if isinstance(inner, dict) else ""


def _rendered(diff: Difference, a: Part, b: Part) -> Verdict | None:
    """Return a verdict for a prompt that a chat template has rendered already."""
    head = b.text[max(0, diff.char - 2000) : diff.char]
    if b.role or not _TEMPLATE.search(head + b.text[diff.char : diff.char + 200]):
        return None
    if _TEMPLATE_LINE.search(diff.before) or _TEMPLATE_LINE.search(head.rpartition("\n")[2]):
        return Kind.CHAT_TEMPLATE, Confidence.HIGH, "the chat template prints this value"
    gone, come = a.text[diff.char :], b.text[diff.char :]
    if "<think>" in gone[:40] or ("</think>" in gone[:4000] and "</think>" not in come[: len(gone[:4000])]):
        return Kind.CHAT_TEMPLATE, Confidence.HIGH, "the chat template drops earlier reasoning"
    if "[AVAILABLE_TOOLS]" in gone[:60] or "[AVAILABLE_TOOLS]" in come[:60]:
        return Kind.CHAT_TEMPLATE, Confidence.HIGH, "the chat template moves the tools"
    return None


_EXAMPLES = re.compile(r"\b(?:few[- ]shot|examples?|samples?|demonstrations?)\b", re.IGNORECASE)


def _by_place(diff: Difference, same_talk: bool) -> Verdict:
    """Return a verdict from the size of the change, the label and the sessions on both sides."""
    long = max(len(diff.old), len(diff.new)) > 160 or "\n" in diff.new.strip() or "\n" in diff.old.strip()
    heading = diff.heading(near=True)
    around = f"{heading} {diff.before} {diff.old[:80]} {diff.new[:80]}"
    if _EXAMPLES.search(around if long else heading):
        return Kind.RANDOM, Confidence.MEDIUM, "another choice of examples"
    if long and (says(Kind.RETRIEVED, around) or same_talk):
        return Kind.RETRIEVED, Confidence.MEDIUM, "another block of text stands there"
    if found := by_label(diff):
        return found
    if heading and (told := labelled(heading)) is not None:
        return told[0], Confidence.LOW, f"the heading says it: {told[1]}"
    if not same_talk and diff.section is not Section.MESSAGES:
        return Kind.PER_USER, Confidence.LOW, "a text that differs from one conversation to the other"
    if long:
        return Kind.RETRIEVED, Confidence.LOW, "another block of text stands there"
    return Kind.OTHER, Confidence.LOW, "the text differs"
