"""Bytes to records: decompression by content, JSON lines, JSON documents, plain lines."""

from __future__ import annotations

import io
import json
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from promptlint.errors import InputError
from promptlint.trace.readers.unpack import Unpacked, unpacked

_BOM = b"\xef\xbb\xbf"
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

    def clear(self) -> None:
        """Forget everything."""
        self.count = 0
        self.examples.clear()

    def merge(self, other: Skipped) -> None:
        """Add what was counted elsewhere, behind what is here."""
        self.count += other.count
        self.examples += other.examples[: max(0, _KEPT - len(self.examples))]


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


class Lines:
    """The lines of one file with their 1-based numbers, and how far they have been read.

    An archive of a few kilobytes can hold a line of gigabytes: no more than `MAX_LINE` is ever kept of one.
    """

    def __init__(self, stream: BinaryIO, name: str, skipped: Skipped) -> None:
        self.name = name
        self.number = 0
        self._stream, self._skipped = stream, skipped
        self._ahead: deque[bytes] = deque()
        self._whole = True

    @property
    def end(self) -> int:
        """Return the line in which reading stands: the last one if it has no end yet, else the next."""
        return self.number + self._whole

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        while line := self._next():
            self.number += 1
            self._whole = line.endswith(b"\n")
            if len(line) <= MAX_LINE:
                yield self.number, line
                continue
            self.skip(self.number, f"longer than {MAX_LINE // 1024 // 1024} MB")
            while line and not line.endswith(b"\n"):
                line = self._stream.readline(1 << 20)

    def _next(self) -> bytes:
        return self._ahead.popleft() if self._ahead else self._stream.readline(MAX_LINE + 1)

    def rest(self, size: int) -> bytes:
        """Read on regardless of lines, up to ``size`` bytes."""
        return self._stream.read(size)

    def put_back(self, data: bytes) -> None:
        """Give back what `rest` has read, to be read line by line."""
        *whole, last = data.split(b"\n")
        self._ahead.extend(line + b"\n" for line in whole)
        if last := last + self._stream.readline(MAX_LINE):
            self._ahead.append(last)

    def skip(self, number: int, why: str, *, grave: bool = False) -> None:
        """Count a line that cannot be read."""
        self._skipped.add(self.name, number, why, grave=grave)


@contextmanager
def opened(path: Path, name: str, skipped: Skipped, progress: list[int]) -> Iterator[Lines]:
    """Give the lines of a file; where reading ends before the file does, ``skipped`` is told.

    Raises:
        InputError: the file cannot be opened, or zstandard is not installed.
    """
    stream, archive = open_bytes(path, progress)
    with stream:
        lines = Lines(stream, name, skipped)
        try:
            yield lines
        except OSError as error:
            lines.skip(lines.end, f"cannot be read from here on: {error.strerror or error}", grave=True)
        if archive and archive.damage:
            lines.skip(lines.end, archive.damage, grave=True)


def raw_lines(path: Path, name: str, skipped: Skipped, progress: list[int]) -> Generator[tuple[int, bytes]]:
    """Yield the lines of a file with their numbers; see `records`."""
    with opened(path, name, skipped, progress) as lines:
        yield from lines


def records(path: Path, name: str, skipped: Skipped, progress: list[int]) -> Iterator[Record]:
    """Yield the records of a file: JSON lines, a JSON array, one JSON object, or lines of text.

    Broken lines are counted in ``skipped``. A truncated or damaged archive ends the file there, with a word.
    """
    with opened(path, name, skipped, progress) as lines:
        yield from _records(lines)


def parsed(lines: Iterable[tuple[int, bytes]], skip: Callable[[int, str], None]) -> Iterator[Record]:
    """Yield the JSON values of lines; ``skip`` is told of those that hold none."""
    for number, line in lines:
        text = line.removeprefix(_BOM).strip() if number == 1 else line.strip()
        if not text:
            continue
        try:
            yield Record(number, json.loads(text))
        except (ValueError, RecursionError) as error:
            skip(number, f"not valid JSON: {error}".splitlines()[0][:120])


def _records(lines: Lines) -> Iterator[Record]:
    first = b""
    for _, line in lines:
        first = line.removeprefix(_BOM).strip()
        if first:
            break
    number = lines.number
    if not first:
        return
    if first[:1] not in b"[{":
        yield Record(number, _text(first))
        for at, line in lines:
            if line.strip():
                yield Record(at, _text(line.rstrip(b"\r\n")))
        return
    try:
        value = json.loads(first)
    except (ValueError, RecursionError):
        rest = lines.rest(_DOCUMENT)
        if document := _document(first + b"\n" + rest, number):
            yield from document
            return
        lines.skip(number, "not valid JSON")
        lines.put_back(rest)
    else:
        if isinstance(value, list):
            for item in value:
                yield Record(number, item)
        else:
            yield Record(number, value)
    yield from parsed(lines, lines.skip)


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
