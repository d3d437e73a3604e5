"""Source files: bytes to text once, offsets to lines on demand."""

from __future__ import annotations

import codecs
import errno
import re
import stat
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from pathlib import Path

from promptlint.errors import InputError

MAX_BYTES = 4 * 1024 * 1024
_CODING = re.compile(rb"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
_SURROGATE = re.compile("[\ud800-\udfff]")
_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """Half-open range of character offsets in a file's normalised text."""

    start: int
    end: int

    def __post_init__(self) -> None:
        if not 0 <= self.start <= self.end:
            raise ValueError(f"span {self.start}..{self.end} is not a range")


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A span in a named file. ``path`` is posix style, as the user will read it."""

    path: str
    span: Span

    def holds(self, part: Place) -> bool:
        """Tell whether another place begins within this one."""
        return self.path == part.path and self.span.start <= part.span.start < self.span.end


@dataclass(frozen=True)
class SourceFile:
    """One decoded file: newlines are ``\\n``, a byte order mark is gone.

    Offsets everywhere in promptlint count characters of ``text``. ``newline`` is what the file
    used, so that a fix can write it back.
    """

    path: str
    text: str
    encoding: str = "utf-8"
    newline: str = "\n"
    bom: bool = False

    @cached_property
    def digest(self) -> str:
        """Return a hash of the text, the key of every cache."""
        return blake2b(self.text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()

    @cached_property
    def line_starts(self) -> list[int]:
        """Return the offset of each line's first character."""
        starts, find, at = [0], self.text.find, 0
        while (at := find("\n", at) + 1) > 0:
            starts.append(at)
        return starts

    def position(self, offset: int) -> tuple[int, int]:
        """Return the 1-based line and column of an offset."""
        starts = self.line_starts
        line = bisect_right(starts, offset) - 1
        return line + 1, offset - starts[line] + 1

    def line_text(self, line: int) -> str:
        """Return the text of a 1-based line without its newline."""
        starts = self.line_starts
        end = starts[line] - 1 if line < len(starts) else len(self.text)
        return self.text[starts[line - 1] : end]

    def place(self, start: int, end: int) -> Place:
        """Return a place in this file."""
        return Place(self.path, Span(start, end))


def decode(data: bytes, path: str) -> SourceFile:
    """Turn bytes into a `SourceFile`.

    Order: byte order mark, PEP 263 comment, UTF-8, then cp1252 with latin-1 behind it.

    Raises:
        InputError: the file is binary, or declares an encoding that does not fit.
    """
    encoding, bom = "utf-8", False
    for mark, name in _BOMS:
        if data.startswith(mark):
            encoding, bom = name, True
            break
    else:
        if b"\0" in data[:8192]:
            raise InputError(f"{path}: binary file", "exclude it in the configuration")
        for line in data.split(b"\n", 2)[:2]:
            if match := _CODING.match(line):
                encoding = match.group(1).decode("ascii")
                break
    try:
        text = data.decode(encoding)
    except LookupError:
        raise InputError(
            f"{path}: unknown encoding {encoding!r}", "correct the coding comment in its first lines"
        ) from None
    except (UnicodeError, ValueError, OverflowError):  # some codecs raise wider errors than they should
        if bom or encoding.lower().replace("_", "-") not in ("utf-8", "utf8"):
            raise InputError(
                f"{path}: not valid {encoding}", "save it as UTF-8 or correct its declaration"
            ) from None
        try:
            encoding, text = "cp1252", data.decode("cp1252")
        except UnicodeDecodeError:
            encoding, text = "latin-1", data.decode("latin-1")
    if not encoding.startswith("utf-8") and _SURROGATE.search(text):  # UTF-7 and escapes can make them
        raise InputError(f"{path}: half a character in its {encoding}", "save it as UTF-8")
    newline = "\n"
    if "\r" in text:
        newline = "\r\n" if "\r\n" in text else "\r"
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return SourceFile(path, text, encoding, newline, bom)


def read(path: Path, shown: str | None = None, limit: int = MAX_BYTES) -> SourceFile:
    """Read and decode one file; ``shown`` is its name in reports.

    Raises:
        InputError: the file cannot be opened, is no regular file, is binary, or is larger than ``limit``
            bytes.
    """
    name = shown or path.as_posix()
    try:
        data = read_bytes(path, limit)
        size = len(data) if len(data) <= limit else max(path.stat().st_size, len(data))
    except (OSError, ValueError) as error:  # ValueError: a name that no file can have
        why = getattr(error, "strerror", None) or error
        raise InputError(f"{name}: {why}", "check the path and rights") from None
    if size > limit:
        raise InputError(
            f"{name}: {size / 1e6:.1f} MB is over the limit of {limit / 1e6:.0f} MB",
            "raise max-file-size in the configuration, or exclude the file",
        )
    return decode(data, name)


def read_bytes(path: Path, limit: int) -> bytes:
    """Return at most ``limit + 1`` bytes of a regular file, so that more than the limit shows.

    A pipe or device could block for ever or never end: neither is opened.

    Raises:
        OSError: the file cannot be read, or is no regular file.
    """
    status = path.stat()
    if not stat.S_ISREG(status.st_mode) and not stat.S_ISDIR(status.st_mode):
        raise OSError(errno.EINVAL, "a pipe, socket or device, not a regular file")
    if status.st_size > limit:
        return bytes(limit + 1)
    with path.open("rb") as file:
        return file.read(limit + 1)
