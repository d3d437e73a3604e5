"""Every cause told from the others, in logs whose counts come from the rules of the provider."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from promptlint.trace.analyze import analyze
from promptlint.trace.explain.ledger import Keys, Ledger
from promptlint.trace.model import Request
from promptlint.trace.options import Options
from tests.trace.provider import Provider, chat, claude, manual

Log = Provider
from tests.trace.faults import FAULTS, MANUAL, TALK, talk


def findings(rows: list[Any], write_log: Callable[..., Path], **options: Any) -> list[dict[str, Any]]:
    return analyze([write_log(*rows)], [], Options(**options)).findings


@pytest.mark.parametrize(
    ("provider", "send", "kind", "lines"), FAULTS, ids=[f"{row[1].__name__}-{row[0]}" for row in FAULTS]
)
def test_fault(
    provider: str, send: Callable[[Log], None], kind: str, lines: list[int], write_log: Callable[..., Path]
) -> None:
    log = Provider(provider)
    send(log)
    found = findings(log.rows, write_log)
    assert {(row["line"], row["kind"]) for row in found} == {(line, kind) for line in lines}
    # Under a minimum nothing could have been read, so that nothing is lost.
    assert all((row["cost"]["tokens"] > 0) is (kind != "below-minimum") for row in found)


def test_a_conversation_that_grows_past_the_minimum_has_no_fault(write_log: Callable[..., Path]) -> None:
    log = Provider("openai")
    for turn in range(3):
        log.send(chat(manual("a kiosk", 50), *TALK[: 2 * turn + 1]), thread="t")
    assert analyze([write_log(*log.rows)], [], Options()).findings == []


@pytest.mark.parametrize(
    ("texts", "kinds"),
    [
        # Four conversations with each version of the text; and two groups of users side by side.
        ("AAAABBBB", ["other"]),
        ("ABABABAB", ["per-user"]),
        ("AAAABBBA", ["per-user"]),
        ("AB", ["per-user"]),
    ],
)
def test_a_new_version_of_a_text_is_no_other_user(
    texts: str, kinds: list[str], write_log: Callable[..., Path]
) -> None:
    versions = {"A": "Answer in full sentences.", "B": "Answer with a table where one helps."}
    log = Provider("openai")
    for number, version in enumerate(texts):
        log.send(chat(f"{versions[version]}\n{MANUAL}", f"Question {number}?"), thread=f"t{number}")
    result = analyze([write_log(*log.rows)], [], Options())
    assert [row["kind"] for row in result.findings] == kinds
    assert [group.kind for group in result.groups] == kinds


def test_examples_that_are_drawn_anew_are_one_cause(write_log: Callable[..., Path]) -> None:
    """However many of the first ones happen to be those of the request before."""
    pool = [f"- Case {n}: the {word} was late, and nobody was told." for n, word in enumerate("abcdefgh")]
    drawn = [(0, 1, 2, 3, 4, 5), (0, 1, 2, 6, 3, 7), (0, 1, 2, 6, 3, 4), (5, 1, 2, 6, 3, 4)]
    log = Provider("openai")
    for number, chosen in enumerate(drawn):
        examples = "\n".join(pool[n] for n in chosen)
        log.send(chat(f"Examples:\n{examples}\n\n{MANUAL}", f"Question {number}?"), thread=f"t{number}")
    result = analyze([write_log(*log.rows)], [], Options())
    assert [(group.kind, group.requests) for group in result.groups] == [("random", 3)]


def test_a_growing_conversation_asks_once_for_its_parameters(
    write_log: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What holds for a whole request is not asked for each of its parts: that took the cube of the turns."""
    asked: list[str] = []
    real = Ledger._keys_of

    def counted(self: Ledger, request: Request, section: str) -> Keys:
        asked.append(section)
        return real(self, request, section)

    monkeypatch.setattr(Ledger, "_keys_of", counted)
    log = Provider("openai")
    talk = [TALK[n % len(TALK)] + f" ({n})" for n in range(79)]
    for turn in range(40):
        log.send(chat(MANUAL, *talk[: 2 * turn + 1]), thread="t")
    analyze([write_log(*log.rows)], [], Options())
    assert len(asked) <= 4 * 40  # two sections of this request, and one of that before it


