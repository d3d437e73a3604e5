"""Counts on disk, by a digest of the text: a warm run loads no vocabulary.

One file a vocabulary, one line a text: ``digest ends stable``. Lines are only ever appended, each in
one write, so that processes can share a file without a lock; a torn line is not a line and is
counted again. The texts themselves are not kept.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path

from promptlint.tokens.base import Run

_VERSION = 1  # of the format and of what counts as stable
_MOST = 32 * 1024 * 1024  # a larger file is begun anew
_VALUE = re.compile(rb"\d+(?:,\d+)* \d+")
_KEY = 32


class CountStore:
    """Counts of one vocabulary in a folder. Without rights to write it keeps them in memory only."""

    def __init__(self, folder: Path, name: str) -> None:
        safe = re.sub(r"[^A-Za-z0-9._~-]", "_", name)[-80:]
        mark = blake2b(name.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()
        self._path = folder / f"tokens-{_VERSION}-{safe}-{mark}.txt"
        self._known: dict[bytes, bytes] | None = None
        self._file: int | None = None

    def get(self, key: bytes) -> Run | None:
        """Return the counts under a key of `digest`."""
        value = self._load().get(key)
        if value is None or not _VALUE.fullmatch(value):
            return None
        ends, stable = value.split(b" ")
        return Run(tuple(map(int, ends.split(b","))), int(stable))

    def put(self, key: bytes, run: Run) -> None:
        """Keep counts under a key."""
        if not run.ends:
            return
        value = b"%s %d" % (",".join(map(str, run.ends)).encode(), run.stable)
        self._load()[key] = value
        if self._file is not None:
            try:
                os.write(self._file, b"%s %s\n" % (key, value))
            except OSError:
                self._file = None  # disk full, folder gone: counts are only quicker with the file

    def _load(self) -> dict[bytes, bytes]:
        if self._known is None:
            self._known = {}
            data = self._open()
            for line in data.split(b"\n")[:-1]:
                self._known[line[:_KEY]] = line[_KEY + 1 :]
        return self._known

    def _open(self) -> bytes:
        try:
            _make_folder(self._path.parent)
            if self._path.exists() and self._path.stat().st_size > _MOST:
                self._path.unlink()
            flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)
            flags |= getattr(os, "O_NOFOLLOW", 0)  # a repository can hold a link that leads anywhere
            self._file = os.open(self._path, flags, 0o644)
            data = self._path.read_bytes()
            if data and not data.endswith(b"\n"):
                os.write(self._file, b"\n")
                data += b"\n"
            return data
        except OSError:
            return b""

    def close(self) -> None:
        """Close the file; counts stay readable."""
        if self._file is not None:
            os.close(self._file)
            self._file = None


def digest(parts: Sequence[str]) -> bytes:
    """Return the key of a text in parts; the same text cut elsewhere has another."""
    state = blake2b(digest_size=_KEY // 2)
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        state.update(b"%d:" % len(data))
        state.update(data)
    return state.hexdigest().encode()


def _make_folder(folder: Path) -> None:
    if not folder.is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        ignore = folder / ".gitignore"
        if not ignore.exists():
            ignore.write_text("*\n", encoding="ascii")
