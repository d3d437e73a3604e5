"""Which file a template name means."""

from __future__ import annotations

import pytest

from promptlint.frontends.base import Context
from promptlint.frontends.jinja.resolve import resolve
from promptlint.source import SourceFile

FILES = (
    "app/agents/coder/prompts/main.j2",
    "app/agents/coder/prompts/part.j2",
    "app/agents/coder/prompts/shared/rules.j2",
    "app/templates/base.j2",
    "lib/partials/footer.j2",
    "one/twice.j2",
    "two/twice.j2",
)
HIDDEN = ("app/templates/.env", "/etc/passwd")  # there, but not to be read


def context() -> Context:
    return Context(lambda path: SourceFile(path, "") if path in (*FILES, *HIDDEN) else None, FILES)


@pytest.mark.parametrize(
    ("name", "importer", "expected"),
    [
        ("part.j2", "app/agents/coder/prompts/main.j2", "app/agents/coder/prompts/part.j2"),
        ("./shared/rules.j2", "app/agents/coder/prompts/main.j2", "app/agents/coder/prompts/shared/rules.j2"),
        ("../part.j2", "app/agents/coder/prompts/shared/rules.j2", "app/agents/coder/prompts/part.j2"),
        ("part.j2", "app/agents/coder/prompts/shared/rules.j2", "app/agents/coder/prompts/part.j2"),
        ("coder/prompts/part.j2", "app/agents/coder/prompts/main.j2", "app/agents/coder/prompts/part.j2"),
        ("base.j2", "app/agents/coder/prompts/main.j2", "app/templates/base.j2"),
        ("footer.j2", "app/agents/coder/prompts/main.j2", "lib/partials/footer.j2"),
        ("partials\\footer.j2", "app/templates/base.j2", "lib/partials/footer.j2"),
        ("twice.j2", "app/templates/base.j2", None),
        ("twice.j2", "two/other.j2", "two/twice.j2"),
        ("nowhere.j2", "app/templates/base.j2", None),
        ("../../../etc/passwd", "app/templates/base.j2", None),
        ("../x", "main.j2", None),
        ("", "main.j2", None),
        ("passwd", "/etc/x/y/z/v/w/main.j2", None),
        (".env", "app/templates/base.j2", None),
    ],
)
def test_names(name: str, importer: str, expected: str | None) -> None:
    found = resolve(name, importer, context())
    assert (found.path if found else None) == expected
