"""The kind of a change, told by the two texts that differ and by what stands before them."""

from __future__ import annotations

import json
import re
from typing import Any

from promptlint.layout import Confidence, Kind, Section
from promptlint.trace.explain.diff import Difference, Shape
from promptlint.trace.explain.history import Entry
from promptlint.trace.explain.labels import is_numbered, labelled, says
from promptlint.trace.model import Part

Verdict = tuple[Kind, Confidence, str]  # kind, how sure, what shows it

_MONTHS = "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec"
_DAYS = "mon|tue|wed|thu|fri|sat|sun|today|yesterday|tomorrow|morning|afternoon|evening|night"
_TIME = re.compile(
    rf"\d{{4}}[-/.]\d\d?[-/.]\d\d?|\d\d?[/.]\d\d?[/.]\d{{2,4}}|\d\d?:\d\d(:\d\d)?|\d{{8}}T\d{{4}}"
    rf"|\b({_MONTHS})[a-z]*\b|\b({_DAYS})[a-z]*\b|\b\d+ (second|minute|hour|day)s? ago\b",
    re.IGNORECASE,
)
_CLOCK_LABEL = re.compile(
    r"\b(time|date|now|today|timestamp|clock|as of|current (time|date)|uptime)\b", re.IGNORECASE
)
_TIME_UNIT = re.compile(
    r"\s?(?:(?:second|minute|hour|day|week|month)s? ago\b|[ap]\.?m\b|:\d\d)", re.IGNORECASE
)
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE)
_CODE = re.compile(r"\b(?=[\w\-]*\d)(?=[\w\-]*[A-Za-z])[A-Za-z0-9][\w\-]{5,}\b|\b[0-9a-f]{7,}\b")
_EMAIL = re.compile(r"[\w.+-]+@[\w-]+\.\w+")
_INTEGER = re.compile(r"[+-]?\d{1,3}(?:,\d{3})+|[+-]?\d+")
_PATHS = re.compile(r"(?:^|\s|[\"'`(=])(?:~|\.{0,2}/|[A-Za-z]:\\)[\w.\-/\\]+|\b\d{1,3}(?:\.\d{1,3}){3}\b")
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
    if found := _arrangement(a.text, b.text):
        return found
    if a.kind == "image" == b.kind and (found := _image(a, b)):
        return found
    if a.kind == "thinking" or b.kind == "thinking":
        return Kind.HISTORY_REWRITE, Confidence.HIGH, _REASONING
    same_talk = old.talk == new.talk
    if found := _values(diff, old, new):
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
    return kept > len(a.text) / 2 or labelled(_label(diff)) is not None


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
    left, right = _json(a.text), _json(b.text)
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
    before, after = ([_meaning(part.text) for part in parts] for parts in (was, now))
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
        if b.kind == "schema" and _meaning(a.text) != _meaning(b.text):
            return Kind.PARAMETER_CHANGE, Confidence.HIGH, "another response schema"
        if found := _arrangement(_plain_json(a.text), _plain_json(b.text)):
            return found
        if found := _values(diff, old, new):
            return found
        if diff.shape is Shape.EDITED:
            return _by_label(diff) or (Kind.TOOLS_ORDER, Confidence.MEDIUM, "a tool definition was changed")
    return Kind.TOOLS_ORDER, Confidence.HIGH, "the tools come in another order"


def _name(text: str) -> str:
    value = _json(text)
    if not isinstance(value, dict):
        return text[:40]
    inner = value.get("function") or value.get("toolSpec") or value
    return str(inner.get("name") or value.get("type", "")) if isinstance(inner, dict) else ""


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _meaning(text: str) -> str:
    """Return JSON without the order of its keys and of lists of plain values; other text as it is."""
    value = _json(text)
    return text if value is None else json.dumps(_sorted(value), sort_keys=True)


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _sorted(item) for key, item in value.items()}
    if isinstance(value, str) and value[:1] in ("{", "["):  # arguments of a call are JSON in JSON
        inner = _json(value)
        return value if inner is None else _sorted(inner)
    if isinstance(value, list):
        items = [_sorted(item) for item in value]
        plain = all(isinstance(item, str | int | float | bool) for item in items)
        return sorted(items, key=str) if plain else items
    return value


def _plain_json(text: str) -> str:
    """Return the strings of a JSON text on lines of their own, so that lists in them can be compared."""
    return text.replace("\\n", "\n")


