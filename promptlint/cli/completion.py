"""``promptlint completion``."""

from __future__ import annotations

import click


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print the completion script of a shell.

    For bash: promptlint completion bash >> ~/.bashrc
    """
    from click.shell_completion import get_completion_class

    from promptlint.cli.main import group

    kind = get_completion_class(shell)
    assert kind is not None  # the choices above are those that click knows
    click.echo(kind(group, {}, "promptlint", "_PROMPTLINT_COMPLETE").source())
