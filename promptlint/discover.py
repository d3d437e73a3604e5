"""Which files a run reads, and as what."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path, PurePosixPath

from promptlint.config import TEST_CODE, Config
from promptlint.errors import UsageError
from promptlint.filetypes import FileType, type_of
from promptlint.globs import PathRules

_MOST_UNMARKED = 2000  # files below a folder that nothing marks as a project


@dataclass(frozen=True, slots=True)
class Target:
    """One file to check. ``path`` is its name in reports.

    ``alone``: it was given by itself, not found in a folder. ``named``: so that it is read whatever
    its content looks like.
    """

    path: str
    file: Path
    type: FileType
    named: bool = False
    alone: bool = False


@dataclass(frozen=True, slots=True)
class Discovery:
    """The files of a run: those to check, and every file a template or import may lead to."""

    targets: tuple[Target, ...]
    listing: tuple[str, ...]
    unreadable: tuple[tuple[str, str], ...] = ()  # (folder, why)
    inner: tuple[Path, ...] = ()  # folders that were named and lie within a project


class Walker:
    """Walks folders the way Git would, with promptlint's own excludes."""

    def __init__(self, config: Config, cwd: Path) -> None:
        self._config = config
        self._cwd = str(cwd)
        self._root = str(config.root.resolve())
        exclude = (*config.exclude, *config.extend_exclude)
        self._by_name = PathRules(p for p in exclude if "/" not in p.rstrip("/"))
        self._by_path = PathRules(p for p in exclude if "/" in p.rstrip("/"))
        self._tests = PathRules(() if config.include_tests else TEST_CODE)
        self.include = PathRules(config.include)
        self.unreadable: list[tuple[str, str]] = []

    def shown(self, file: Path | str) -> str:
        """Return the name of a file in reports: relative to the working directory, or absolute."""
        return _relative(str(file), self._cwd) or PurePosixPath(file).as_posix()

    def excluded(self, file: Path) -> bool:
        """Tell whether patterns leave out a file that was named by itself."""
        above = self._above(file.parent)
        folders = [p for p in file.parents if _relative(str(p), self._root)]
        return any(self._skips(str(p), True, above) for p in folders) or self._skips(str(file), False, above)

    def walk(self, folder: Path) -> Iterator[tuple[str, str, bool]]:
        """Yield (absolute path, name below ``folder``, is test code) of the files below a folder.

        Folders behind symbolic links are not entered: what they hold is either reached by its own
        name or lies outside of what was asked for.
        """
        above = self._above(folder)
        if self._ignored(str(folder), True, above):
            above = ()  # asked for by name, as `git add --force` would be
        yield from self._walk(str(folder), "", above, False)

    def _walk(self, folder: str, below: str, rules: _Ignores, test: bool) -> Iterator[tuple[str, str, bool]]:
        try:
            with os.scandir(folder) as entries:
                children = sorted(entries, key=lambda e: e.name)
        except OSError as error:
            self.unreadable.append((self.shown(folder), error.strerror or str(error)))
            return
        names = {e.name for e in children}
        if "pyvenv.cfg" in names:
            return
        if self._config.respect_gitignore and ".gitignore" in names:
            rules = (*rules, (folder, PathRules(_lines(Path(folder, ".gitignore")))))
        for entry in children:
            name = f"{below}{entry.name}"
            if entry.is_dir(follow_symlinks=False):
                if not self._skips(entry.path, True, rules):
                    inside = test or self._tests.matches(name + "/")
                    yield from self._walk(entry.path, name + "/", rules, inside)
            elif _is_file(entry) and not self._skips(entry.path, False, rules):
                yield entry.path, name, test or self._tests.matches(name)

    def _skips(self, path: str, folder: bool, rules: _Ignores) -> bool:
        slash = "/" if folder else ""
        if self._by_name.matches(path.rpartition("/")[2] + slash):
            return True
        below = _relative(path, self._root)
        if below is not None and self._by_path.matches(below + slash):
            return True
        return self._ignored(path, folder, rules)

    def _ignored(self, path: str, folder: bool, rules: _Ignores) -> bool:
        for base, patterns in reversed(rules):
            said = patterns.verdict(path[len(base) + 1 :] + ("/" if folder else ""))
            if said is not None:
                return said
        return False

    def _above(self, folder: Path) -> _Ignores:
        """Return the ignore files between the repository's root and a folder, outermost first."""
        if not self._config.respect_gitignore:
            return ()
        found: list[tuple[str, PathRules]] = []
        for parent in folder.parents:
            if (ignore := parent / ".gitignore").is_file():
                found.append((str(parent), PathRules(_lines(ignore))))
            if (parent / ".git").exists():
                return tuple(reversed(found))
        return ()  # no repository: files further up say nothing


