"""``promptlint init``."""

from __future__ import annotations

import re
from pathlib import Path

import click

import promptlint
from promptlint.cli.common import write_whole
from promptlint.errors import ConfigError

_SETTINGS = """\
# model = "gpt-4o"            # whose tokens count; the default is what the code says
# profile = "vllm"            # whose cache rules count; see `promptlint profiles`
# min-lost-tokens = 64        # stay quiet about less; the default is 16, more for guesses
# extend-exclude = ["docs/"]
# baseline = "promptlint-baseline.json"
"""
_SCOPES = """\
# How often your own variables change: release, process, machine, day, tenant, user, session, request.
# company_name = "tenant"
"""
_REPO = re.compile(r"^(\s*)- repo:", re.MULTILINE)


@click.command()
@click.option("--hook/--no-hook", default=True, help="Add a hook to .pre-commit-config.yaml.")
def command(hook: bool) -> None:
    """Write a configuration and a pre-commit hook.

    What is there already stays as it is.
    """
    here = Path.cwd()
    click.echo(_config(here))
    if hook:
        click.echo(_hook(here / ".pre-commit-config.yaml"))


def _config(here: Path) -> str:
    project, own = here / "pyproject.toml", here / "promptlint.toml"
    if own.exists():
        return f"{own.name}: left as it is"
    if not project.exists():
        write_whole(own, f"{_SETTINGS}\n[scopes]\n{_SCOPES}")
        return f"{own.name}: written"
    text = _read(project)
    if re.search(r"^\[tool\.promptlint[\].]", text, re.MULTILINE):
        return f"{project.name}: has [tool.promptlint], left as it is"
    section = f"[tool.promptlint]\n{_SETTINGS}\n[tool.promptlint.scopes]\n{_SCOPES}"
    write_whole(project, f"{text.rstrip()}\n\n{section}")
    return f"{project.name}: [tool.promptlint] added"


def _hook(path: Path) -> str:
    text = _read(path) if path.exists() else "repos:\n"
    if "promptlint" in text:
        return f"{path.name}: has a promptlint hook, left as it is"
    found = _REPO.search(text)
    if found is None and text.strip() not in ("", "repos:"):
        raise ConfigError(
            f"{path.name}: no list of repositories in block style",
            "add the hook by hand: promptlint check --force-exclude",
        )
    indent = found.group(1) if found else "  "
    entry = [
        "- repo: local",
        "  hooks:",
        "    - id: promptlint",
        "      name: promptlint",
        "      entry: promptlint check --force-exclude",
        "      language: python",
        f'      additional_dependencies: ["promptlint-cache=={promptlint.__version__}"]',
        "      types: [text]",
        "      require_serial: true",
    ]
    lines = "".join(f"{indent}{line}\n" for line in entry)
    head = text.rstrip() or "repos:"
    write_whole(path, f"{head}\n{lines}")
    return f"{path.name}: hook added; `pre-commit install` switches it on"


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path.name}: cannot be read: {error}", "check rights and encoding") from None
