"""How files are dealt out to processes."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from promptlint.discover import Target
from promptlint.engine.parallel import neighbours, processes, shares, spread
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
    assert neighbours(files, 2) == [files[:4], files[4:]]


def test_every_file_is_dealt_out_once(tmp_path: Path) -> None:
    files = targets(tmp_path, [0, 0, 9000, 0, 1, 2])
    for count in (1, 2, 3, 8):
        parts = neighbours(files, count)
        assert [f for part in parts for f in part] == files
        assert sorted(f.path for part in shares(files, count) for f in part) == [f.path for f in files]
        assert len(parts) == len(shares(files, count)) == count


def test_a_process_is_worth_its_start() -> None:
    assert processes(1000, 3, 50) == 3
    assert processes(5, 8, 50) == 2
    assert processes(1, 8, 50) == 1
    assert processes(49, 0, 50) == 1


def test_a_file_that_is_gone_counts_as_small(tmp_path: Path) -> None:
    gone = Target("gone.py", tmp_path / "gone.py", FileType.PYTHON)
    assert neighbours([gone, *targets(tmp_path, [5, 5, 5])], 2)[0][0] is gone


def slow_first(targets: Iterable[Target], *common: object) -> Iterator[tuple[Target, Result]]:
    """Stand in for a check: the file named 0 takes long, and each result says which process gave it."""
    for target in targets:
        time.sleep(0.5 if target.path == "0.py" else 0.005)
        yield target, Result(target.path, dependencies=(str(os.getpid()),))


def test_who_is_done_helps_the_others(tmp_path: Path) -> None:
    files = targets(tmp_path, [1] * 40)
    found = dict(spread([(slow_first, [files[:20], files[20:]])], ()))
    assert {target.path for target in found} == {f.path for f in files}
    by = {target.path: result.dependencies for target, result in found.items()}
    assert by["0.py"] != by["39.py"]
    assert [by[f.path] for f in files[1:]] == [by["39.py"]] * 39


def test_a_process_does_all_works(tmp_path: Path) -> None:
    files = targets(tmp_path, [1] * 8)
    found = spread([(slow_first, [files[:1], files[1:2]]), (slow_first, [[], files[2:]])], ())
    assert {target.path for target, _ in found} == {f.path for f in files}


def endless(targets: Iterable[Target], *common: object) -> Iterator[tuple[Target, Result]]:
    """Stand in for a check that says who does it, and goes on for a minute."""
    for target in targets:
        yield target, Result(target.path, dependencies=(str(os.getpid()),))
        time.sleep(60)


def first_of_all(folder: str) -> None:
    """Print the numbers of the processes that work for this one."""
    files = targets(Path(folder), [1] * 3)
    for _, result in spread([(endless, shares(files, 3))], ()):
        print(*result.dependencies, flush=True)


def _gone(number: int) -> bool:
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks processes up where Linux has them")
def test_nobody_outlives_the_first_process(tmp_path: Path) -> None:
    """Killed, it can end nobody: each of the three notices by itself, though all were made as its copies."""
    command = f"from tests.engine.test_parallel import first_of_all; first_of_all({str(tmp_path)!r})"
    with subprocess.Popen(
        [sys.executable, "-c", command], stdout=subprocess.PIPE, cwd=Path(__file__).parents[2]
    ) as first:
        assert first.stdout is not None
        numbers = [int(first.stdout.readline()) for _ in range(3)]
        first.kill()
    until = time.monotonic() + 20
    while not all(map(_gone, numbers)) and time.monotonic() < until:
        time.sleep(0.05)
    assert [_gone(number) for number in numbers] == [True, True, True]
