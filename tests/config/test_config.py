from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from promptlint.config import Config, find, load
from promptlint.errors import ConfigError

Tree = Callable[[dict[str, str]], Path]


def test_every_key(tree: Tree) -> None:
    root = tree(
        {
            "pyproject.toml": """
[tool.promptlint]
select = ["PL1", "clock-before-stable"]
min-lost-tokens = 64
include-tests = true
baseline = "base.json"
catalogs = ["rules"]

[tool.promptlint.jinja]
variable = ["${", "}"]
trimmed = true

[tool.promptlint.per-file-ignores]
"legacy/**" = ["ALL"]

[tool.promptlint.scopes]
company_name = "tenant"
"ticket_*" = "session, identifier"
"""
        }
    )
    config = load(root / "pyproject.toml")
    assert config.select == ("PL1", "clock-before-stable")
    assert config.min_lost_tokens == 64
    assert config.include_tests
    assert config.baseline == root / "base.json"
    assert config.catalogs == (root / "rules",)
    assert config.jinja.variable == ("${", "}")
    assert config.jinja.block == ("{%", "%}")
    assert config.jinja.trimmed
    assert config.per_file_ignores == {"legacy/**": ("ALL",)}
    assert config.scopes == {"company_name": "tenant", "ticket_*": "session, identifier"}
    assert config.root == root


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("selec = []", 1, "selec: unknown key; did you mean 'select'?"),
        ("\n\nmin_lost_tokens = 3", 3, "min_lost_tokens: unknown key; did you mean 'min-lost-tokens'?"),
        ("zzz = 1", 1, "zzz: unknown key"),
        ('jobs = "two"', 1, "jobs: must be a whole number of at least 0, not 'two'"),
        ("jobs = true", 1, "jobs: must be a whole number"),
        ("# x\nselect = 'PL1'", 2, "select: must be a list of strings, not a string"),
        ('select = ["PL1", "E501"]', 1, "select: 'E501' is not a rule code"),
        (
            '[scopes]\na = "user"\nb = "weekly"',
            3,
            "scopes.b: 'weekly' is not a scope; the scopes are release",
        ),
        ('[scopes]\na = "user, wrong"', 2, "scopes.a: 'wrong' is not a kind"),
        ('[jinja]\nblock = ["{%"]', 2, "jinja.block: must be two strings"),
        ("[jinja]\nblok = 1", 2, "jinja.blok: unknown key; did you mean 'block'?"),
        ('jinja.comment = "x"', 1, "jinja.comment: must be two strings"),
        ('[per-file-ignores]\n"a.*" = "PL1"', 2, "per-file-ignores.a.*: must be a list of strings"),
        (
            '\n[tool.promptlint]\nselect = ["PL1"]',
            2,
            "tool.promptlint: belongs in pyproject.toml; in promptlint.toml the same keys stand without",
        ),
        ('model = """\nprofile = 1\n"""\nprofile = 1', 4, "profile: must be a string, not a number"),
    ],
)
def test_errors_name_file_line_and_key(tree: Tree, text: str, line: int, said: str) -> None:
    path = tree({"promptlint.toml": text}) / "promptlint.toml"
    with pytest.raises(ConfigError) as error:
        load(path)
    assert str(error.value).startswith(f"{path}:{line}: {said}")
    assert error.value.next_step


def test_pyproject_errors_carry_the_table(tree: Tree) -> None:
    text = '[project]\nname = "x"\n\n[tool.promptlint.scopes]\nx = 3\n'
    path = tree({"pyproject.toml": text}) / "pyproject.toml"
    with pytest.raises(
        ConfigError, match=r"pyproject\.toml:5: tool\.promptlint\.scopes\.x: '3' is not a scope"
    ):
        load(path)


def test_broken_toml(tree: Tree) -> None:
    path = tree({"promptlint.toml": "a = = 1"}) / "promptlint.toml"
    with pytest.raises(ConfigError, match=r"not valid TOML: .*line 1"):
        load(path)


def test_the_nearest_file_counts(tree: Tree) -> None:
    root = tree(
        {
            "promptlint.toml": "",
            "a/pyproject.toml": "[tool.other]\n# promptlint\n",
            "a/b/pyproject.toml": "[tool.promptlint]\n",
            "a/b/c/x.j2": "",
            "repo/.git/HEAD": "",
        }
    )
    assert find(root / "a/b/c") == root / "a/b/pyproject.toml"
    assert find(root / "a") == root / "promptlint.toml"
    assert find(root / "repo") is None  # a repository does not look beyond itself


def test_defaults_are_frozen() -> None:
    with pytest.raises(AttributeError):
        Config().jobs = 3  # type: ignore[misc]
