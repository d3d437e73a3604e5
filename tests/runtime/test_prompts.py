"""Inputs: JSON lines, contexts, reordering, and prompts made from layouts."""

from __future__ import annotations

import pytest

from promptlint.errors import InputError, UsageError
from promptlint.layout import Guard, Layout, Origin, OriginKind, Scope, Segment
from promptlint.source import SourceFile
from promptlint_runtime.encode import RenamedEncoder
from promptlint_runtime.predict import Earlier
from promptlint_runtime.prompts import (
    Piece,
    Prompt,
    by_changes,
    hashed_ids,
    is_prompt_line,
    read_contexts,
    read_prompts,
)
from promptlint_runtime.sequence import Request
from promptlint_runtime.vary import parse_scopes, vary


def test_three_kinds_of_prompt_lines() -> None:
    source = SourceFile(
        "p.jsonl",
        '{"prompt": "Hello"}\n\n{"tokens": [1, 2], "salt": "a"}\n'
        '{"messages": [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}]}\n',
    )
    text, ids, chat = read_prompts(source)
    assert (text.text, text.pieces[0].line) == ("Hello", 1)
    assert (ids.ids, ids.salt, ids.label) == ((1, 2), "a", "line 3")
    assert (chat.text, chat.pieces[0].line) == ("<|user|>\nHi\n", 4)
    assert chat.body is not None


@pytest.mark.parametrize(
    "line", ["{", "[1]", '{"x": 1}', '{"prompt": ""}', '{"tokens": [-1]}', '{"messages": [1]}']
)
def test_a_bad_line_names_itself(line: str) -> None:
    with pytest.raises(InputError, match=r"p\.jsonl:2"):
        list(read_prompts(SourceFile("p.jsonl", f'{{"prompt": "x"}}\n{line}\n')))


def test_prompt_lines_are_told_from_other_logs() -> None:
    assert is_prompt_line('{"prompt": "x"}')
    assert not is_prompt_line('{"request": {"messages": []}}')
    assert not is_prompt_line("time,user")


def test_contexts() -> None:
    assert read_contexts(SourceFile("c", '{"a": 1}\n\n{"a": 2}\n')) == [{"a": 1}, {"a": 2}]
    for text in ("", "[1]\n", "{\n"):
        with pytest.raises(InputError, match=r"^c:"):
            read_contexts(SourceFile("c", text))


def test_lines_that_change_least_come_first() -> None:
    def prompt(day: int, question: int) -> Prompt:
        return Prompt(
            "t",
            (
                Piece("Day ", "t", 1), Piece(f"{day}\n", "t", 1), Piece("Rules\n", "t", 2),
                Piece(f"Q{question}\n", "t", 3), Piece("End\n", "t", 4),
            ),
        )  # fmt: skip

    moved = by_changes([prompt(1, 1), prompt(1, 2), prompt(2, 3)])
    assert [p.text for p in moved] == [
        "Rules\nEnd\nDay 1\nQ1\n", "Rules\nEnd\nDay 1\nQ2\n", "Rules\nEnd\nDay 2\nQ3\n",
    ]  # fmt: skip


SOURCE = SourceFile("a.j2", "Rules\nFor {{ user }}\nAt {{ now }}{{ q }}")


def hole(name: str, scope: Scope, *guards: Guard) -> Segment:
    at = SOURCE.text.index(name)
    origin = Origin(OriginKind.VARIABLE, name, name)
    return Segment(SOURCE.place(at, at + len(name)), None, origin, scope=scope, guards=guards)


def layout() -> Layout:
    segments = (
        Segment(SOURCE.place(0, 10), "Rules\nFor "),
        hole("user", Scope.USER),
        hole("now", Scope.DAY),
        hole("q", Scope.UNKNOWN),
    )
    return Layout("a", SOURCE.place(0, len(SOURCE.text)), segments)


def test_holes_stay_equal_within_their_scope() -> None:
    prompts = vary(layout(), {"a.j2": SOURCE}, parse_scopes("request,day,session"), each=2)
    assert [p.label for p in prompts][:3] == [
        "day 0, session 0, request 0", "day 0, session 0, request 1", "day 0, session 1, request 0",
    ]  # fmt: skip
    texts = [[piece.text for piece in p.pieces] for p in prompts]
    rules, target, user, now, unknown = zip(*texts, strict=True)
    assert set(rules) == {"Rules\n"}
    assert set(target) == {"For "}
    # user lies between day and session: it varies with the day only
    assert [len(set(values)) for values in (user, now, unknown)] == [2, 2, 8]
    assert user[:4] == (user[0],) * 4
    assert [piece.line for piece in prompts[0].pieces] == [1, 2, 2, 3, 3]


def test_given_values_and_other_branches() -> None:
    place = SOURCE.place(0, 1)
    segments = (hole("q", Scope.REQUEST), hole("user", Scope.USER, Guard("if", "x", place, branch=1)))
    shown = Layout("a", place, segments)
    (prompt,) = vary(shown, {}, (Scope.REQUEST,), each=1, values={"q": "why?"})
    assert prompt.text == "why?"


def test_scopes_are_checked() -> None:
    with pytest.raises(UsageError, match="no scope named week"):
        parse_scopes("day,week")
    with pytest.raises(UsageError, match="over"):
        vary(layout(), {}, parse_scopes("day,session"), each=1000)


class Letters:
    def encode(self, text: str) -> list[int]:
        return [1000 + ord(letter) for letter in text]

    def run(self, parts: list[str]) -> object:
        ends = [sum(map(len, parts[: i + 1])) for i in range(len(parts))]
        return type("Run", (), {"ends": tuple(ends)})()


def test_renamed_ids_keep_equality_and_fit() -> None:
    encode = RenamedEncoder(Letters, 4)  # type: ignore[arg-type]
    first = encode(Prompt("p", (Piece("ab", "p", 1), Piece("a", "p", 2))))
    assert first.ids == (0, 1, 0)
    assert [first.piece_of(token) for token in (0, 1, 2, 3)] == [0, 0, 1, None]
    assert encode(Prompt("p", (Piece("bcd", "p", 1),))).ids == (1, 2, 3)
    with pytest.raises(InputError, match="empty"):
        encode(Prompt("p", ()))
    with pytest.raises(UsageError, match="more than the model's vocabulary"):
        encode(Prompt("p", (Piece("e", "p", 1),)))


def test_earlier_finds_the_longest_shared_prefix() -> None:
    earlier = Earlier(4)
    assert earlier.add(Request(0, (1, 2, 3, 4, 5, 6))).shared == 0
    assert earlier.add(Request(1, (1, 2, 9))).shared == 2
    found = earlier.add(Request(2, (1, 2, 3, 4, 5, 7)))
    assert (found.shared, found.block, found.limit) == (5, 1, 4)
    again = earlier.add(Request(3, (1, 2, 3, 4, 5, 6)))
    assert (again.shared, again.block, again.limit) == (6, None, 4)


def test_hashes_become_tokens_that_agree_where_the_blocks_do() -> None:
    first, second = hashed_ids([7, 8, 9], 16, 40), hashed_ids([7, 8, 5], 16, 40)
    assert len(first) == 40
    assert first[:32] == second[:32]
    assert first[32:] != second[32:]
    assert first == hashed_ids([7, 8, 9], 16, None)[:40]
    assert len(hashed_ids([7], 16, 20)) == 20
    assert hashed_ids([7], 16, 20)[:16] == first[:16]
