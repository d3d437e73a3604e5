"""The documents name what there is: files, headings, keys of the configuration, commands and their options."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import click
import pytest

from promptlint.cli.main import COMMANDS
from promptlint.config.schema import JINJA_KEYS, KEYS

ROOT = Path(__file__).parent.parent
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("rules/*.md")])
LINK = re.compile(r"\]\((?!https?:|mailto:)([^)#\s]*)(?:#([^)]*))?\)")
CALL = re.compile(r"promptlint (" + "|".join(COMMANDS) + r")\b([^`\n|)]*)")


def headings(path: Path) -> set[str]:
    """Return the anchors of a document, as its readers make them."""
    titles = re.findall(r"^#+ (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles}


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_somewhere(path: Path) -> None:
    for file, anchor in LINK.findall(path.read_text(encoding="utf-8")):
        target = path.parent / file if file else path
        assert target.exists(), file
        assert not anchor or anchor in headings(target), f"{file}#{anchor}"


def test_every_key_of_the_configuration_is_told() -> None:
    text = (ROOT / "docs/configuration.md").read_text(encoding="utf-8")
    table = "\n".join(line.split("|")[1] for line in text.splitlines() if line.startswith("| `"))
    assert set(re.findall(r"`([a-z.-]+)`", table)) >= {*KEYS, *(f"jinja.{key}" for key in JINJA_KEYS)}


def calls() -> Iterator[tuple[str, str]]:
    for path in DOCUMENTS:
        yield from CALL.findall(path.read_text(encoding="utf-8"))


def test_documented_options_are_there() -> None:
    found = 0
    for name, rest in calls():
        command = import_module(f"promptlint.cli.{name}").command
        known = {
            word
            for one in command.params
            if isinstance(one, click.Option)
            for word in one.opts + one.secondary_opts
        }
        for option in re.findall(r"(?<!\S)--[a-z][a-z-]*", rest):
            assert option in {*known, "--help"}, f"{name} {option}"
            found += 1
    assert found > 20
