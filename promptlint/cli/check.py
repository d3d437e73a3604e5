"""``promptlint check``."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from promptlint.cli.common import (
    config_options,
    progress,
    read_baseline,
    read_config,
    show_errors,
    show_report,
    terminal_width,
    wants_color,
    write_whole,
)
from promptlint.cli.params import (
    FORMATS,
    Sectioned,
    color_option,
    exit_zero_option,
    force_exclude_option,
    format_option,
    output_option,
    quiet_option,
    rule_options,
)
from promptlint.config import Config
from promptlint.errors import NothingToCheckError, UsageError
from promptlint.report import Report
from promptlint.words import counted

if TYPE_CHECKING:
    from promptlint.baseline import Baseline
    from promptlint.reporters.options import Options
    from promptlint.source import SourceFile


_SECTIONS = {
    "Rules": "select ignore extend_select min_lost_tokens",
    "Cache and tokens": "profile model tokenizer",
    "Files": "include_tests templates_only force_exclude no_gitignore stdin_filename",
    "Report": "format_ output_file show_source statistics show_all color quiet exit_zero",
    "Baseline": "baseline update_baseline allow_growth",
    "Run": "config isolated jobs no_cache cache_dir watch",
}


@click.command(cls=Sectioned, sections=_SECTIONS)
@click.argument("paths", nargs=-1, type=click.Path())
@config_options
@rule_options
@click.option(
    "--min-lost-tokens", type=click.IntRange(0), metavar="N", help="Only what costs at least N tokens."
)
@format_option(*FORMATS)
@output_option
@click.option("--show-source/--no-show-source", default=True, help="Show the lines of each finding.")
@click.option("--statistics", is_flag=True, help="Count findings by rule.")
@click.option(
    "--show-all", is_flag=True, help="List what is suppressed, accepted or below the threshold too."
)
@click.option(
    "--baseline", type=click.Path(path_type=Path), metavar="FILE", help="Accept what this file lists."
)
@click.option("--update-baseline", is_flag=True, help="Write the baseline; it may only shrink.")
@click.option("--allow-growth", is_flag=True, help="Let --update-baseline accept new findings.")
@click.option("--include-tests/--exclude-tests", default=None, help="Read test code below the paths too.")
@click.option("--templates-only", is_flag=True, help="Leave Python files out.")
@force_exclude_option
@click.option("--no-gitignore", is_flag=True, help="Read files that Git ignores.")
@click.option(
    "--stdin-filename", metavar="NAME", help="Name of what comes in by `-`; without it, the content is asked."
)
@click.option("--jobs", "-j", type=click.IntRange(0), metavar="N", help="Processes; 0 chooses.")
@click.option("--no-cache", is_flag=True, help="Keep and use no earlier results.")
@click.option("--cache-dir", type=click.Path(path_type=Path), help="Where results are kept.")
@exit_zero_option
@click.option("--watch", is_flag=True, help="Check again whenever a file changes.")
@color_option
@quiet_option(", and nothing at all without findings")
def command(
    paths: tuple[str, ...],
    config: Path | None,
    isolated: bool,
    profile: str | None,
    model: str | None,
    tokenizer: str | None,
    select: tuple[str, ...] | None,
    ignore: tuple[str, ...] | None,
    extend_select: tuple[str, ...] | None,
    min_lost_tokens: int | None,
    format_: str,
    output_file: Path | None,
    show_source: bool,
    statistics: bool,
    show_all: bool,
    baseline: Path | None,
    update_baseline: bool,
    allow_growth: bool,
    include_tests: bool | None,
    templates_only: bool,
    force_exclude: bool,
    no_gitignore: bool,
    stdin_filename: str | None,
    jobs: int | None,
    no_cache: bool,
    cache_dir: Path | None,
    exit_zero: bool,
    watch: bool,
    color: str,
    quiet: bool,
) -> int:
    """Find what breaks the prefix cache in code and templates.

    PATHS are files, folders or globs; the default is the working folder, and `-` reads standard input.
    """
    from promptlint.reporters.options import Options

    paths = paths or (".",)
    settings = read_config(
        config,
        isolated,
        (stdin_filename,) if stdin_filename and "-" in paths else paths,
        profile=profile,
        model=model,
        tokenizer=tokenizer,
        select=select,
        ignore=ignore,
        extend_select=extend_select,
        min_lost_tokens=min_lost_tokens,
        include_tests=include_tests,
        respect_gitignore=False if no_gitignore else None,
        jobs=jobs,
        cache=False if no_cache else None,
        cache_dir=cache_dir,
        baseline=baseline,
    )
    options = Options(
        color=format_ == "text" and output_file is None and wants_color(color, sys.stdout),
        source=show_source,
        statistics=statistics,
        all=show_all,
        width=terminal_width(None if output_file else sys.stdout),
    )
    run = _Run(
        paths, settings, format_, output_file, options, stdin_filename, force_exclude, templates_only, quiet
    )
    if update_baseline:
        return run.update_baseline(allow_growth)
    if watch:
        return run.watch()
    code = run.once()
    return 0 if exit_zero and code == 1 else code


class _Run:
    """One invocation: what to check, and how to show it."""

    def __init__(
        self,
        paths: tuple[str, ...],
        config: Config,
        format_: str,
        output: Path | None,
        options: Options,
        stdin_filename: str | None,
        force_exclude: bool,
        templates_only: bool,
        quiet: bool,
    ) -> None:
        self._paths = paths
        self._config = config
        self._format = format_
        self._output = output
        self._options = options
        self._stdin_filename = stdin_filename
        self._force_exclude = force_exclude
        self._templates_only = templates_only
        self._quiet = quiet

    def report(self, baseline: Baseline | None) -> Report:
        """Check once."""
        from promptlint import engine

        request = engine.Request(
            self._paths,
            self._config,
            Path.cwd(),
            stdin=self._stdin(),
            force_exclude=self._force_exclude,
            baseline=baseline,
            templates_only=self._templates_only,
        )
        with progress(enabled=not self._quiet) as advance:
            return engine.check(request, advance)

    def _stdin(self) -> SourceFile | None:
        if "-" not in self._paths:
            return None
        if len(self._paths) > 1:
            raise UsageError("`-` stands alone: it cannot be checked together with paths", "check them apart")
        from promptlint.cli.stdin import read_stdin

        source, assumed = read_stdin(self._stdin_filename)
        if assumed and not self._quiet:
            click.echo(f"note: {assumed}; --stdin-filename NAME says what it is", err=True)
        return source

    def once(self) -> int:
        """Check, print, and return the exit code."""
        quiet = self._quiet
        try:
            report = self.report(read_baseline(self._config))
        except NothingToCheckError:
            if not self._force_exclude:
                raise
            report, quiet = Report((), lambda path: None), True  # a hook is often given none of our files
        show_report(report, self._format, self._options, self._output, quiet=quiet)
        return report.exit_code

    def update_baseline(self, allow_growth: bool) -> int:
        """Write the baseline and say what changed."""
        from promptlint.baseline import update

        path = self._config.baseline
        if path is None:
            raise UsageError("--update-baseline needs a file", "give --baseline FILE or set `baseline`")
        report = self.report(None)
        show_errors(report)
        new = update(path, report.findings, report.load, report.covers, allow_growth=allow_growth)
        write_whole(path, new.dump())
        click.echo(f"{path}: {counted(new.counts.total(), 'finding')} accepted")
        return report.exit_code if report.errors else 0

    def watch(self) -> int:
        """Check again after each change, until interrupted."""
        from promptlint.cli.watching import changes

        if "-" in self._paths:
            raise UsageError("`-` cannot be watched", "name files or folders")
        for _ in changes(self._paths, self._config):
            if sys.stdout.isatty():
                click.clear()
            try:
                self.once()
            except NothingToCheckError as error:
                click.echo(str(error), err=True)
            click.echo(time.strftime("%H:%M:%S  waiting for changes; Ctrl-C ends"), err=True)
        return 0
