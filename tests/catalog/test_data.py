"""Every data file keeps to its schema, and every row says where it comes from."""

from pathlib import Path

import pytest

from promptlint.catalog import rows
from promptlint.catalog.catalog import Catalog
from promptlint.catalog.locate import data_files, rules_root
from promptlint.errors import CatalogError
from promptlint.layout import Kind

FILES = [*data_files("volatile"), *data_files("sinks")]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_file_keeps_to_the_schema(path: Path) -> None:
    data = rows.read_toml(path, path.name)
    rows.check_tables(data, path.name)
    for table in rows.TABLES:
        for row in rows.rows(data, table, path.name):
            if table == "sink":
                assert list(rows.sinks(row))
            else:
                value = rows.volatile(row)
                assert value.kind is not Kind.OTHER
                assert row.strings("match") if table != "literals" else row.text("pattern")
            source = row.text("source")
            assert source.startswith(("https://", "common names", "names in")), source


def test_no_pattern_is_written_twice() -> None:
    for folder, tables in (
        ("volatile", ("calls", "values", "globals", "filters", "names")),
        ("sinks", ("sink",)),
    ):
        for table in tables:
            seen: dict[str, str] = {}
            for path in data_files(folder):
                for row in rows.rows(rows.read_toml(path, path.name), table, path.name):
                    for pattern in row.strings("match"):
                        assert pattern not in seen, f"{table} {pattern}: {row.where} and {seen[pattern]}"
                        seen[pattern] = row.where


def test_every_table_loads() -> None:
    catalog = Catalog()
    assert len(catalog.sinks) > 400
    assert catalog.call("uuid.uuid4")
    assert catalog.template_global("now")
    assert catalog.template_filter("shuffle")
    assert set(catalog.sinks_by_suffix) == {sink.pattern.rpartition(".")[2] for sink in catalog.sinks}


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("[[calls]]\nkind = 'clock'\nscope = 'request'\nsource = 'x'\n", "calls 1: `match` is missing"),
        (
            "[[calls]]\nkind = 'clok'\nscope = 'day'\nsource = 'x'\nmatch = ['a.b']\n",
            "calls 1: `kind` is 'clok'",
        ),
        (
            "[[calls]]\nkind = 'clock'\nscope = 'day'\nsource = 'x'\nmatch = ['a..b']\n",
            "calls 1: `match` 'a..b'",
        ),
        (
            "[[names]]\nkind = 'clock'\nscope = 'day'\nsource = 'x'\nmatch = ['Now']\n",
            "names 1: `match` 'Now'",
        ),
        ("[[calls]]\nkind = 'clock'\nscop = 'day'\n", "calls 1: `scop` is not a key"),
        ("[[call]]\n", "`call` is not a table"),
        (
            "[[sink]]\nmatch = ['a.b']\nsource = 'x'\narguments = { q = 'question' }\n",
            "sink 1: `arguments` has",
        ),
        ("[[sink]]\nmatch = ['a.b']\nsource = 'x'\n", "sink 1: `arguments` must be"),
        (
            "[[literals]]\nkind='clock'\nscope='day'\nsource='x'\ntrigger=':'\npattern='('\n",
            "literals 1: `pattern`",
        ),
        ("calls = 3\n", "`calls` must be a table array"),
        ("[[calls]\n", "not TOML"),
    ],
)
def test_a_broken_file_is_named_with_row_and_key(tmp_path: Path, text: str, named: str) -> None:
    file = tmp_path / "own.toml"
    file.write_text(text)
    with pytest.raises(CatalogError) as caught:
        Catalog((tmp_path,)).load()
    assert named in str(caught.value)
    assert "own.toml" in str(caught.value)
    assert caught.value.next_step


def test_a_missing_own_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(CatalogError, match="no such catalogue"):
        Catalog((tmp_path / "none.toml",)).call("x")


def test_own_rows_win(tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text(
        "[[calls]]\nkind='clock'\nscope='day'\nsource='ours'\nmatch=['datetime.datetime.now', 'acme.stamp']\n"
        "[[sink]]\nmatch=['acme.ask']\nsource='ours'\narguments={'0'='prompt'}\n"
    )
    catalog = Catalog((tmp_path / "own.toml",))
    for path in ("datetime.datetime.now", "acme.stamp"):
        found = catalog.call(path)
        assert found is not None
        assert (found.source, found.scope.value) == ("ours", "day")
    sink = catalog.sink("acme.ask")
    assert sink is not None
    assert sink.arguments == {"0": "prompt"}


def test_rules_are_found_beside_the_package() -> None:
    assert (rules_root() / "volatile").is_dir()
