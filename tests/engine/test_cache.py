from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from promptlint.config import Config
from promptlint.engine import Request, check, units
from promptlint.engine.codec import decode, encode
from promptlint.engine.store import ABSENT, Store
from promptlint.findings import Edit, Finding, Fix
from promptlint.layout import Step
from promptlint.report import Report
from promptlint.source import SourceFile

Tree = Callable[[dict[str, str]], Path]
BAD = "{{ now() }} x"


@pytest.fixture
def reads(toy_rules: None, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the list of files that the frontends were given."""
    seen: list[str] = []
    inner = units.layouts_of

    def noting(source: SourceFile, *args: object, **kwargs: object) -> object:
        seen.append(source.path)
        return inner(source, *args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(units, "layouts_of", noting)
    return seen


def age(root: Path) -> None:
    """Make files look old enough for their times to be trusted."""
    for path in root.rglob("*"):
        os.utime(path, (1_700_000_000, 1_700_000_000))


def run(root: Path, *paths: str, **settings: object) -> Report:
    config = replace(Config(root=root), **settings)  # type: ignore[arg-type]
    return check(Request(paths or (".",), config, root))


def test_a_second_run_reads_nothing(tree: Tree, reads: list[str]) -> None:
    root = tree({"a.j2": BAD, "b.j2": "x", "c.md": "no prompt"})
    age(root)
    first = run(root)
    assert sorted(reads) == ["a.j2", "b.j2", "c.md"]
    reads.clear()
    second = run(root)
    assert reads == []
    assert (second.findings, second.files) == (first.findings, first.files)


def test_changed_content_is_read_again(tree: Tree, reads: list[str]) -> None:
    root = tree({"a.j2": BAD, "b.j2": "x"})
    run(root)
    reads.clear()
    tree({"b.j2": BAD})
    assert len(run(root).active) == 2
    assert reads == ["b.j2"]


def test_touched_content_is_not(tree: Tree, reads: list[str]) -> None:
    root = tree({"a.j2": BAD})
    run(root)
    reads.clear()
    age(root)
    assert len(run(root).active) == 1
    assert reads == []


def test_included_files_count(tree: Tree, reads: list[str]) -> None:
    root = tree({"a.j2": '{% include "part.txt" %}', "part.txt": "x"})
    assert run(root, "a.j2").active == ()
    tree({"part.txt": BAD})
    assert [f.primary.path for f in run(root, "a.j2").active] == ["part.txt"]
    (root / "part.txt").unlink()
    assert run(root, "a.j2").active == ()
    tree({"part.txt": BAD})
    assert len(run(root, "a.j2").active) == 1


def test_same_place_from_two_files_is_one_finding(tree: Tree, reads: list[str]) -> None:
    root = tree({"a.j2": '{% include "b.j2" %}', "b.j2": BAD, "c.j2": '{% include "b.j2" %}'})
    assert len(run(root).active) == 1


def test_settings_that_change_results_do_not_share_them(tree: Tree, reads: list[str]) -> None:
    root = tree({"a.j2": BAD})
    run(root)
    reads.clear()
    run(root, min_lost_tokens=5000)
    assert reads == ["a.j2"]
    run(root, ignore=("PL101",))  # chooses among results
    assert reads == ["a.j2"]


def test_without_cache(tree: Tree, reads: list[str]) -> None:
    root = tree({"a.j2": BAD})
    run(root, cache=False)
    run(root, cache=False)
    assert reads == ["a.j2"] * 2
    assert not (root / ".cache").exists()


def test_processes_find_the_same(tree: Tree, toy_rules: None) -> None:
    root = tree({f"{n}.j2": BAD if n % 3 else "x" for n in range(40)})
    one = run(root, cache=False, jobs=1)
    two = run(root, cache=False, jobs=2)
    assert one.findings == two.findings
    assert len(one.active) == 26


def test_a_process_that_dies_is_said(tree: Tree, toy_rules: None, monkeypatch: pytest.MonkeyPatch) -> None:
    inner = units.layouts_of

    def dying(source: SourceFile, *args: object, **kwargs: object) -> object:
        if source.path == "3.j2":
            os._exit(9)
        return inner(source, *args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(units, "layouts_of", dying)
    report = run(tree({f"{n}.j2": BAD for n in range(10)}), jobs=2)
    assert report.exit_code == 4
    assert len(report.active) == 9  # another process took what it had left
    (error,) = report.errors
    assert (error.path, error.message) == ("3.j2", "not finished: the process that was at it ended")


def test_a_damaged_cache_is_said_and_replaced(tree: Tree, reads: list[str]) -> None:
    root = tree({"a.j2": BAD})
    run(root)
    (root / ".cache/promptlint/results.sqlite").write_bytes(b"not a database at all" * 100)
    report = run(root)
    assert len(report.active) == 1
    assert "cache not used" in report.notes[0]
    assert run(root).notes == ()


def test_results_of_another_form_are_not_used(tree: Tree, reads: list[str]) -> None:
    root = tree({"a.j2": BAD})
    run(root)
    with sqlite3.connect(root / ".cache/promptlint/results.sqlite") as base:
        base.execute("UPDATE results SET result = '{\"dependencies\": {}}' WHERE path = 'a.j2'")
    base.close()
    assert len(run(root).active) == 1
    assert reads == ["a.j2"] * 2


def test_a_cache_that_cannot_be_written(tree: Tree, reads: list[str]) -> None:
    root = tree({"a.j2": BAD, "file": ""})
    report = run(root, cache_dir=root / "file" / "cache")
    assert len(report.active) == 1
    assert "cache not used" in report.notes[0]


def test_many_writers(tmp_path: Path) -> None:
    def write(n: int) -> None:
        store = Store(tmp_path / "c", "k")
        store.load()
        store.put(f"f{n}", {"n": n})
        store.save()
        troubles.append(store.trouble)

    troubles: list[str] = []
    threads = [threading.Thread(target=write, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert troubles == [""] * 8
    store = Store(tmp_path / "c", "k")
    store.load()
    assert [store.get(f"f{n}") for n in range(8)] == [{"n": n} for n in range(8)]


def test_times_of_fresh_files_are_not_trusted(tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.write_text("one")
    store = Store(tmp_path / "c", "k")
    digest = store.digest("a", file)
    store.put("x", 1)
    store.save()
    with sqlite3.connect(tmp_path / "c/results.sqlite") as base:
        assert base.execute("SELECT count(*) FROM files").fetchone() == (0,)
    base.close()
    assert store.digest("b", tmp_path / "missing") == ABSENT
    assert digest != ABSENT


def test_findings_survive_the_cache(make_finding: Callable[..., Finding]) -> None:
    source = SourceFile("a.py", "abcdef")
    finding = make_finding(
        source,
        1,
        3,
        origin=source.place(0, 1),
        related=(Step(source.place(2, 3), "note"),),
        fix=Fix("do", (Edit(source.place(0, 2), "z"),), safe=True),
    )
    assert decode(encode(finding)) == finding
    bare = make_finding(source, 0, 0, cost=None)
    assert decode(encode(bare)) == bare


def test_where_results_are_kept(tree: Tree, toy_rules: None) -> None:
    root = tree({"a.j2": "x"})
    run(root)
    assert (root / ".cache/promptlint/results.sqlite").exists()  # no project: the user's folder
    (root / ".git").mkdir()
    run(root)
    folder = root / ".promptlint_cache"
    assert {".gitignore", "CACHEDIR.TAG", "results.sqlite"} <= {p.name for p in folder.iterdir()}
