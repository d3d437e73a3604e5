"""How files are dealt out to processes."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from promptlint.discover import Target
from promptlint.engine.parallel import neighbours, shares, spread
from promptlint.engine.units import Result
from promptlint.filetypes import FileType


def targets(folder: Path, sizes: list[int]) -> list[Target]:
    """Return files of the given sizes."""
    out = []
    for index, size in enumerate(sizes):
        file = folder / f"{index}.py"
        file.write_bytes(b"#" * size)
        out.append(Target(file.name, file, FileType.PYTHON))
    return out


def test_neighbours_stay_together_and_weigh_alike(tmp_path: Path) -> None:
    files = targets(tmp_path, [300, 100, 100, 100, 100, 100, 100, 300])
    assert neighbours(files, 2, 1) == [files[:4], files[4:]]


def test_every_file_is_dealt_out_once(tmp_path: Path) -> None:
    files = targets(tmp_path, [0, 0, 9000, 0, 1, 2])
    for jobs in (1, 2, 3, 8):
        parts = neighbours(files, jobs, 1)
        assert [f for part in parts for f in part] == files
        assert all(parts)
        assert sorted(f.path for part in shares(files, jobs, 1) for f in part) == [f.path for f in files]


def test_a_file_that_is_gone_counts_as_small(tmp_path: Path) -> None:
    gone = Target("gone.py", tmp_path / "gone.py", FileType.PYTHON)
    assert neighbours([gone, *targets(tmp_path, [5, 5, 5])], 2, 1)[0][0] is gone


def slow_first(targets: Iterable[Target], *common: object) -> Iterator[tuple[Target, Result]]:
    """Stand in for a check: the file named 0 takes long, and each result says which process gave it."""
    for target in targets:
        time.sleep(0.5 if target.path == "0.py" else 0.005)
        yield target, Result(target.path, dependencies=(str(os.getpid()),))


def test_who_is_done_helps_the_others(tmp_path: Path) -> None:
    files = targets(tmp_path, [1] * 40)
    own = [(Target("own.j2", tmp_path, FileType.JINJA), Result("own.j2"))]
    found = dict(spread(slow_first, [files[:20], files[20:]], (), own))
    assert {target.path for target in found} == {f.path for f in files} | {"own.j2"}
    by = {target.path: result.dependencies for target, result in found.items()}
    assert by["0.py"] != by["39.py"]
    assert [by[f.path] for f in files[1:]] == [by["39.py"]] * 39
