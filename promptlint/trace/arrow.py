"""Hashed logs as Arrow tables: Parquet on any filesystem that Arrow reads.

One row a request: ``namespace`` and ``session`` as text, ``time`` in seconds, ``length`` and
``output`` in tokens, ``ids`` as a list of 64-bit prefix hashes, ``block_tokens``. ``place`` and ``row``
keep the order of the requests where it is not that of their times (a sub-agent beside its main
thread); tables without them are sorted by time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from promptlint.errors import InputError, UsageError
from promptlint.trace.columns import Columns

if TYPE_CHECKING:
    import pyarrow


def load_pyarrow() -> Any:
    """Return pyarrow with its Parquet part.

    Raises:
        UsageError: it is not installed.
    """
    try:
        import pyarrow
        import pyarrow.fs
        import pyarrow.parquet
    except ImportError:
        raise UsageError("Parquet needs pyarrow", "install promptlint-cache[ray]") from None
    return pyarrow


def table_of(columns: Columns) -> pyarrow.Table:
    """Return columns as a table."""
    arrow = load_pyarrow()
    names = arrow.array(list(columns.namespaces), arrow.string())
    return arrow.table(
        {
            "namespace": names.take(arrow.array(columns.namespace)),
            "session": arrow.array([str(number) for number in columns.session.tolist()], arrow.string()),
            "time": columns.time,
            "length": columns.length,
            "output": columns.output,
            "ids": arrow.ListArray.from_arrays(
                arrow.array(columns.start, arrow.int32()), arrow.array(columns.ids)
            ),
            "block_tokens": np.full(columns.requests, columns.block_tokens),
            "place": np.maximum.accumulate(columns.time) if columns.requests else columns.time,
            "row": np.arange(columns.requests, dtype=np.int64),
        }
    )


def columns_of(table: pyarrow.Table) -> Columns:
    """Return a table as columns, oldest request first, no two namespaces sharing an id.

    Raises:
        InputError: a column is missing, or block sizes differ.
    """
    try:
        lists = table["ids"].combine_chunks()
        sizes = set(table["block_tokens"].to_pylist())
        names = table["namespace"].to_pylist()
        sessions = table["session"].to_pylist()
    except KeyError as error:
        raise InputError(
            f"the table has no column {error}", "write it with `promptlint trace --write parquet`"
        ) from None
    if len(sizes) != 1:
        raise InputError(f"blocks of {sorted(sizes)} tokens in one log", "split the log by block size")
    rooms: dict[str, int] = {}
    talks: dict[str, int] = {}
    offsets = np.asarray(lists.offsets, dtype=np.int64)
    columns = Columns(
        time=np.asarray(table["time"], dtype=np.float64),
        length=np.asarray(table["length"], dtype=np.int64),
        output=np.asarray(table["output"], dtype=np.int64),
        start=offsets - offsets[0],
        ids=np.asarray(lists.flatten(), dtype=np.uint64),
        namespace=np.array([rooms.setdefault(name, len(rooms)) for name in names], dtype=np.int64),
        session=np.array([talks.setdefault(name, len(talks)) for name in sessions], dtype=np.int64),
        line=np.arange(1, len(names) + 1, dtype=np.int64),
        block_tokens=int(sizes.pop()),
        namespaces=tuple(rooms) or ("",),
    ).separated()
    if "place" not in table.column_names:
        return columns.in_time_order()
    keys = (np.asarray(table["row"], dtype=np.int64), np.asarray(table["place"], dtype=np.float64))
    return columns.take(np.lexsort(keys))


def write_columns(columns: Columns, place: str, rows: int = 65536) -> int:
    """Write columns to a path or URI, whole or not at all; return the number of requests."""
    arrow = load_pyarrow()
    system, path = _open(arrow, place)
    temporary = f"{path}.tmp"
    try:
        arrow.parquet.write_table(table_of(columns), temporary, filesystem=system, row_group_size=rows)
        system.move(temporary, path)
    except OSError as error:
        raise InputError(f"{place}: cannot be written: {error}", "check the place and rights") from None
    return columns.requests


def row_groups(place: str) -> list[tuple[str, int]]:
    """Return the pieces of a file or folder of Parquet files that can be read apart: file and group.

    Raises:
        InputError: there is no such place, or no Parquet in it.
    """
    arrow = load_pyarrow()
    system, path = _open(arrow, place)
    info = system.get_file_info(path)
    found = [info] if info.is_file else []
    if info.type == arrow.fs.FileType.Directory:
        found = system.get_file_info(arrow.fs.FileSelector(path, recursive=True))
    names = sorted(item.path for item in found if item.is_file and item.path.endswith(".parquet"))
    if not names:
        raise InputError(f"{place}: no Parquet files", "name a .parquet file or a folder with such files")
    prefix = place[: len(place) - len(path)] if place.endswith(path) else ""
    pieces = []
    for name in names:
        with system.open_input_file(name) as file:
            groups = arrow.parquet.ParquetFile(file).num_row_groups
        pieces += [(prefix + name, group) for group in range(groups)]
    return pieces


def read_group(piece: tuple[str, int]) -> pyarrow.Table:
    """Return one row group."""
    arrow = load_pyarrow()
    system, path = _open(arrow, piece[0])
    with system.open_input_file(path) as file:
        return arrow.parquet.ParquetFile(file).read_row_group(piece[1])


def read_columns(place: str) -> Columns:
    """Return all requests of a file or folder.

    Raises:
        InputError: it cannot be read as such a log.
    """
    arrow = load_pyarrow()
    return columns_of(arrow.concat_tables([read_group(piece) for piece in row_groups(place)]))


def _open(arrow: Any, place: str) -> tuple[Any, str]:
    try:
        if "://" in place:
            system, path = arrow.fs.FileSystem.from_uri(place)
            return system, path
        return arrow.fs.LocalFileSystem(), place
    except (OSError, ValueError) as error:
        raise InputError(f"{place}: {error}", "give a path, or a URI that Arrow knows") from None