def _arrangement(a: str, b: str) -> Verdict | None:
    """Return a verdict where both texts hold the same things, arranged or spaced in another way."""
    if "".join(a.split()) == "".join(b.split()):
        return Kind.WHITESPACE, Confidence.HIGH, "only whitespace differs"
    if a[:1] in "[{" and _json(a) is not None and _meaning(a) == _meaning(b):
        return Kind.UNORDERED, Confidence.HIGH, "the same JSON with its keys in another order"
    left, right = a.splitlines(), b.splitlines()
    if len(left) > 1 and left != right and sorted(left) == sorted(right):
        return _permuted("the same lines in another order", a)
    if len(left) == len(right):
        odd = [(x, y) for x, y in zip(left, right, strict=True) if x != y]
        if odd and all(_same_items(x, y) for x, y in odd):
            return _permuted("the same items in another order", " ".join(x for x, _ in odd) + a[:0])
        if odd and sorted(x for x, _ in odd) == sorted(y for _, y in odd):
            return _permuted("the same lines in another order", a)
    numbered = [re.sub(r"^\s*(?:\d+[.):]|[-*•])\s*", "", line) for line in left]
    numbered_now = [re.sub(r"^\s*(?:\d+[.):]|[-*•])\s*", "", line) for line in right]
    if len(left) > 2 and sorted(numbered) == sorted(numbered_now):
        return _permuted("the same list in another order", a)
    return None


def _permuted(what: str, text: str) -> Verdict:
    if re.search(r"\b(?:shuffl\w*|random\w*|few[- ]shot|examples?)\b", text, re.IGNORECASE):
        return Kind.RANDOM, Confidence.MEDIUM, f"{what} (examples)"
    return Kind.UNORDERED, Confidence.HIGH, what


def _same_items(a: str, b: str) -> bool:
    for separator in (",", ";", "|", " "):
        left = sorted(item.strip(" .\"'[](){}") for item in a.split(separator))
        right = sorted(item.strip(" .\"'[](){}") for item in b.split(separator))
        if len(left) > 2 and left == right:
            return True
        # A label may stand in front of the first item: "Devices: lamp, door" and "Devices: door, lamp".
        head, _, tail = a.partition(":")
        head_b, _, tail_b = b.partition(":")
        if tail and head == head_b and separator in tail:
            rows = [
                sorted(item.strip(" .\"'[](){}") for item in side.split(separator)) for side in (tail, tail_b)
            ]
            if len(rows[0]) > 1 and rows[0] == rows[1]:
                return True
    return False


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


def _values(diff: Difference, old: Entry, new: Entry) -> Verdict | None:
    """Return a verdict from what the differing values look like."""
    was, now, label = diff.old.strip(), diff.new.strip(), _label(diff)
    if not was or not now or max(len(was), len(now)) > 160:
        return None
    unit = _TIME_UNIT.match(diff.after)
    if _is_time(was, now, label, old, new) or (unit and _INTEGER.search(was)):
        return Kind.CLOCK, Confidence.HIGH, "both texts are times"
    if _UUID.search(was) and _UUID.search(now):
        return _identity(label) or (Kind.IDENTIFIER, Confidence.HIGH, "both texts are UUIDs")
    if _EMAIL.search(was) and _EMAIL.search(now):
        return Kind.PER_USER, Confidence.HIGH, "both texts are e-mail addresses"
    if found := _numbers(was, now, label):
        return found
    if (
        _PATHS.search(was)
        and _PATHS.search(now)
        and not (diff.section is Section.MESSAGES and old.talk == new.talk)
    ):
        return Kind.ENVIRONMENT, Confidence.HIGH, "both texts are paths or addresses"
    if _is_code(was) and _is_code(now):
        return _identity(label) or (Kind.IDENTIFIER, Confidence.HIGH, "both texts are identifiers")
    return None


def _label(diff: Difference) -> str:
    """Return the words just before the value: the end of its line, or the line before."""
    line = diff.before.rstrip().rpartition("\n")[2]
    return line[-60:]


def _is_time(was: str, now: str, label: str, old: Entry, new: Entry) -> bool:
    if _TIME.search(was) and _TIME.search(now):
        return True
    if _epoch(was, old.request.time) and _epoch(now, new.request.time):
        return True
    short = re.fullmatch(r"[\d:.,\-/ TZ+apmAPM]+", was) and re.fullmatch(r"[\d:.,\-/ TZ+apmAPM]+", now)
    return bool(short and _CLOCK_LABEL.search(label))


def _epoch(value: str, time: float | None) -> bool:
    digits = re.search(r"\d{10,19}(?:\.\d+)?", value)
    if not digits or time is None:
        return False
    number = float(digits.group())
    while number > 1e11:
        number /= 1000
    return abs(number - time) < 86400


