"""``promptlint fix``."""

from __future__ import annotations

import difflib
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from promptlint.cli.common import (
    config_options,
    progress,
    read_baseline,
    read_config,
    show_errors,
)
from promptlint.cli.params import exit_zero_option, force_exclude_option, quiet_option, rule_options
from promptlint.config import Config
from promptlint.errors import InputError, NothingToCheckError
from promptlint.files import replacing
from promptlint.source import SourceFile
from promptlint.words import counted

if TYPE_CHECKING:
    from promptlint.fixes.apply import Plan
    from promptlint.report import Report


_ROUNDS = 10  # a fix that overlaps another waits for the next round; no text needs many


@click.command()
@click.argument("paths", nargs=-1, type=click.Path())
@config_options
@rule_options
@force_exclude_option
@click.option("--diff", "show_diff", is_flag=True, help="Print what would change and write nothing.")
@exit_zero_option
@quiet_option()
def command(
    paths: tuple[str, ...],
    config: Path | None,
    isolated: bool,
    force_exclude: bool,
    show_diff: bool,
    exit_zero: bool,
    quiet: bool,
    **settings: Any,
) -> int:
    """Apply the edits that keep a prompt's meaning, and list what they leave.

    Leaves with 1 if findings remain that only a person can mend, and with --diff if anything would change.
    """
    paths = paths or (".",)
    run = _Run(paths, read_config(config, isolated, paths, **settings), force_exclude, quiet)
    try:
        code = run.show() if show_diff else run.mend()
    except NothingToCheckError:
        if force_exclude:
            return 0  # a hook is often given only files that are none of ours
        raise
    return 0 if exit_zero and code == 1 else code


class _Run:
    """One invocation: which files, under which settings."""

    def __init__(self, paths: tuple[str, ...], config: Config, force_exclude: bool, quiet: bool) -> None:
        from promptlint import engine

        self._request = engine.Request(
            paths, config, Path.cwd(), force_exclude=force_exclude, baseline=read_baseline(config)
        )
        self._quiet = quiet

    def _check(self) -> tuple[Report, Plan]:
        from promptlint import engine
        from promptlint.fixes.apply import plan

        with progress(enabled=not self._quiet) as advance:
            report = engine.check(self._request, advance)
        return report, plan(report.active, report.load)

    def show(self) -> int:
        """Print what would change."""
        report, made = self._check()
        show_errors(report)
        for path, source in _sources(report, made).items():
            click.echo(_diff(path, source.text, made.texts[path]), nl=False)
        self._summary(len(made.applied), set(made.texts), len(report.active) - len(made.applied), "would be ")
        return _exit_code(report, bool(report.active))

    def mend(self) -> int:
        """Write what changes until nothing does, and list what is left."""
        from promptlint.reporters.concise import lines

        mended, paths = 0, set[str]()
        report, made = self._check()
        for _ in range(_ROUNDS):
            if not made.applied:
                break
            sources = _sources(report, made)
            _write({Path(path): _encoded(source, made.texts[path]) for path, source in sources.items()})
            mended += len(made.applied)
            paths |= set(sources)
            report, made = self._check()
        show_errors(report)
        for line in lines(report, report.active):
            click.echo(line)
        self._summary(mended, paths, len(report.active))
        return _exit_code(report, bool(report.active))

    def _summary(self, mended: int, paths: set[str], remaining: int, would: str = "") -> None:
        done = (
            f"{counted(mended, 'finding')} {would}mended in {counted(len(paths), 'file')}"
            if mended
            else "no finding that can be mended safely"
            if remaining
            else "nothing to mend"
        )
        click.echo(f"{done}; remaining: {remaining}" if mended or remaining else done, err=True)


def _exit_code(report: Report, dirty: bool) -> int:
    return report.exit_code if report.exit_code not in (0, 1) else int(dirty)


def _sources(report: Report, made: Plan) -> dict[str, SourceFile]:
    return {path: source for path in sorted(made.texts) if (source := report.load(path))}


def _diff(path: str, old: str, new: str) -> str:
    lines = difflib.unified_diff(
        old.splitlines(keepends=True), new.splitlines(keepends=True), f"a/{path}", f"b/{path}"
    )
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines
    )


def _encoded(source: SourceFile, text: str) -> bytes:
    """Return a text as its file had it: newlines, byte order mark, encoding."""
    with_newlines = text.replace("\n", source.newline)
    try:
        return with_newlines.encode(source.encoding)
    except UnicodeEncodeError:
        raise InputError(
            f"{source.path}: the mended text does not fit into {source.encoding}", "save the file as UTF-8"
        ) from None


def _write(contents: dict[Path, bytes]) -> None:
    """Replace files: each whole or not at all, and none before all are written beside their places."""
    path = Path()
    try:
        with ExitStack() as written:
            for path, data in contents.items():
                written.enter_context(replacing(path)).write_bytes(data)
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}", "check rights and space") from None
