from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from promptlint.tokens.base import Run
from promptlint.tokens.cached import CachedCounter
from promptlint.tokens.store import CountStore, digest


class Lengths:
    name = "lengths"
    exact = True

    def run(self, parts: Sequence[str]) -> Run:
        ends = tuple(sum(map(len, parts[: at + 1])) for at in range(len(parts)))
        return Run(ends, max(0, ends[-1] - 1))


def refuse() -> Lengths:
    raise AssertionError("the vocabulary was loaded")


def test_a_warm_run_loads_no_vocabulary(tmp_path: Path) -> None:
    cold = CachedCounter("lengths", True, Lengths, CountStore(tmp_path / "cache", "lengths"))
    runs = [cold.run(parts) for parts in (("ab", "c"), ("abc",), ("\ud800",))]
    warm = CachedCounter("lengths", True, refuse, CountStore(tmp_path / "cache", "lengths"))
    assert [warm.run(parts) for parts in (("ab", "c"), ("abc",), ("\ud800",))] == runs
    assert (tmp_path / "cache" / ".gitignore").read_text() == "*\n"


def test_texts_and_cuts_have_keys_of_their_own() -> None:
    assert len({digest(parts) for parts in (("ab", "c"), ("a", "bc"), ("abc",), ("abc", ""), ())}) == 5


def test_vocabularies_do_not_share_counts(tmp_path: Path) -> None:
    CountStore(tmp_path, "a/b").put(digest(("x",)), Run((1,), 0))
    assert CountStore(tmp_path, "a_b").get(digest(("x",))) is None


def test_two_writers_share_a_file(tmp_path: Path) -> None:
    one, two = CountStore(tmp_path, "v"), CountStore(tmp_path, "v")
    for at in range(100):
        assert one.get(digest((f"one {at}",))) is None
        assert two.get(digest((f"two {at}",))) is None
        one.put(digest((f"one {at}",)), Run((at,), at))
        two.put(digest((f"two {at}",)), Run((at, at + 1), 0))
    fresh = CountStore(tmp_path, "v")
    assert all(fresh.get(digest((f"one {at}",))) == Run((at,), at) for at in range(100))
    assert all(fresh.get(digest((f"two {at}",))) == Run((at, at + 1), 0) for at in range(100))


@pytest.mark.parametrize("torn", [b"", b"garbage", b"0" * 32 + b" 1", b"\xff\x00\n\n 3 4"])
def test_a_torn_file_costs_only_the_torn_lines(tmp_path: Path, torn: bytes) -> None:
    CountStore(tmp_path, "v").put(digest(("x",)), Run((7,), 3))
    (file,) = tmp_path.glob("tokens-*.txt")
    with file.open("ab") as out:
        out.write(torn)
    store = CountStore(tmp_path, "v")
    assert store.get(digest(("x",))) == Run((7,), 3)
    assert store.get(b"0" * 32) is None
    store.put(digest(("y",)), Run((8,), 3))
    assert CountStore(tmp_path, "v").get(digest(("y",))) == Run((8,), 3)


def test_without_a_folder_to_write_counts_stay_in_memory(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    counter = CachedCounter("v", True, Lengths, CountStore(tmp_path / "file" / "cache", "v"))
    assert counter.run(("abc",)) == counter.run(("abc",)) == Run((3,), 2)


@pytest.mark.skipif(os.name == "nt", reason="descriptors differ")
def test_a_full_disk_is_no_error(tmp_path: Path) -> None:
    store = CountStore(tmp_path, "v")
    store.put(digest(("x",)), Run((1,), 0))
    assert store._file is not None
    os.close(store._file)
    store.put(digest(("y",)), Run((2,), 0))
    assert store.get(digest(("y",))) == Run((2,), 0)
