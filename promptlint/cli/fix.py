"""``promptlint fix``."""

from __future__ import annotations

import difflib
from contextlib import ExitStack
from pathlib import Path

import click

from promptlint.cli.common import config_options, progress, read_config, show_errors, start_of
from promptlint.cli.params import WORDS
from promptlint.errors import InputError
from promptlint.files import replacing
from promptlint.source import SourceFile
from promptlint.words import counted


@click.command()
@click.argument("paths", nargs=-1, type=click.Path())
@config_options
@click.option("--select", type=WORDS, help="Only fix these rules: codes, prefixes or names, with commas.")
@click.option("--diff", "show_diff", is_flag=True, help="Print what would change and write nothing.")
@click.option("--unsafe-fixes", is_flag=True, help="Apply edits that may change what the prompt says, too.")
def command(
    paths: tuple[str, ...],
    config: Path | None,
    isolated: bool,
    profile: str | None,
    model: str | None,
    tokenizer: str | None,
    select: tuple[str, ...] | None,
    show_diff: bool,
    unsafe_fixes: bool,
) -> int:
    """Apply the edits that keep a prompt's meaning.

    Leaves with 1 if findings remain that only a person can mend, and with --diff if anything would change.
    """
    from promptlint import engine
    from promptlint.fixes.apply import plan

    paths = paths or (".",)
    settings = read_config(
        config, isolated, start_of(paths), profile=profile, model=model, tokenizer=tokenizer, select=select
    )
    with progress(enabled=True) as advance:
        report = engine.check(engine.Request(paths, settings, Path.cwd()), advance)
    show_errors(report)
    made = plan(report.active, report.load, unsafe=unsafe_fixes)
    sources = {path: source for path in sorted(made.texts) if (source := report.load(path))}
    if show_diff:
        for path, source in sources.items():
            click.echo(_diff(path, source.text, made.texts[path]), nl=False)
    else:
        _write({Path(path): _encoded(source, made.texts[path]) for path, source in sources.items()})
    remaining = len(report.active) - len(made.applied)
    verb = "would be mended" if show_diff else "mended"
    done = f"{counted(len(made.applied), 'finding')} {verb} in {counted(len(sources), 'file')}"
    done = (
        done
        if made.applied
        else f"no finding that can be {'mended safely' if not unsafe_fixes else 'mended'}"
    )
    click.echo(f"{done}; remaining: {remaining}", err=True)
    if made.left:
        click.echo(
            f"note: {counted(len(made.left), 'edit')} left out, in the way of others: run it again", err=True
        )
    if report.exit_code not in (0, 1):
        return report.exit_code
    return int(remaining > 0 or (show_diff and bool(made.applied)))


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
    try:
        with ExitStack() as written:
            for path, data in contents.items():
                written.enter_context(replacing(path)).write_bytes(data)
    except OSError as error:
        raise InputError(
            f"{error.filename}: cannot be written: {error.strerror}", "check rights and space"
        ) from None
