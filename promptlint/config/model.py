"""The settings of one run."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from promptlint.source import MAX_BYTES

DEFAULT_EXCLUDE = (
    ".git/",
    ".hg/",
    ".svn/",
    ".venv/",
    ".tox/",
    ".nox/",
    ".eggs/",
    ".direnv/",
    ".idea/",
    ".vscode/",
    ".cache/",
    ".mypy_cache/",
    ".ruff_cache/",
    ".pytest_cache/",
    ".hypothesis/",
    ".ipynb_checkpoints/",
    ".promptlint_cache/",
    "__pycache__/",
    "__pypackages__/",
    "*.egg-info/",
    "venv/",
    "node_modules/",
    "site-packages/",
    "vendor/",
    "third_party/",
    "build/",
    "dist/",
    "{{*}}/",  # a project's template: its programs are none before it is filled
    "htmlcov/",
    "*.min.*",
    "*.lock",
    "*-lock.json",
    "*-lock.yaml",
    "npm-shrinkwrap.json",
)
"""Left out wherever they stand, in the syntax of .gitignore."""

TEST_CODE = ("tests/", "test/", "test_*.py", "*_test.py", "conftest.py")
"""Left out below a checked path unless ``include-tests`` is set."""


@dataclass(frozen=True, slots=True)
class Jinja:
    """How this project sets up Jinja; the defaults are Jinja's own.

    ``trimmed``: its environment sets ``trim_blocks`` and ``lstrip_blocks``.
    """

    block: tuple[str, str] = ("{%", "%}")
    variable: tuple[str, str] = ("{{", "}}")
    comment: tuple[str, str] = ("{#", "#}")
    trimmed: bool = False


@dataclass(frozen=True, slots=True)
class Config:
    """Settings of one run: defaults, overlaid by a file, overlaid by the command line.

    ``root`` is the folder that the globs in ``exclude`` and ``per_file_ignores`` are relative to: the
    one that holds the file, else the working directory. ``min_lost_tokens`` is None for what each kind
    of finding needs; an empty ``profile`` or ``model`` leaves the choice to what the code says.
    ``tokenizer`` is an encoding or the path of a tokenizer.json, and overrides the model. ``scopes`` maps a glob
    over variable names to "scope" or "scope, kind".
    """

    root: Path = field(default_factory=Path.cwd)
    source: Path | None = None
    select: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    exclude: tuple[str, ...] = DEFAULT_EXCLUDE
    extend_exclude: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    include_tests: bool = False
    respect_gitignore: bool = True
    per_file_ignores: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    profile: str = ""
    model: str = ""
    tokenizer: str = ""
    min_lost_tokens: int | None = None
    max_file_size: int = MAX_BYTES
    scopes: Mapping[str, str] = field(default_factory=dict)
    catalogs: tuple[Path, ...] = ()
    baseline: Path | None = None
    jinja: Jinja = field(default_factory=Jinja)
    jobs: int = 0
    cache: bool = True
    cache_dir: Path | None = None

    @property
    def cache_folder(self) -> Path | None:
        """Return where results and token counts are kept; None keeps none.

        A project keeps them beside its configuration or ``.git``; a folder that is no project is left as
        it is, and the user's cache folder takes them.
        """
        if not self.cache:
            return None
        if self.cache_dir is not None:
            return self.cache_dir
        if self.source is not None or (self.root / ".git").exists():
            return self.root / ".promptlint_cache"
        base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
        try:
            return Path(base, "promptlint").expanduser()
        except RuntimeError:  # no home folder
            return None
