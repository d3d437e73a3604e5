"""What two differing values are: times, identifiers, counters, paths; told by their look and their label."""

from __future__ import annotations

import re
from dataclasses import replace

from promptlint.layout import Confidence, Kind, Section
from promptlint.trace.explain.arrange import Verdict
from promptlint.trace.explain.diff import Difference, first_words
from promptlint.trace.explain.history import Entry
from promptlint.trace.explain.labels import is_numbered, labelled, says

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


def by_values(diff: Difference, old: Entry, new: Entry) -> Verdict | None:
    """Return a verdict from what the differing values look like; of several side by side, the first is named."""
    whole = _by_look(diff, old, new)
    if whole is None:
        return None
    was, now, before, after = first_words(diff.old, diff.new, 0)
    alone = replace(diff, old=was, new=now, before=diff.before + before, after=after + diff.after)
    first = _by_look(alone, old, new) if was != diff.old or now != diff.new else None
    if first is None or first[0] is whole[0] or first[1] is not Confidence.HIGH:
        return whole
    return first[0], first[1], f"{first[2]}; {whole[0].value} behind it"


def _by_look(diff: Difference, old: Entry, new: Entry) -> Verdict | None:
    was, now, label = diff.old.strip(), diff.new.strip(), label_of(diff)
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


def label_of(diff: Difference) -> str:
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
        if word := says(kind, label):
            if kind is Kind.PER_USER and re.search(
                r"\b(?:session|request|trace|run|thread)\b", label, re.IGNORECASE
            ):
                continue
            return kind, Confidence.HIGH, f"the label says it: {word}"
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
        if word := says(kind, context):
            return kind, Confidence.HIGH, f"a number beside the word: {word}"
    if "." in was and re.fullmatch(r"\D*0?\.\d{4,}\D*", was):
        return Kind.RANDOM, Confidence.MEDIUM, "both texts are fractions with many digits"
    if found := _identity(label):
        return found
    if says(Kind.IDENTIFIER, label) or is_numbered(label):
        return Kind.IDENTIFIER, Confidence.HIGH, "a number after the name of a thing"
    if moved and all(0 < b - a <= 10 for a, b in moved):
        return Kind.COUNTER, Confidence.MEDIUM, "a number that grows by a small step"
    if re.search("[A-Za-z]", was) and _is_code(was) and _is_code(now):
        return Kind.IDENTIFIER, Confidence.HIGH, "both texts are identifiers"
    if moved and all(len(str(abs(b))) >= 4 for _, b in moved):
        return Kind.RANDOM, Confidence.MEDIUM, "two numbers without a relation"
    return Kind.COUNTER, Confidence.LOW, "a number that differs"


def _is_code(value: str) -> bool:
    words = value.split()
    return len(words) <= 3 and any(_CODE.fullmatch(word.strip(".,;:()[]\"'`<>#")) for word in words)


def by_label(diff: Difference) -> Verdict | None:
    """Return a verdict from the words before the value alone."""
    label = label_of(diff)
    if found := labelled(label):
        kind, word = found
        return kind, Confidence.MEDIUM, f"the label says it: {word}"
    return None