def _identity(label: str) -> Verdict | None:
    """Return a verdict for an id whose label says whose it is."""
    for kind in (Kind.RANDOM, Kind.PER_USER, Kind.ENVIRONMENT):
        if says(kind, label):
            if kind is Kind.PER_USER and re.search(
                r"\b(?:session|request|trace|run|thread)\b", label, re.IGNORECASE
            ):
                continue
            return kind, Confidence.HIGH, f"the label says it: {_last_words(label)}"
    return None


def _numbers(was: str, now: str, label: str) -> Verdict | None:
    left, right = _INTEGER.findall(was), _INTEGER.findall(now)
    shape = re.sub(r"\d[\d,]*", "#", was), re.sub(r"\d[\d,]*", "#", now)
    if not left or len(left) != len(right) or shape[0] != shape[1]:
        return None
    if len(shape[0].replace("#", "").strip()) > 40:
        return None
    pairs = [(int(a.replace(",", "")), int(b.replace(",", ""))) for a, b in zip(left, right, strict=True)]
    moved = [(a, b) for a, b in pairs if a != b]
    context = f"{label} {was}"
    for kind in (Kind.COUNTER, Kind.RANDOM, Kind.ENVIRONMENT):
        if says(kind, context):
            return kind, Confidence.HIGH, f"a number after: {_last_words(context)}"
    if "." in was and re.fullmatch(r"\D*0?\.\d{4,}\D*", was):
        return Kind.RANDOM, Confidence.MEDIUM, "both texts are fractions with many digits"
    if found := _identity(label):
        return found
    if says(Kind.IDENTIFIER, label) or is_numbered(label):
        return Kind.IDENTIFIER, Confidence.HIGH, f"a number after: {_last_words(label)}"
    if moved and all(0 < b - a <= 10 for a, b in moved):
        return Kind.COUNTER, Confidence.MEDIUM, "a number that grows by a small step"
    if moved and all(len(str(abs(b))) >= 4 for _, b in moved):
        return Kind.RANDOM, Confidence.MEDIUM, "two numbers without a relation"
    return Kind.COUNTER, Confidence.LOW, "a number that differs"


def _is_code(value: str) -> bool:
    words = value.split()
    return len(words) <= 3 and any(_CODE.fullmatch(word.strip(".,;:()[]\"'`<>#")) for word in words)


def _last_words(label: str) -> str:
    return " ".join(label.split()[-4:]).rstrip(":= ") or "nothing"


def _by_label(diff: Difference) -> Verdict | None:
    label = _label(diff)
    if kind := labelled(label):
        return kind, Confidence.MEDIUM, f"the label says it: {_last_words(label)}"
    return None


def _by_place(diff: Difference, same_talk: bool) -> Verdict:
    """Return a verdict from the size of the change, the label and the sessions on both sides."""
    long = max(len(diff.old), len(diff.new)) > 160 or "\n" in diff.new.strip() or "\n" in diff.old.strip()
    around = f"{diff.before} {diff.old[:80]} {diff.new[:80]}"
    if long:
        if re.search(r"\b(?:few[- ]shot|examples?|samples?|demonstrations?)\b", around, re.IGNORECASE):
            return Kind.RANDOM, Confidence.MEDIUM, "another choice of examples"
        if says(Kind.RETRIEVED, around) or same_talk:
            return Kind.RETRIEVED, Confidence.MEDIUM, "another block of text stands there"
    if found := _by_label(diff):
        return found
    if not same_talk and diff.section is not Section.MESSAGES:
        return Kind.PER_USER, Confidence.LOW, "a text that differs from one conversation to the other"
    if long:
        return Kind.RETRIEVED, Confidence.LOW, "another block of text stands there"
    return Kind.OTHER, Confidence.LOW, "the text differs"


def excerpt(text: str, limit: int = 80) -> str:
    """Return a text on one line, cut in its middle."""
    flat = " ".join(text.split())
    if len(flat) <= limit:
        return flat
    half = (limit - 3) // 2
    return f"{flat[:half]} … {flat[-half:]}"


def redacted(text: str) -> str:
    """Return the shape of a text: letters as ``a``, digits as ``9``, the rest as it is.

    Enough to see a timestamp or an id, too little to read a secret.
    """
    flat = excerpt(text, 60)
    shape = re.sub(r"[^\W\d_]", "a", re.sub(r"\d", "9", flat))
    return re.sub(r"a{13,}", "a…a", shape)
