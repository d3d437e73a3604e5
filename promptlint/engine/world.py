"""The files of one run as frontends may see them, and a record of what each one looked at."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from promptlint import source
from promptlint.config import Config
from promptlint.errors import InputError
from promptlint.frontends.base import Context, Delimiters
from promptlint.source import SourceFile


class World:
    """Reads each file once. Shown paths are relative to ``cwd``, or absolute."""

    def __init__(self, config: Config, cwd: Path, stdin: SourceFile | None = None) -> None:
        self._config = config
        self.cwd = cwd
        self._stdin = stdin
        self._sources: dict[str, SourceFile | InputError] = {}
        self._seen: set[str] | None = None

    def file(self, path: str) -> Path:
        """Return where a shown path lies."""
        return self.cwd / path

    def read(self, path: str) -> SourceFile:
        """Return a file's text.

        Raises:
            InputError: it cannot be read, is binary or too large.
        """
        if self._stdin is not None and path == self._stdin.path:
            return self._stdin
        found = self._sources.get(path)
        if found is None:
            try:
                found = source.read(self.file(path), path, self._config.max_file_size)
            except InputError as error:
                found = error
            self._sources[path] = found
        if isinstance(found, InputError):
            raise found
        return found

    def load(self, path: str) -> SourceFile | None:
        """Return a file's text or None; whoever is being recorded depends on the answer."""
        if self._seen is not None:
            self._seen.add(path)
        return self.peek(path)

    def peek(self, path: str) -> SourceFile | None:
        """Return a file's text or None, outside of any record."""
        try:
            return self.read(path)
        except InputError:
            return None

    @contextmanager
    def recording(self) -> Iterator[set[str]]:
        """Collect the paths that are asked for inside the block, those without a file too."""
        seen: set[str] = set()
        self._seen = seen
        try:
            yield seen
        finally:
            self._seen = None

    def context(self, listing: tuple[str, ...]) -> Context:
        """Return what a frontend is given."""
        jinja = self._config.jinja
        return Context(
            load=self.load,
            listing=listing,
            delimiters=Delimiters(jinja.block, jinja.variable, jinja.comment),
            options={"jinja.dialect": "trimmed" if jinja.trimmed else "jinja"},
        )

    def forget(self, path: str) -> None:
        """Drop a text that is not needed any more."""
        self._sources.pop(path, None)
