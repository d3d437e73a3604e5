from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from promptlint.config import Config
from promptlint.discover import discover, project_listing
from promptlint.errors import UsageError
from promptlint.filetypes import FileType, type_of

Tree = Callable[[dict[str, str]], Path]


def found(root: Path, *paths: str, force: bool = False, **settings: object) -> list[str]:
    config = replace(Config(root=root), **settings)  # type: ignore[arg-type]
    return [t.path for t in discover(paths or (".",), config, root, force_exclude=force).targets]


def test_types_by_name() -> None:
    assert type_of("a.py") is FileType.PYTHON
    assert type_of("x/a.J2") is FileType.JINJA
    assert type_of("m/chat_template.jinja") is FileType.CHAT_TEMPLATE
    assert type_of("m/tokenizer_config.json") is FileType.CHAT_TEMPLATE
    assert type_of("chat_templates/llama.jinja") is FileType.CHAT_TEMPLATE
    assert type_of("a.yaml") is FileType.DOCUMENT
    assert type_of("a.rs") is None
    assert (
        type_of("setup.py.j2")
        is type_of("flow.yaml.jinja2")
        is type_of("Dockerfile.j2")
        is type_of("x.sd.jinja")
        is None
    )
    assert type_of("system.md.j2") is type_of("prompt.yaml.j2") is type_of("v1.2.j2") is FileType.JINJA
    assert type_of(".md") is None


def test_default_excludes_and_test_code(tree: Tree) -> None:
    root = tree(
        dict.fromkeys(
            [
                *("a.j2", "src/b.py", "node_modules/c.md", ".venv/d.py", "dist/e.py", "package-lock.json"),
                *("tests/f.py", "src/test_g.py", "src/g_test.py", "conftest.py", "src/x.min.md"),
                *("envs/pyvenv.cfg", "envs/h.py"),
            ],
            "",
        )
    )
    assert found(root) == ["a.j2", "src/b.py"]
    assert "tests/f.py" in found(root, include_tests=True)
    assert found(root, "tests") == ["tests/f.py"]  # asked for by name
    assert found(root, "dist") == ["dist/e.py"]


def test_gitignore_nested_and_negated(tree: Tree) -> None:
    root = tree(
        {
            ".git/HEAD": "",
            ".gitignore": "*.md\n/gen/\n",
            "a.md": "",
            "keep/.gitignore": "!b.md\n",
            "keep/b.md": "",
            "keep/c.md": "",
            "gen/d.j2": "",
            "sub/gen/e.j2": "",
        }
    )
    assert found(root) == ["keep/b.md", "sub/gen/e.j2"]
    assert found(root, respect_gitignore=False) == [
        "a.md",
        "gen/d.j2",
        "keep/b.md",
        "keep/c.md",
        "sub/gen/e.j2",
    ]
    assert found(root, "sub", "keep") == ["sub/gen/e.j2", "keep/b.md"]  # rules above the path hold too
    assert found(root, "gen") == ["gen/d.j2"]  # an ignored folder, asked for by name


def test_excludes_of_the_configuration(tree: Tree) -> None:
    root = tree({"a/old/x.j2": "", "a/y.j2": "", "old/z.j2": ""})
    assert found(root, extend_exclude=("a/old/",)) == ["a/y.j2", "old/z.j2"]
    assert found(root, extend_exclude=("old/",)) == ["a/y.j2"]


def test_named_files_and_hooks(tree: Tree) -> None:
    root = tree({"node_modules/a.j2": "", "b.unknown": "", "old/c.j2": ""})
    assert found(root, "node_modules/a.j2", "b.unknown") == ["node_modules/a.j2", "b.unknown"]
    assert found(root, "node_modules/a.j2", "old/c.j2", force=True) == ["old/c.j2"]


def test_globs(tree: Tree) -> None:
    root = tree({"p/a.j2": "", "p/q/b.j2": "", "p/c.md": ""})
    assert found(root, "p/**/*.j2") == ["p/a.j2", "p/q/b.j2"]
    with pytest.raises(UsageError, match=r"p/\*\.py: matches no file"):
        found(root, "p/*.py")


def test_links_do_not_loop(tree: Tree) -> None:
    root = tree({"a/x.j2": ""})
    (root / "a/loop").symlink_to(root / "a", target_is_directory=True)
    (root / "a/dangling.j2").symlink_to(root / "nowhere.j2")
    assert found(root) == ["a/x.j2"]


def test_include_adds_suffixes(tree: Tree) -> None:
    root = tree({"a.sys": "", "b.rs": ""})
    assert found(root, include=("*.sys",)) == ["a.sys"]


def test_paths_outside_the_working_folder_are_absolute(tree: Tree) -> None:
    root = tree({"a/x.j2": "", "b/y.j2": ""})
    config = Config(root=root)
    (target,) = discover(["../b"], config, root / "a").targets
    assert target.path == (root / "b/y.j2").as_posix()


def test_what_a_named_file_may_include(tree: Tree) -> None:
    root = tree({"pyproject.toml": "", "t/a.j2": "", "u/b.j2": "", "tests/c.j2": "", "lone/d.j2": ""})
    assert set(project_listing(root / "t", Config(root=root), root)) == {
        *("pyproject.toml", "t/a.j2", "u/b.j2", "lone/d.j2")
    }
    (root / "pyproject.toml").unlink()
    assert project_listing(root / "t", Config(root=root), root) == ("t/a.j2",)
    assert "u/b.j2" in project_listing(root, Config(root=root), root)
    tree({"lib/p/__init__.py": "", "lib/p/q/__init__.py": "", "lib/p/r.py": ""})
    assert "lib/p/r.py" in project_listing(root / "lib/p/q", Config(root=root), root)
    tree({f"many/{n}": "" for n in range(2001)} | {"e.j2": ""})
    assert project_listing(root, Config(root=root), root) == ("e.j2",)
