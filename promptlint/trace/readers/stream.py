"""Bytes to records: decompression by content, JSON lines, JSON documents, plain lines."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from promptlint.errors import InputError
from promptlint.trace.readers.unpack import Unpacked, unpacked

MAX_LINE = 64 * 1024 * 1024  # as values it takes several times the memory
_DOCUMENT = 64 * 1024 * 1024
_KEPT = 20


@dataclass(frozen=True, slots=True)
class Record:
    """One JSON value, or one line of text, with its 1-based line."""

    line: int
    value: Any


@dataclass(slots=True)
class Skipped:
    """Lines that could not be read: all are counted, the first few are named."""

    count: int = 0
    examples: list[tuple[str, int, str]] = field(default_factory=list)  # file, line, why

    def add(self, file: str, line: int, why: str, *, grave: bool = False) -> None:
        """Count one line; what is ``grave`` is named first, however many others there are."""
        self.count += 1
        if grave:
            self.examples.insert(0, (file, line, why))
            del self.examples[_KEPT:]
        elif len(self.examples) < _KEPT:
            self.examples.append((file, line, why))


class _Counted(io.RawIOBase):
    """Passes bytes through and counts those taken from the file, for the progress bar."""

    def __init__(self, raw: BinaryIO, progress: list[int]) -> None:
        self._raw, self._progress = raw, progress

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._raw.read(len(buffer))
        buffer[: len(data)] = data
        self._progress[0] += len(data)
        return len(data)

    def close(self) -> None:
        self._raw.close()
        super().close()


def open_bytes(path: Path, progress: list[int]) -> tuple[BinaryIO, Unpacked | None]:
    """Open a file, unpacked if its first bytes say gzip, xz or zstandard; the second value is the unpacker.

    Raises:
        InputError: the file cannot be opened, or zstandard is not installed.
    """
    try:
        raw = path.open("rb")
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}", "check the path and rights") from None
    counted = io.BufferedReader(_Counted(raw, progress), 1 << 18)
    archive = unpacked(counted, counted.peek(6)[:6], str(path))
    return (io.BufferedReader(archive, 1 << 18) if archive else counted), archive


def records(path: Path, name: str, skipped: Skipped, progress: list[int]) -> Iterator[Record]:
    """Yield the records of a file: JSON lines, a JSON array, one JSON object, or lines of text.

    Broken lines are counted in ``skipped``. A truncated or damaged archive ends the file there, with a word.
    """
    stream, archive = open_bytes(path, progress)
    with stream:
        last = 0
        try:
            for record in _records(stream, name, skipped):
                last = record.line
                yield record
        except OSError as error:
            skipped.add(name, last + 1, f"cannot be read from here on: {error.strerror or error}", grave=True)
        if archive and archive.damage:
            skipped.add(name, last + 1, archive.damage, grave=True)


def _records(stream: BinaryIO, name: str, skipped: Skipped) -> Iterator[Record]:
    first, number = b"", 0
    for at, line in _lines(stream, 0, name, skipped):
        number = at
        first = line.removeprefix(b"\xef\xbb\xbf").strip()
        if first:
            break
    if not first:
        return
    if first[:1] not in b"[{":
        yield Record(number, _text(first))
        for at, line in _lines(stream, number, name, skipped):
            if line.strip():
                yield Record(at, _text(line.rstrip(b"\r\n")))
        return
    try:
        value = json.loads(first)
    except (ValueError, RecursionError):
        rest = stream.read(_DOCUMENT)
        if document := _document(first + b"\n" + rest, number):
            yield from document
            return
        skipped.add(name, number, "not valid JSON")
        lines: Iterator[tuple[int, bytes]] = _resumed(rest, stream, number, name, skipped)
    else:
        if isinstance(value, list):
            for item in value:
                yield Record(number, item)
        else:
            yield Record(number, value)
        lines = _lines(stream, number, name, skipped)
    for at, line in lines:
        text = line.strip()
        if not text:
            continue
        try:
            yield Record(at, json.loads(text))
        except (ValueError, RecursionError) as error:
            skipped.add(name, at, f"not valid JSON: {error}".splitlines()[0][:120])


def _lines(stream: BinaryIO, number: int, name: str, skipped: Skipped) -> Iterator[tuple[int, bytes]]:
    """Yield what stands behind line ``number``: each line with its number, those too long left out.

    An archive of a few kilobytes can hold a line of gigabytes: no more than `MAX_LINE` is ever kept of one.
    """
    while line := stream.readline(MAX_LINE + 1):
        number += 1
        if len(line) <= MAX_LINE:
            yield number, line
            continue
        skipped.add(name, number, f"longer than {MAX_LINE // 1024 // 1024} MB")
        while line and not line.endswith(b"\n"):
            line = stream.readline(1 << 20)


def _resumed(
    head: bytes, stream: BinaryIO, number: int, name: str, skipped: Skipped
) -> Iterator[tuple[int, bytes]]:
    """Yield lines from a part that was read ahead, then from the stream."""
    *whole, last = head.split(b"\n")
    yield from enumerate(whole, number + 1)
    number += len(whole) + 1
    yield number, last + stream.readline(MAX_LINE)
    yield from _lines(stream, number, name, skipped)


def _document(data: bytes, line: int) -> list[Record] | None:
    """Return the records of one JSON document spread over lines, or None if it is not one."""
    text = _text(data)
    decoder, at = json.JSONDecoder(), 0
    found: list[Record] = []
    try:
        if text.startswith("["):
            at = _skip(text, 1)
            while text[at] != "]":
                begin = at
                value, at = decoder.raw_decode(text, at)
                found.append(Record(line + text.count("\n", 0, begin), value))
                at = _skip(text, at)
        else:
            while at < len(text):  # objects one after another, pretty-printed
                begin = at
                value, at = decoder.raw_decode(text, at)
                found.append(Record(line + text.count("\n", 0, begin), value))
                at = _skip(text, at)
    except (ValueError, IndexError, RecursionError):
        return None
    return found


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in " \t\r\n,":
        at += 1
    return at


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")
