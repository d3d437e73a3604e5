"""``promptlint diff``."""

from __future__ import annotations

import io
import subprocess
import sys
import tarfile
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click

from promptlint.cli.common import (
    config_options,
    progress,
    read_config,
    show_report,
    terminal_width,
    wants_color,
)
from promptlint.cli.params import (
    FORMATS,
    color_option,
    exit_zero_option,
    format_option,
    output_option,
    quiet_option,
    rule_options,
)
from promptlint.config import Config
from promptlint.errors import NothingToCheckError, UsageError

if TYPE_CHECKING:
    from promptlint.baseline import Baseline


@click.command()
@click.argument("revision", default="HEAD")
@click.argument("paths", nargs=-1, type=click.Path())
@config_options
@rule_options
@format_option(*FORMATS)
@output_option
@exit_zero_option
@color_option
@quiet_option(", and nothing at all without findings")
def command(
    revision: str,
    paths: tuple[str, ...],
    config: Path | None,
    isolated: bool,
    format_: str,
    output_file: Path | None,
    exit_zero: bool,
    color: str,
    quiet: bool,
    **settings: Any,
) -> int:
    """Report only what is new since a Git revision.

    REVISION is a commit, branch or tag; the working tree is compared with it, uncommitted changes
    included.
    """
    from promptlint import engine
    from promptlint.reporters.options import Options

    paths = paths or (".",)
    chosen = read_config(config, isolated, paths, **settings)
    before = _before(revision, paths, chosen)
    with progress(enabled=not quiet) as advance:
        report = engine.check(engine.Request(paths, chosen, Path.cwd(), baseline=before), advance)
    report = replace(
        report, notes=(), accepted=f"already in {revision}"
    )  # what is gone since the revision is not to be tidied up here
    colored = format_ == "text" and output_file is None and wants_color(color, sys.stdout)
    show_report(
        report,
        format_,
        Options(color=colored, width=terminal_width(None if output_file else sys.stdout)),
        output_file,
        quiet=quiet,
    )
    return 0 if exit_zero and report.exit_code == 1 else report.exit_code


def _before(revision: str, paths: tuple[str, ...], config: Config) -> Baseline:
    """Check the tree of a revision and accept what was there."""
    from promptlint import engine
    from promptlint.baseline import Baseline

    cwd = Path.cwd().resolve()
    top = Path(_git("rev-parse", "--show-toplevel").decode().strip()).resolve()
    with TemporaryDirectory(prefix="promptlint-") as folder:
        old = Path(folder).resolve()
        _unpack(_git("archive", "--format=tar", _commit(revision, top), cwd=top), old)
        there = old / cwd.relative_to(top)
        kept = tuple(_moved(path, cwd, there) for path in paths)
        kept = tuple(path for path in kept if any(c in path for c in "*?[") or (there / path).exists())
        root = config.root.resolve()
        moved = replace(
            config, cache=False, root=old / root.relative_to(top) if root.is_relative_to(top) else old
        )
        if not kept:
            return Baseline.of((), lambda path: None)
        try:
            report = engine.check(engine.Request(kept, moved, there))
        except NothingToCheckError:
            return Baseline.of((), lambda path: None)
        return Baseline.of(report.findings, report.load)


def _commit(revision: str, top: Path) -> str:
    """Return the hash of a revision; one that begins with a hyphen is no option to Git."""
    try:
        said = _git("rev-parse", "--verify", "--end-of-options", f"{revision}^{{commit}}", cwd=top)
    except UsageError as error:
        step = (
            f"`promptlint diff HEAD {revision}` compares this path"
            if Path(revision).exists()
            else error.next_step
        )
        raise UsageError(f"{revision}: no such commit", step) from None
    return said.decode().split()[-1]


def _moved(path: str, cwd: Path, there: Path) -> str:
    """Return a path of the working tree as one of the old tree."""
    absolute = (cwd / path).resolve()
    try:
        return str(there / absolute.relative_to(cwd))
    except ValueError:
        return path


def _git(*arguments: str, cwd: Path | None = None) -> bytes:
    try:
        done = subprocess.run(["git", *arguments], capture_output=True, check=False, cwd=cwd)
    except FileNotFoundError:
        raise UsageError("`git` is not installed", "`promptlint check --baseline` works without it") from None
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        raise UsageError(
            f"git: {said[-1] if said else 'failed'}", "name a commit, branch or tag of this repository"
        )
    return done.stdout


def _unpack(data: bytes, folder: Path) -> None:
    """Write the regular files of an archive that Git made; links and the like are left out."""
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        for member in archive:
            content = archive.extractfile(member) if member.isfile() else None
            path = (folder / member.name).resolve()
            if content is None or not path.is_relative_to(folder):
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.read())