def same(log: Log) -> None:
    talk(log, lambda n: MANUAL)


def claude_both_marks(log: Log) -> None:
    for turn in range(4):
        log.send(claude(MANUAL, *TALK[: 2 * turn + 1], rolling=True), thread="t")


def other_sessions(log: Log) -> None:
    for thread in "abc":
        talk(log, lambda n: MANUAL, thread=thread)


def other_models(log: Log) -> None:
    for model in ("claude-sonnet-4-5", "claude-opus-4-8", "claude-sonnet-4-5", "claude-opus-4-8"):
        log.send(claude(MANUAL, TALK[0], model=model), thread="t")


def other_prompts(log: Log) -> None:
    for topic in ("a bakery", "a port", "a mill"):
        log.send(chat(manual(topic), TALK[0]), thread=topic)


def time_in_last_turn(log: Log) -> None:
    for turn in range(4):
        told = [*TALK[: 2 * turn], f"{TALK[2 * turn]} (sent at 10:0{turn})"]
        log.send(chat(MANUAL, *told), thread="t")


def ids_in_metadata(log: Log) -> None:
    for turn in range(3):
        more = {"metadata": {"request_id": f"r{turn}"}, "user": "anna", "temperature": turn / 10}
        log.send(chat(MANUAL, *TALK[: 2 * turn + 1], **more), thread="t")


def counter_appended(log: Log) -> None:
    for turn in range(3):
        told = [f"{text} [turn {n}]" if n % 2 == 0 else text for n, text in enumerate(TALK[: 2 * turn + 1])]
        log.send(chat(MANUAL, *told), thread="t")


def trimmed_in_large_steps(log: Log) -> None:
    long = [f"{TALK[n % 7]} {manual(f'turn {n}', 12)}" for n in range(17)]
    for turn in range(8):
        kept = long[: 2 * turn + 1] if turn < 6 else long[10 : 2 * turn + 1]
        log.send(claude(MANUAL, *kept, rolling=True), thread="t")


def one_shots(log: Log) -> None:
    for question in ("Where is the pump?", "How many valves?", "Who ordered hoses?"):
        log.send((chat if log.provider == "openai" else claude)(MANUAL, question))


def short_prompts(log: Log) -> None:
    for question in ("Where is the pump?", "How many valves?"):
        log.send(chat("Be brief.", question))


def cold_after_a_day(log: Log) -> None:
    log.send(claude(MANUAL, TALK[0]), thread="a")
    log.send(claude(MANUAL, TALK[0]), after=86400, thread="b")


def parallel(log: Log) -> None:
    for thread in "abc":
        log.send(claude(MANUAL, TALK[0]), after=0.1, thread=thread)


def claude_code(*steps: tuple[str, str, int, int, int], lifetime: str = "5m") -> list[dict[str, Any]]:
    """Return a transcript: time, what was said, and the tokens not cached, written and read."""
    rows: list[dict[str, Any]] = []
    for number, (time, said, plain, written, read) in enumerate(steps):
        user = {"role": "user", "content": said}
        usage = {
            "input_tokens": plain,
            "cache_creation_input_tokens": written,
            "cache_read_input_tokens": read,
            "cache_creation": {f"ephemeral_{lifetime}_input_tokens": written},
            "output_tokens": 50,
        }
        answer = {
            "id": f"m{number}",
            "model": "claude-opus-4-8",
            "content": [{"type": "text", "text": "Ok."}],
        }
        stamp = f"2026-10-12T{time}Z"
        if said == "/compact":
            rows.append(
                {"type": "system", "subtype": "compact_boundary", "sessionId": "s", "parentUuid": "u"}
            )
        rows.append({"type": "user", "sessionId": "s", "timestamp": stamp, "message": user})
        message = {**answer, "usage": usage}
        rows.append({"type": "assistant", "sessionId": "s", "timestamp": stamp, "message": message})
    return rows


