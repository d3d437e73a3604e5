"""Results of earlier runs, kept in ``.promptlint_cache``.

A result is good as long as every file it was derived from has the same content. Contents are compared
by hash; a file whose time and size have not moved since it was hashed is not read again.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterable
from contextlib import suppress
from hashlib import blake2b, file_digest
from pathlib import Path
from stat import S_ISREG
from typing import Any

_FORMAT = 2
_RACY_NS = 100_000_000  # a file this young may change again within one tick of its clock
_KEEP_S = 30 * 24 * 3600
_MARK = "Signature: 8a477f597d28d172789f06886806bc55\n# Made by promptlint; safe to delete.\n"

ABSENT = ""
"""The digest of a file that is not there."""


def _hash() -> blake2b:
    return blake2b(digest_size=16)


def _name(path: str) -> str | bytes:
    """Return a path as SQLite takes it: one that is no UTF-8 as bytes."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return path.encode(errors="surrogatepass")
    return path


def _text(name: str | bytes) -> str:
    return name if isinstance(name, str) else name.decode(errors="surrogatepass")


def _version(base: sqlite3.Connection) -> int:
    return int(base.execute("PRAGMA user_version").fetchone()[0])


class Store:
    """Results by shown path, for one version and configuration (``key``).

    A store that cannot be opened, or is busy for too long, holds nothing and takes nothing: it makes a
    run slower, never wrong. ``trouble`` then says why.
    """

    def __init__(self, folder: Path | None, key: str) -> None:
        self.trouble = ""
        self._key = key
        self._stats: dict[str, tuple[int, int, str]] = {}
        self._fresh: dict[str, tuple[int, int, str]] = {}
        self._digests: dict[str, str] = {}
        self._results: dict[str, str] = {}
        self._new: dict[str, str] = {}
        self._path = folder and folder / "results.sqlite"

    @property
    def enabled(self) -> bool:
        """Tell whether anything is kept at all."""
        return self._path is not None

    def _connect(self) -> sqlite3.Connection:
        assert self._path is not None
        folder = self._path.parent
        if not folder.is_dir():
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "CACHEDIR.TAG").write_text(_MARK, encoding="utf-8")
            (folder / ".gitignore").write_text("*\n", encoding="utf-8")
        if self._path.is_symlink():
            raise OSError("it is a symbolic link")  # a repository can hold one that leads anywhere
        base = sqlite3.connect(self._path, timeout=5.0)
        if base.execute("SELECT 1 FROM sqlite_master WHERE type IN ('view', 'trigger')").fetchone():
            base.close()
            raise sqlite3.DatabaseError("not made by promptlint")
        if _version(base) != _FORMAT:
            base.execute("BEGIN IMMEDIATE")
            with base:
                if _version(base) == _FORMAT:
                    return base  # another run was quicker
                for table in ("files", "results"):
                    base.execute(f"DROP TABLE IF EXISTS {table}")
                base.execute("CREATE TABLE files (path PRIMARY KEY, mtime, size, digest) WITHOUT ROWID")
                base.execute(
                    "CREATE TABLE results (key, path, used, result, PRIMARY KEY (key, path)) WITHOUT ROWID"
                )
                base.execute(f"PRAGMA user_version = {_FORMAT}")
        return base

    def load(self, paths: Iterable[str] | None = None) -> None:
        """Read what is kept of the given paths, or of all."""
        if self._path is None or not self._path.exists():
            return
        try:
            base = self._connect()
            try:
                rows = base.execute("SELECT path, mtime, size, digest FROM files")
                self._stats = {_text(row[0]): row[1:] for row in rows if isinstance(row[0], str | bytes)}
                query = "SELECT path, result FROM results WHERE key = ?"
                few = [_name(path) for path in paths or ()]
                if few:
                    query += f" AND path IN ({','.join('?' * len(few))})"
                rows = base.execute(query, (self._key, *few))
                self._results = {
                    _text(path): result for path, result in rows if isinstance(path, str | bytes)
                }
            finally:
                base.close()
        except (sqlite3.Error, OSError, UnicodeDecodeError) as error:
            self._give_up(error)

    def _give_up(self, error: Exception) -> None:
        self.trouble = f"{self._path}: cache not used: {getattr(error, 'strerror', None) or error}"
        if isinstance(error, sqlite3.DatabaseError) and not isinstance(error, sqlite3.OperationalError):
            assert self._path is not None
            with suppress(OSError):
                self._path.unlink(missing_ok=True)  # damaged: the next run starts a new one
        self._path = None
        self._stats, self._results = {}, {}

    def digest(self, path: str, file: Path) -> str:
        """Return the hash of a file's bytes, or `ABSENT`."""
        known = self._digests.get(path)
        if known is None:
            known = self._digests[path] = self._digest(path, file)
        return known

    def _digest(self, path: str, file: Path) -> str:
        try:
            stat = file.stat()
            kept = self._stats.get(path)
            if kept and kept[:2] == (stat.st_mtime_ns, stat.st_size):
                return kept[2]
            if not S_ISREG(stat.st_mode):
                return ABSENT
            with file.open("rb") as stream:
                digest = file_digest(stream, _hash).hexdigest()
        except (OSError, ValueError):  # ValueError: a name that no file can have
            return ABSENT
        if time.time_ns() - stat.st_mtime_ns > _RACY_NS:
            self._fresh[path] = (stat.st_mtime_ns, stat.st_size, digest)
        return digest

    def get(self, path: str) -> Any | None:
        """Return the JSON values kept for a path, good or not, or None."""
        try:
            return json.loads(self._results[path])
        except (KeyError, ValueError, TypeError, RecursionError):
            return None

    def put(self, path: str, result: Any) -> None:
        """Keep JSON values for a path."""
        self._new[path] = json.dumps(result, separators=(",", ":"))

    def save(self) -> None:
        """Write what is new in one transaction; another run that writes now loses nothing."""
        if self._path is None or not (self._new or self._fresh):
            return
        now = int(time.time())
        try:
            base = self._connect()
            try:
                with base:
                    base.executemany(
                        "INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?)",
                        [(_name(path), *stat) for path, stat in self._fresh.items()],
                    )
                    base.executemany(
                        "INSERT OR REPLACE INTO results VALUES (?, ?, ?, ?)",
                        [(self._key, _name(path), now, text) for path, text in self._new.items()],
                    )
                    base.execute("DELETE FROM results WHERE used < ?", (now - _KEEP_S,))
            finally:
                base.close()
        except (sqlite3.Error, OSError) as error:
            self._give_up(error)
