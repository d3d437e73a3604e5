"""`promptlint trace` as a user calls it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from promptlint.cli.trace import command
from promptlint.errors import InputError, NothingToCheckError, UsageError
from promptlint.trace.analyze import analyze
from promptlint.trace.options import Options, capacity_blocks
from promptlint.trace.readers import open_log
from promptlint.trace.report.plot import plot
from tests.trace.provider import Provider, chat, manual

Write = Callable[..., Path]
MANUAL = manual("an archive")


def run(*args: object) -> tuple[int, str]:
    result = CliRunner().invoke(command, [str(arg) for arg in args], standalone_mode=False)
    if result.exception is not None:
        raise result.exception
    return result.return_value, result.stdout


@pytest.fixture
def log(write_log: Write) -> Path:
    provider = Provider()
    for turn in range(4):
        provider.send(
            chat(f"Time: 10:0{turn}:00. Secret kR4q-99x.\n{MANUAL}", f"Question {turn}"), thread="t"
        )
    return write_log(*provider.rows, "broken")


def test_text(log: Path) -> None:
    code, out = run(log, "--capacity", "50", "--quiet")
    assert code == 1
    assert "4 requests" in out
    assert "clock" in out
    assert "99:99:99" in out  # the shape of the time, not the time
    assert "10:01:00" not in out
    assert "50 blocks" in out
    assert "1 line could not be read" in out
    assert not re.search(r"[\u2800-\u28ff]{5}", out)  # nothing is ever hit: a flat line says nothing


def test_json(log: Path) -> None:
    code, out = run(log, "--format", "json", "--isolated", "--capacity", "10,50", "--show-text")
    assert code == 1
    data = json.loads(out)
    assert {row["kind"] for row in data["findings"]} == {"clock"}
    first = data["findings"][0]
    assert (first["code"], first["file"], first["line"], first["status"]) == ("PL101", str(log), 2, "active")
    assert first["evidence"]["difference"]["new"] == "10:01:00."
    assert first["cost"]["usd"] > 0
    curve = {row["capacity_blocks"]: row for row in data["simulation"]["curve"]}
    assert {10, 50} <= set(curve)
    for name in ("block_hit_ratio", "token_hit_ratio", "request_mean_hit_ratio"):
        assert 0 <= curve[50][name] <= 1
        assert name in data["definitions"]
    assert data["summary"]["hit_rates"]["token"]["denominator"] == data["summary"]["usage"]["input_tokens"]
    assert data["causes"][0]["requests"] == 3
    assert data["reconciliation"]["requests_with_usage"] == 4


def test_page_is_whole_and_redacted(log: Path, tmp_path: Path) -> None:
    out = tmp_path / "page.html"
    run(log, "--format", "html-data", "-o", out)
    text = out.read_text()
    assert "<svg" in text
    assert "kR4q" not in text
    data = re.search(r'id="data">(.*?)</script>', text, re.DOTALL)
    assert data
    assert json.loads(data.group(1))["summary"]["requests"] == 4


def test_parquet(log: Path, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
    out = tmp_path / "rows.parquet"
    run(log, "--format", "parquet", "-o", out)
    rows = parquet.read_table(out).to_pylist()
    assert [row["kind"] for row in rows] == [None, "clock", "clock", "clock"]


def test_clean_log_leaves_with_0(write_log: Write) -> None:
    provider = Provider()
    for turn in range(2):
        provider.send(chat(MANUAL, f"Question {turn}"))
    code, out = run(write_log(*provider.rows))
    assert code == 0
    assert "No miss that somebody could mend." in out


def test_what_ifs(log: Path) -> None:
    args = ("--replicas", "2", "--engine", "vllm,sglang", "--policy", "fifo,belady", "--capacity", "200")
    _, out = run(log, "--format", "json", *args)
    simulation = json.loads(out)["simulation"]
    assert {row["engine"] for row in simulation["engines"]} == {"vllm", "sglang"}
    assert {row["router"] for row in simulation["routing"]} == {"round-robin", "prefix"}
    policies = {row["policy"]: row["token_hit_ratio"] for row in simulation["policies"]}
    assert policies["belady"] >= policies["fifo"]


@pytest.mark.parametrize(
    "args",
    [
        ("--capacity", "8GiB"),
        ("--capacity", "many"),
        ("--engine", "tgi"),
        ("--replicas", "0"),
        ("--namespace", "city"),
        ("--sample", "0.5", "--cache-per", "session"),
        ("--write", "weka"),
    ],
)
def test_usage_errors_say_what_to_do(log: Path, args: tuple[str, ...]) -> None:
    with pytest.raises(UsageError) as error:
        run(log, *args)
    assert error.value.next_step


def test_no_log(tmp_path: Path) -> None:
    """A path that does not exist is wrong usage, as for `check`; a file without requests is nothing to do."""
    with pytest.raises(UsageError, match=r"missing\.jsonl: does not exist"):
        run(tmp_path / "missing.jsonl")
    (tmp_path / "notes").mkdir()
    with pytest.raises(NothingToCheckError, match="no files"):
        run(tmp_path / "notes")
    (tmp_path / "notes" / "a.txt").write_text("hello\n")
    with pytest.raises(NothingToCheckError):
        run(tmp_path / "notes" / "a.txt")
    with pytest.raises(NothingToCheckError):
        run(tmp_path / "notes")


def test_a_bad_log_beside_a_good_one(log: Path, tmp_path: Path) -> None:
    bad = tmp_path / "notes.txt"
    bad.write_text("hello\n")
    code, out = run(log, bad, "--format", "json")
    assert code == 2
    data = json.loads(out)
    assert data["summary"]["requests"] == 4
    assert "notes.txt" in data["errors"][0]["message"]


def test_gib_of_a_named_model() -> None:
    from promptlint.trace.options import kv_bytes_of

    # 32 layers x 8 heads x 128 x 2 (keys, values) x 2 bytes
    assert kv_bytes_of("llama-3-8b") == 131072
    assert capacity_blocks("8GiB", 16, 131072) == 4096
    assert capacity_blocks("1000", 16, None) == 1000
    with pytest.raises(UsageError):
        capacity_blocks("0", 16, None)


@pytest.mark.parametrize("form", ["mooncake", "bailian", "weka"])
def test_shared_hashes_give_the_same_curve(write_log: Write, tmp_path: Path, form: str) -> None:
    provider = Provider()
    for thread in "ab":
        for turn in range(3):
            provider.send(chat(MANUAL, *["Where is it?", "There."] * turn, f"Q{thread}{turn}"), thread=thread)
    log = write_log(*provider.rows)
    out = tmp_path / "shared.jsonl"
    assert run(log, "--write", form, "--salt", "s3", "-o", out)[0] == 0
    assert "archive" not in out.read_text()
    assert open_log(out).format == form
    whole, hashed = (
        json.loads(run(path, "--format", "json", "--cache-per", "all")[1])["simulation"]
        for path in (log, out)
    )
    assert hashed["block_references"] == whole["block_references"]
    assert [row["token_hit_ratio"] for row in hashed["curve"]] == pytest.approx(
        [row["token_hit_ratio"] for row in whole["curve"]]
    )
    again = tmp_path / "again.jsonl"
    run(log, "--write", form, "--salt", "s4", "-o", again)
    assert again.read_text() != out.read_text()


def test_an_interrupt_keeps_what_is_done(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import promptlint.trace.analyze as module

    def stopping(path: Path, **options: Any) -> Any:
        opened = open_log(path, **options)
        entries = list(opened.entries)

        def some() -> Iterator[Any]:
            yield from entries[:2]
            raise KeyboardInterrupt

        opened.entries = some()
        return opened

    monkeypatch.setattr(module, "open_log", stopping)
    result = analyze([log], [], Options(order="log"))
    assert result.interrupted
    assert result.tally.requests == 2
    assert result.columns is not None


def test_source_joins_log_and_lint(log: Path, tmp_path: Path) -> None:
    code = tmp_path / "app"
    code.mkdir()
    (code / "prompt.j2").write_text(f"Time: {{{{ now() }}}}. Secret.\n{MANUAL}\n")
    _, out = run(log, "--source", code, "--isolated", "--format", "json")
    source = json.loads(out)["causes"][0]["source"]
    assert source["code"] == "PL101"
    assert source["line"] == 1
    assert source["file"].endswith("prompt.j2")


def test_source_of_another_provider_or_about_keys_that_the_log_has_not_is_left_out(
    write_log: Write, tmp_path: Path
) -> None:
    """One replica misses what another has; the only finding on routing is about a key of an engine."""
    provider = Provider()
    for turn, cache in enumerate("aabb"):
        provider.send(chat(MANUAL, f"Question {turn}"), thread="t", cache=cache)
    code = tmp_path / "app"
    code.mkdir()
    (code / "ask.py").write_text(
        "import secrets\nimport httpx\n\n\ndef ask(http: httpx.Client, question: str):\n"
        "    body = {'model': 'llama', 'messages': [{'role': 'user', 'content': question}],"
        " 'cache_salt': secrets.token_hex(8)}\n"
        "    return http.post('http://localhost:8000/v1/chat/completions', json=body)\n"
    )
    _, out = run(write_log(*provider.rows), "--source", code, "--isolated", "--format", "json")
    assert [(row["kind"], row["source"]) for row in json.loads(out)["causes"]] == [("routing", None)]


def test_a_damaged_config_is_named(tmp_path: Path) -> None:
    from promptlint.trace.options import kv_bytes_of

    path = tmp_path / "config.json"
    path.write_text("{}")
    with pytest.raises(InputError):
        kv_bytes_of(str(path))


def test_a_curve_with_hits_is_drawn() -> None:
    assert re.search(r"[\u2800-\u28ff]{5}", "".join(plot([(1.0, 0.1), (100.0, 0.5)], 40)))
