"""The command group. Commands are imported when they are run: ``--version`` and ``--help`` stay quick."""

from __future__ import annotations

import atexit
import errno
import gc
import io
import os
import sys
from importlib import import_module
from pathlib import Path
from typing import NoReturn

import click

import promptlint
from promptlint.errors import PromptlintError

COMMANDS = {
    "check": "Find what breaks the prefix cache in code and templates.",
    "layout": "Show one prompt: its segments, what changes them, what a cache can reuse.",
    "fix": "Apply the edits that keep a prompt's meaning.",
    "diff": "Report only what is new since a Git revision.",
    "explain": "Explain a rule: why it matters, bad and good examples.",
    "rules": "List the rules.",
    "profiles": "List the cache rules of providers and engines.",
    "estimate": "Work out what a prompt costs in compute, memory, money and time.",
    "trace": "Simulate a request log, explain its misses.",
    "replay": "Replay prompts on an engine and measure the hits.",
    "init": "Write a configuration and a pre-commit hook.",
    "completion": "Print the completion script of a shell.",
}
"""Command names in the order of the help, with their one-line help."""
_SHORT = ("check", "layout", "fix", "diff")


class _Commands(click.Group):
    """A group whose commands live in modules of the same name, each with a ``command``."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(f"promptlint.cli.{cmd_name}").command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            from difflib import get_close_matches

            close = get_close_matches(args[0], COMMANDS, 1)
            hint = f" Did you mean {close[0]!r}?" if close else " `promptlint --help` lists the commands."
            ctx.fail(f"No such command {args[0]!r}.{hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog="Exit codes: 0 clean, 1 findings, 2 usage, 3 nothing to check, 4 internal error.",
)
@click.version_option(promptlint.__version__, prog_name="promptlint")
def group() -> None:
    """Find what breaks the prefix cache of an LLM prompt, and what it costs.

    Start with `promptlint check` in a folder with prompts.
    """


def main(args: list[str] | None = None) -> None:
    """Run a command and leave with its exit code."""
    if args is None and sys.argv[1:2] and sys.argv[1] in _SHORT:
        # The process ends with the command: to collect garbage, and to take every syntax tree apart at
        # the end, would be a quarter of the time of a large tree.
        gc.disable()
        try:
            _run(None)
        except SystemExit as ended:
            _leave(ended)
    _run(args)


def _leave(ended: SystemExit) -> NoReturn:
    """End the process at once, with all written and all exit functions run."""
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:  # a full disk or a reader that has gone; the interpreter knows how to say it
        raise ended from None
    except ValueError:  # closed
        pass
    os._exit(ended.code if isinstance(ended.code, int) else 0)


def _run(args: list[str] | None) -> NoReturn:
    _open_streams()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a name or text that the terminal cannot show ends no run
            stream.reconfigure(errors="backslashreplace")
    try:
        code = group.main(args, prog_name="promptlint", standalone_mode=False)
    except PromptlintError as error:
        _complain(str(error), error.next_step)
        sys.exit(error.exit_code)
    except click.exceptions.Abort:
        click.echo("interrupted", err=True)
        sys.exit(130)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except BrokenPipeError:
        sys.stderr.close()  # the reader has gone; Python would complain while it flushes
        sys.exit(0)
    except Exception as error:
        if isinstance(error, OSError) and error.errno == errno.ENOSPC:
            _complain(f"standard output: {error.strerror}", "make room, or write elsewhere")
            sys.exit(2)
        _internal(error)
        sys.exit(4)
    sys.exit(code if isinstance(code, int) else 0)


def _open_streams() -> None:
    """Give the streams that the caller closed: nothing to read, and what is written goes nowhere."""
    sys.stdin = sys.stdin or Path(os.devnull).open(encoding="utf-8")  # noqa: SIM115  open to the end
    sys.stdout = sys.stdout or Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
    sys.stderr = sys.stderr or Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115


def _complain(message: str, next_step: str) -> None:
    click.secho(f"error: {message}", fg="red", err=True)
    if next_step:
        click.echo(f"  next: {next_step}", err=True)


def _internal(error: Exception) -> None:
    import traceback

    if os.environ.get("PROMPTLINT_TRACEBACK"):
        traceback.print_exception(error)
    place = traceback.extract_tb(error.__traceback__)[-1]
    name = place.filename.rpartition("promptlint/")[2]
    _complain(
        f"internal error: {type(error).__name__}: {error} ({name}:{place.lineno})",
        "please report it; PROMPTLINT_TRACEBACK=1 shows where it came from",
    )
