"""One run of `check`: discover, read, judge, merge, suppress, compare with the baseline."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from promptlint.baseline import Baseline
from promptlint.config import Config
from promptlint.discover import Discovery, Target, discover, discover_text, project_listing
from promptlint.engine.judge import Judge
from promptlint.engine.kept import Kept
from promptlint.engine.key import run_key
from promptlint.engine.merge import merge
from promptlint.engine.parallel import neighbours, processes, shares, spread
from promptlint.engine.python import WORTH as WORTH_PYTHON
from promptlint.engine.python import check_python
from promptlint.engine.select import Selection
from promptlint.engine.store import Store
from promptlint.engine.units import WORTH as WORTH_TEXTS
from promptlint.engine.units import Result, check_file, check_texts
from promptlint.engine.world import World
from promptlint.errors import NothingToCheckError
from promptlint.filetypes import FileType
from promptlint.findings import Finding, Status
from promptlint.report import FileError, Report
from promptlint.source import SourceFile
from promptlint.suppress import apply, ignored_codes, matches, parse
from promptlint.words import counted

Progress = Callable[[int, int], None]
"""Called with the number of files done and of all files."""


@dataclass(frozen=True, slots=True)
class Request:
    """What to check. ``stdin`` stands in for the one path of the same name.

    ``force_exclude`` treats files named by themselves like those found in a folder, as a hook needs.
    """

    paths: tuple[str, ...]
    config: Config
    cwd: Path
    stdin: SourceFile | None = None
    force_exclude: bool = False
    baseline: Baseline | None = None
    templates_only: bool = False


def check(request: Request, progress: Progress | None = None) -> Report:
    """Check files and return what was found.

    Raises:
        UsageError: a path or rule does not exist.
        NothingToCheckError: no file holds a prompt.
        CatalogError: a data file is wrong.
    """
    with _uncollected():
        return _Run(request, progress or (lambda done, of: None)).report()


@contextmanager
def _uncollected() -> Iterator[None]:
    """Keep the collector of reference cycles still: what a run makes lives to its end, and is walked for nothing.

    It is a third of the time; the memory that it would free is a few percent.
    """
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.enable()


class _Run:
    def __init__(self, request: Request, progress: Progress) -> None:
        self._request = request
        self._config = request.config
        self._progress = progress
        self._started = time.perf_counter()
        self._world = World(request.config, request.cwd, request.stdin)
        self._judge = Judge(request.config)
        self._found = self._discover()
        self._store = Store(self._cache_folder(), run_key(self._config, request.cwd))
        self._kept = Kept(self._store, self._world, lambda: self._listing)

    def _discover(self) -> Discovery:
        request = self._request
        if request.stdin is not None:
            return discover_text(
                request.stdin.path, self._config, request.cwd, force_exclude=request.force_exclude
            )
        found = discover(request.paths, self._config, request.cwd, force_exclude=request.force_exclude)
        if request.templates_only:
            kept = tuple(t for t in found.targets if t.type is not FileType.PYTHON)
            return replace(found, targets=kept)
        return found

    def _cache_folder(self) -> Path | None:
        return None if self._request.stdin is not None else self._config.cache_folder

    @cached_property
    def _listing(self) -> tuple[str, ...]:
        """Every file that an include or import may lead to."""
        listing = dict.fromkeys((*(t.path for t in self._found.targets), *self._found.listing))
        alone = {t.file.parent for t in self._found.targets if t.alone}
        for folder in sorted({*alone, *self._found.inner}):
            if folder.is_dir():
                listing.update(dict.fromkeys(project_listing(folder, self._config, self._request.cwd)))
        return tuple(listing)

    def report(self) -> Report:
        """Run all steps."""
        selection = Selection(self._config, self._rules())
        results = self._results()
        errors = list(dict.fromkeys(r.error for r in results if r.error is not None))
        errors += [FileError(path, f"cannot be listed: {why}") for path, why in self._found.unreadable]
        files = sum(r.read and r.error is None for r in results)
        if not files and not errors:
            raise NothingToCheckError(*self._nothing(len(results)))
        findings = [f for f in merge(results) if f.code in selection]
        findings = self._suppress(findings, results, selection)
        findings = [self._with_edits(f) for f in findings]
        read = {target.path for target in self._found.targets}

        def covers(code: str, path: str) -> bool:
            return code in selection and (path in read or not (self._request.cwd / path).exists())

        notes = [self._store.trouble] if self._store.trouble else []
        if unknown := self._judge.unknown_model:
            notes.append(
                f"nothing is known of the model {unknown}: its tokens are estimated, its cache rules those of the default profile"
            )
        if self._request.baseline is not None:
            findings, gone = self._request.baseline.apply(findings, self._world.peek, covers)
            if gone:
                which = counted(gone, "accepted finding")
                notes.append(f"no longer there: {which}; shrink the baseline with --update-baseline")
        return Report(
            tuple(sorted(findings, key=lambda f: (f.primary, f.code))),
            self._world.peek,
            tuple(errors),
            files,
            tuple(notes),
            time.perf_counter() - self._started,
            str(self._request.cwd),
            covers=covers,
        )

    def _nothing(self, seen: int) -> tuple[str, str]:
        shown = ", ".join(self._request.paths) or "."
        if seen:
            return (
                f"{shown}: no prompt in {counted(seen, 'file')}",
                "name a file by itself to have it read as one",
            )
        return f"{shown}: no file to check", "see `exclude`, .gitignore and `include-tests`, or name a file"

    def _rules(self) -> Mapping[str, tuple[str, bool]]:
        """Return name and default of every rule; kept, so that a warm run imports no check."""
        self._store.load()
        kept: Any = self._store.get(" rules")
        try:
            return {str(code): (str(name), bool(default)) for code, (name, default) in kept.items()}
        except (AttributeError, TypeError, ValueError):  # nothing kept, or nothing of ours
            rules = self._judge.rules
        self._store.put(" rules", {code: [name, default] for code, (name, default) in rules.items()})
        return rules

    def _results(self) -> list[Result]:
        """Return the result of each target, from the cache where it still holds."""
        results: list[Result] = []
        left: list[Target] = []
        for target in self._found.targets:
            kept = self._kept.find(target.path, _slot(target))
            if kept is None:
                left.append(target)
            else:
                results.append(kept)
        total = len(self._found.targets)
        for target, result in self._fresh(left):
            results.append(result)
            self._kept.keep(result, _slot(target))
            self._progress(len(results), total)
        self._store.save()
        return sorted(results, key=lambda result: result.path)  # processes answer in any order

    def _fresh(self, left: Sequence[Target]) -> Iterable[tuple[Target, Result]]:
        texts = [t for t in left if t.type is not FileType.PYTHON]
        python = [t for t in left if t.type is FileType.PYTHON]
        jobs = self._config.jobs
        some = processes(len(texts), jobs, WORTH_TEXTS)
        count = max(some, processes(len(python), jobs, WORTH_PYTHON))
        if count > 1:
            works = (check_texts, shares(texts, some)), (check_python, neighbours(python, count))
            yield from spread(works, self._common())
            return
        for target in texts:
            yield target, check_file(target, self._world, self._judge, lambda: self._listing, self._config)
        if python:
            yield from check_python(python, *self._common(), self._world, self._judge)

    def _common(self) -> tuple[Config, Path, tuple[str, ...]]:
        return self._config, self._request.cwd, self._listing

    def _suppress(
        self, findings: list[Finding], results: Iterable[Result], selection: Selection
    ) -> list[Finding]:
        comments = {r.path: r.suppressions for r in results if r.suppressions}
        checked = {r.path for r in results}
        for path in {f.primary.path for f in findings} - checked:  # a file reached through another one
            source = self._world.peek(path)
            if source is not None and (extra := parse(source, self._config.jinja.comment)):
                comments[path] = tuple(extra)
        marked = apply(findings, comments, self._world.peek, selection.selects)
        marked = [f for f in marked if f.code in selection]
        if not self._config.per_file_ignores:
            return marked
        return [self._per_file(f) for f in marked]

    def _with_edits(self, finding: Finding) -> Finding:
        if finding.code not in ("PL201", "PL202", "PL301"):
            return finding
        from promptlint.fixes.order import place_of, with_order

        return with_order(finding, self._world.peek(place_of(finding).path))

    def _per_file(self, finding: Finding) -> Finding:
        file = self._world.file(finding.primary.path)
        try:
            path = file.relative_to(self._config.root).as_posix()
        except ValueError:
            path = file.as_posix().lstrip("/")
        selectors = ignored_codes(path, self._config.per_file_ignores)
        if any(matches(s, finding.code, finding.name) for s in selectors):
            return replace(finding, status=Status.SUPPRESSED, reason="per-file-ignores")
        return finding


def _slot(target: Target) -> str:
    """Return the name under which a result is kept; a document named by itself is always read."""
    return f"{target.path} named" if target.named else target.path