def test_transcript_rebuilt_after_its_lifetime(write_log: Callable[..., Path]) -> None:
    steps = [
        ("10:00:00", "Hi", 2, 20000, 0),
        ("10:01:00", "More", 2, 100, 20000),
        ("10:21:00", "Go", 2, 20200, 0),
    ]
    (found,) = findings(claude_code(*steps), write_log)
    assert (found["kind"], found["evidence"]["reason"], found["line"]) == ("ttl", "expired", 6)
    assert found["cost"]["tokens"] == 20100
    # Written for an hour, twenty minutes are no reason.
    (found,) = findings(claude_code(*steps, lifetime="1h"), write_log)
    assert found["kind"] == "routing"


def test_transcript_compacted_is_no_fault(write_log: Callable[..., Path]) -> None:
    steps = [
        ("10:00:00", "Hi", 2, 90000, 0),
        ("10:01:00", "/compact", 2, 9000, 15000),
        ("10:02:00", "Go", 2, 90, 24000),
    ]
    result = analyze([write_log(*claude_code(*steps))], [], Options())
    assert result.findings == []
    assert result.tally.reasons["history compacted"] == 1


CLEAN: list[tuple[str, Callable[[Log], None]]] = [
    ("openai", same),
    ("anthropic", claude_both_marks),
    ("openai", other_sessions),
    ("anthropic", other_sessions),
    ("anthropic", other_models),
    ("openai", other_prompts),
    ("openai", time_in_last_turn),
    ("openai", ids_in_metadata),
    ("openai", counter_appended),
    ("anthropic", trimmed_in_large_steps),
    ("anthropic", one_shots),
    ("openai", one_shots),
    ("openai", short_prompts),
    ("anthropic", cold_after_a_day),
    ("anthropic", parallel),
]


@pytest.mark.parametrize(("provider", "send"), CLEAN, ids=[f"{row[1].__name__}-{row[0]}" for row in CLEAN])
def test_clean(provider: str, send: Callable[[Log], None], write_log: Callable[..., Path]) -> None:
    log = Provider(provider)
    send(log)
    assert [(row["line"], row["kind"], row["message"]) for row in findings(log.rows, write_log)] == []


@pytest.mark.parametrize(
    "said", [True, False], ids=["the log says when answers begin", "half a second is assumed"]
)
def test_requests_sent_before_the_first_answer_begins(write_log: Callable[..., Path], said: bool) -> None:
    """Three calls at once: the first writes, and until its answer begins nobody can read that."""
    log = Provider("anthropic")
    for number in range(3):
        log.send(claude(MANUAL, f"Question {number}?"), thread="fan-out", after=0.2)
    log.send(claude(MANUAL, "And now?"), thread="fan-out", after=30)
    if said:
        for row in log.rows:
            row["first_token_time"] = (datetime.fromisoformat(row["ts"]) + timedelta(seconds=1)).isoformat()
    result = analyze([write_log(*log.rows)], [], Options())
    reasons = {row["line"]: row["evidence"]["reason"] for row in result.findings}
    assert reasons == {2: "written but not yet readable", 3: "written but not yet readable"}
    assert result.tally.reasons["read"] == 1


@pytest.mark.parametrize("counts", [True, False], ids=["counted by the provider", "by the rules"])
def test_requests_under_the_minimum_are_counted_as_such(write_log: Callable[..., Path], counts: bool) -> None:
    """Ten questions of 300 tokens to a model that caches from 1,024: nothing was read, and nothing is lost."""
    log = Provider("openai")
    for number in range(10):
        log.send(chat(manual("a kiosk", 15), f"Question {number}?"))
    if not counts:
        for row in log.rows:
            row["response"].pop("usage", None)
    result = analyze([write_log(*log.rows)], [], Options())
    assert result.findings == []
    assert result.tally.reasons == {"first request": 1, "under the minimum": 9}


def test_a_question_of_its_own_has_nothing_to_read(write_log: Callable[..., Path]) -> None:
    log = Provider("openai")
    for topic in ("a bakery", "a port"):
        log.send(chat(manual(topic), TALK[0]), thread=topic)
    assert analyze([write_log(*log.rows)], [], Options()).tally.reasons["read"] == 0
