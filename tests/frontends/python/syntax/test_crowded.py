"""F-strings with very many fields: parsed quickly, every piece at its place."""

from __future__ import annotations

import ast
import time

import pytest

from promptlint.frontends.mapped import MappedText
from promptlint.frontends.python.syntax import crowded
from promptlint.frontends.python.syntax.strings import Field, scan


def test_a_small_file_is_left_alone() -> None:
    text = 'x = f"{a} {b}"\n' * 300
    assert crowded.thinned(text) is text


def test_only_tails_behind_the_budget_are_overwritten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crowded, "_WORTH_LOOKING", 1)
    monkeypatch.setattr(crowded, "_BUDGET", 10)
    # In `ab {c} {d}` the fields stand at 3 and 7, in the second string at 0, 4 and 8: 0 + 4 + 8 are over 10.
    text = "x = f'ab {c} {d}'\ny = f'{a} {b} {c} {{d}} \\N{DASH} {e}'\nz = '{' * 20  # f'{'\n"
    assert crowded.thinned(text) == (
        "x = f'ab {c} {d}'\ny = f'{a} {b} _c_ __d__ \\N{DASH} _e_'\nz = '{' * 20  # f'{'\n"
    )


def test_a_long_f_string_is_parsed_in_time() -> None:
    text = 'TEXT = f"""' + "{x} a " * 100_000 + '"""\nAFTER = f"{x}"\n'
    started = time.process_time()
    tree = ast.parse(crowded.thinned(text))
    assert time.process_time() - started < 3
    assert ast.unparse(tree.body[1]) == "AFTER = f'{x}'"
    assert isinstance(tree.body[0], ast.Assign)
    assert tree.body[0].value.end_col_offset == len(text.splitlines()[0])


def test_pieces_end_where_they_should() -> None:
    text = 'f"{a} b" "c {" f"d{e}" + rest'
    pieces = scan("a.py", text, 0, text.index(" + "))
    shown = [p.text if isinstance(p, MappedText) else text[p.start : p.end] for p in pieces]
    assert shown == ["a", " bc {d", "e"]
    assert [isinstance(p, Field) for p in pieces] == [True, False, True]
    middle = pieces[1]
    assert isinstance(middle, MappedText)
    # ` b` follows the first brace, `c {` its own quote, `d` that of the third string.
    assert middle.runs == ((0, 5), (2, 10), (5, 17))
    few = scan("a.py", 'f"{a}{b}{c}{d}"', 0, 15, 2)
    assert sum(isinstance(p, Field) for p in few) == 3
