"""Readers, chosen by the content of a file and not by its name."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any

from promptlint.errors import NothingToCheckError
from promptlint.trace.model import Hashed, Request
from promptlint.trace.readers import har, hashed, langfuse, langsmith, otel, requests, transcripts, vllm
from promptlint.trace.readers.stream import Record, Skipped, raw_lines, records

Entry = Request | Hashed
Read = Callable[[Iterator[Record], str, Skipped], Iterator[Entry]]
_LOOK = 50  # records that decide the format


@dataclass(frozen=True, slots=True)
class Format:
    """A log format: its name, how to tell it, how to read it."""

    name: str
    matches: Callable[[Any], bool]
    read: Read
    text: bool = False  # lines of text, not JSON objects
    apart: bool = False  # each record is read without the others


def _objects(test: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, dict) and test(value)


# The order matters where one format's fields are a part of another's.
FORMATS = (
    Format("mooncake", _objects(hashed.is_mooncake), hashed.read_mooncake),
    Format("bailian", _objects(hashed.is_bailian), hashed.read_bailian),
    Format("weka", _objects(hashed.is_weka), hashed.read_weka),
    Format("claude-code", _objects(transcripts.is_claude_code), transcripts.read_claude_code),
    Format("codex", _objects(transcripts.is_codex), transcripts.read_codex),
    Format("har", _objects(har.is_har), har.read_har),
    Format("otel", _objects(otel.is_otel), otel.read_otel),
    Format("langsmith", _objects(langsmith.is_langsmith), langsmith.read_langsmith),
    Format("langfuse", _objects(langfuse.is_langfuse), langfuse.read_langfuse),
    Format("requests", _objects(requests.is_request), requests.read_requests, apart=True),
    Format("vllm", vllm.is_vllm, vllm.read_vllm, text=True),
)


def only_objects(stream: Iterator[Record], name: str, skipped: Skipped) -> Iterator[Record]:
    """Pass JSON objects on and count what is none."""
    for record in stream:
        if isinstance(record.value, dict):
            yield record
        else:
            skipped.add(name, record.line, "not a JSON object")


@dataclass(slots=True)
class Log:
    """One opened log; iterate over `entries` once."""

    path: Path
    name: str
    format: str
    entries: Iterator[Entry]
    skipped: Skipped
    progress: list[int]  # bytes of the file that have been read
    head: tuple[Any, ...] = ()  # the first records
    format_of_lines: bool = False  # one record a line, each read without the others


def open_log(path: Path, name: str = "") -> Log:
    """Open a log and find its format by its first records.

    Raises:
        InputError: the file cannot be opened.
        NothingToCheckError: it holds no format that is known.
    """
    shown = name or path.as_posix()
    lost = Skipped()
    progress = [0]
    stream = records(path, shown, lost, progress)
    head = list(islice(stream, _LOOK))
    for form in FORMATS:
        if any(form.matches(record.value) for record in head):
            whole = chain(head, stream)
            entries = form.read(whole if form.text else only_objects(whole, shown, lost), shown, lost)
            first = tuple(record.value for record in head)
            lines = [record.line for record in head]
            apart = form.apart and path.is_file() and len(set(lines)) == len(lines) and _opens_whole(path)
            return Log(path, shown, form.name, entries, lost, progress, first, apart)
    names = ", ".join(form.name for form in FORMATS)
    what = (
        "no requests found in it"
        if head
        else "it is empty"
        if not lost.count
        else f"no line can be read: {lost.examples[0][2]}"
    )
    raise NothingToCheckError(f"{shown}: {what}", f"formats that are known: {names}")


def _opens_whole(path: Path) -> bool:
    """Tell whether the first line of a file is a JSON object by itself: then the others are, too."""
    lines = raw_lines(path, "", Skipped(), [0])
    first = next((line.removeprefix(b"\xef\xbb\xbf").strip() for _, line in lines if line.strip()), b"")
    lines.close()
    try:
        return isinstance(json.loads(first), dict)
    except (ValueError, RecursionError):
        return False
