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
    for there in (own, here / ".promptlint.toml"):
        if there.exists():
            return f"{there.name}: left as it is"
    if not project.exists():
        write_whole(own, f"{_SETTINGS}\n[scopes]\n{_SCOPES}")
        return f"{own.name}: written"
    text = _read(project)
    if re.search(r"^\[tool\.promptlint[\].]", text, re.MULTILINE):
        return f"{project.name}: has [tool.promptlint], left as it is"
    section = f"[tool.promptlint]\n{_SETTINGS}\n[tool.promptlint.scopes]\n{_SCOPES}"
    write_whole(project, _as_in(text, f"{text.rstrip()}\n\n{section}"))
    return f"{project.name}: [tool.promptlint] added"


def _hook(path: Path) -> str:
    text = _read(path) if path.exists() else "repos:\n"
    if "promptlint" in text:
        return f"{path.name}: has a promptlint hook, left as it is"
    repositories = list(_REPO.finditer(text))
    bare = re.sub("#.*", "", text).strip()
    if not bare:
        text = f"{text.rstrip()}\nrepos:\n".lstrip()
    elif not repositories and bare != "repos:":
        raise ConfigError(
            f"{path.name}: no list of repositories in block style",
            "add the hook by hand: promptlint check --force-exclude",
        )
    indent = repositories[-1].group(1) if repositories else "  "
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
    end = _end_of(text, repositories[-1].start(), indent) if repositories else len(text)
    write_whole(path, _as_in(text, f"{text[:end].rstrip()}\n{lines}{text[end:]}"))
    return f"{path.name}: hook added; `pre-commit install` switches it on"


def _end_of(text: str, start: int, indent: str) -> int:
    """Return where the list ends whose last entry begins at ``start``: other keys may follow it."""
    first, *lines = text[start:].splitlines(keepends=True)
    at = end = start + len(first)
    for line in lines:
        at += len(line)
        if line.startswith(f"{indent} "):
            end = at
        elif line.strip() and not line.startswith("#"):
            break
    return end


def _as_in(text: str, new: str) -> str:
    """Return a new text with the newlines of the old one."""
    return new.replace("\r\n", "\n").replace("\n", "\r\n") if "\r\n" in text else new


def _read(path: Path) -> str:
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path.name}: cannot be read: {error}", "check rights and encoding") from None