_Ignores = tuple[tuple[str, PathRules], ...]


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []


def _is_file(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_file()
    except OSError:  # a link that leads to itself
        return False


def _relative(path: str, base: str) -> str | None:
    base = base.rstrip("/") + "/"
    return path[len(base) :] if path.startswith(base) else None


def discover(paths: Sequence[str], config: Config, cwd: Path, *, force_exclude: bool = False) -> Discovery:
    """Find the files to check below paths and globs.

    Files named by themselves are taken whatever the excludes say, unless ``force_exclude``.

    Raises:
        UsageError: a path or glob does not exist.
    """
    walker = Walker(config, cwd)
    targets: dict[str, Target] = {}
    listing: dict[str, None] = {}
    inner: list[Path] = []
    for path in _expand(paths, cwd):
        if path.is_dir():
            if _project(path) not in (None, path):
                inner.append(path)
            for absolute, below, test in walker.walk(path):
                if test:
                    continue
                shown = walker.shown(absolute)
                listing[shown] = None
                if kind := type_of(below, walker.include):
                    targets.setdefault(shown, Target(shown, Path(absolute), kind))
        elif not (force_exclude and walker.excluded(path)):
            shown = walker.shown(path)
            listing[shown] = None
            kind = type_of(path.as_posix(), walker.include) or FileType.DOCUMENT
            targets[shown] = Target(shown, path, kind, named=not force_exclude, alone=True)
    return Discovery(tuple(targets.values()), tuple(listing), tuple(walker.unreadable), tuple(inner))


def discover_text(name: str, config: Config, cwd: Path, *, force_exclude: bool = False) -> Discovery:
    """Return the one file that a text given by itself stands for, whether or not it exists."""
    walker = Walker(config, cwd)
    file = Path(os.path.normpath(cwd / name))
    if force_exclude and walker.excluded(file):
        return Discovery((), ())
    kind = type_of(name, walker.include) or FileType.DOCUMENT
    return Discovery((Target(name, file, kind, named=True, alone=True),), (name,))


def project_listing(folder: Path, config: Config, cwd: Path) -> tuple[str, ...]:
    """Return the files around a named file or folder that its includes and imports may lead to.

    They are those of the project, which a configuration file, a setup.py, a pyproject.toml or ``.git`` marks. Where
    nothing does they are those below the folder, or beside the package that it belongs to; its own alone if
    there are too many: nobody wants a home folder searched.
    """
    walker = Walker(config, cwd)
    if (project := _project(folder)) is not None:
        return tuple(walker.shown(absolute) for absolute, _, test in walker.walk(project) if not test)
    top = folder
    while (top / "__init__.py").is_file():
        top = top.parent
    below = list(islice(walker.walk(top), _MOST_UNMARKED + 1))
    if len(below) > _MOST_UNMARKED:
        return tuple(walker.shown(child) for child in sorted(folder.iterdir()) if child.is_file())
    return tuple(walker.shown(absolute) for absolute, _, test in below if not test)


def _project(folder: Path) -> Path | None:
    """Return the nearest folder, at or above one, that is marked as a project."""
    marks = ("pyproject.toml", "promptlint.toml", "setup.py", ".git")
    parents = (folder, *folder.parents)
    return next((parent for parent in parents if any((parent / mark).exists() for mark in marks)), None)


def _expand(paths: Sequence[str], cwd: Path) -> Iterator[Path]:
    for given in paths:
        path = Path(os.path.normpath(cwd / given))
        if os.path.exists(path):  # noqa: PTH110  `Path.exists` fails on names that no file can have
            yield path
            continue
        is_glob = any(c in given for c in "*?[")
        matches = sorted(Path(path.anchor).glob(str(path.relative_to(path.anchor)))) if is_glob else []
        if not matches:
            what = "matches no file" if is_glob else "does not exist"
            raise UsageError(
                f"{given[:300]}: {what}", "check the spelling; quote globs that the shell should not expand"
            )
        yield from matches
