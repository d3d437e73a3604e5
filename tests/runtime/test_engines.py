"""Predicted hits against the counts that real servers report, on the small real model.

Run by ``make test-engines`` under the Python of each engine; ``PROMPTLINT_SMOLLM2`` names the model's folder.
"""

from __future__ import annotations

import os
import random
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from promptlint.errors import PromptlintError
from promptlint_runtime.endpoint.client import Endpoint, Target
from promptlint_runtime.endpoint.http import Http
from promptlint_runtime.prompts import Prompt
from promptlint_runtime.render import Renderer
from promptlint_runtime.report import Run

pytestmark = pytest.mark.engines

START = 300  # seconds that a server may take to load
TEMPLATES = {
    "support.j2": (
        "You are a support agent of {{ shop }}.\n"
        "{% for n in range(rules) %}Rule {{ n }}: answer politely, check the order first, promise nothing.\n"
        "{% endfor %}Customer {{ user }} asks: {{ question }}\n"
    ),
    "clock.j2": (
        "It is {{ clock }}.\n{% for n in range(rules) %}Fact {{ n }}: the office opens at nine.\n{% endfor %}"
        "Question: {{ question }}\n"
    ),
    "chat.j2": "{% for turn in turns %}{{ turn.role }}: {{ turn.text }}\n{% endfor %}assistant:",
}


def model_folder() -> Path:
    folder = Path(os.environ.get("PROMPTLINT_SMOLLM2", ""))
    if not (folder / "config.json").is_file():
        pytest.skip("PROMPTLINT_SMOLLM2 names no model; run `make test-engines`")
    return folder


def prompts(count: int) -> list[Prompt]:
    """Requests of three templates: shared rules, a clock in front, conversations that grow; salts; repeats."""
    rng, renderer, made = random.Random(7), Renderer(TEMPLATES.get), []
    turns: dict[int, list[dict[str, str]]] = {}
    for number in range(count):
        name = rng.choice(list(TEMPLATES))
        talk = turns.setdefault(rng.randrange(4), [])
        for role in ("user", "assistant")[: 1 + len(talk) % 2]:
            talk.append({"role": role, "text": " ".join(rng.choices(WORDS, k=rng.randrange(3, 25)))})
        del talk[24:]
        values = {
            "shop": rng.choice(["Acme", "Bolt"]),
            "rules": rng.choice([3, 12, 12, 20]),
            "user": f"user {rng.randrange(3)}",
            "clock": f"12:{rng.randrange(4):02}",
            "question": " ".join(rng.choices(WORDS, k=rng.randrange(1, 12))),
            "turns": talk,
        }
        salt = "tenant-a" if rng.random() < 0.1 else ""
        prompt = Prompt(name, renderer.render(name, values), f"request {number}", salt=salt)
        made.append(rng.choice(made) if made and rng.random() < 0.15 else prompt)
    return made


WORDS = [
    "where",
    "is",
    "my",
    "order",
    "the",
    "blue",
    "one",
    "from",
    "last",
    "week",
    "can",
    "you",
    "send",
    "it",
    "again",
    "to",
    "another",
    "address",
    "please",
]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def server(log: Path, command: Sequence[str], port: int, **variables: str) -> Iterator[str]:
    """Start a server of this Python and wait until it answers."""
    url = f"http://127.0.0.1:{port}"
    with log.open("wb") as stream:
        process = subprocess.Popen(
            [sys.executable, "-m", *command],
            stdout=stream,
            stderr=subprocess.STDOUT,
            env={**os.environ, "HF_HUB_OFFLINE": "1", **variables},
        )
        try:
            http, until = Http(url, {}), time.monotonic() + START
            while http.get("/health") is None:
                if process.poll() is not None or time.monotonic() > until:
                    pytest.fail(f"the server did not start:\n{log.read_text('utf-8', 'replace')[-3000:]}")
                time.sleep(1)
            http.close()
            yield url
        finally:
            process.terminate()
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def replay(url: str, some: list[Prompt], **target: object) -> Run:
    def quiet(what: str, done: int, total: int) -> None:
        """Show nothing."""

    with Endpoint(Target(url, **target), None) as endpoint:  # type: ignore[arg-type]
        return endpoint.run("engines", endpoint.prepare(some, 1), quiet)


def assert_equal(run: Run, count: int, block: int) -> None:
    wrong = [f"{row.id}: {row.reason}" for row in run.mismatches]
    assert not wrong, "\n".join(wrong)
    assert len(run.rows) == count
    assert run.setting.block_tokens == block
    assert all(row.predicted_hit_tokens is not None for row in run.rows), [r.reason for r in run.rows][:5]
    assert sum(row.measured_hit_tokens or 0 for row in run.rows) > 0


@pytest.mark.engine("vllm")
@pytest.mark.parametrize("block", [32, 128])
def test_vllm_server(block: int, tmp_path: Path) -> None:
    port = free_port()
    command = (
        "vllm.entrypoints.openai.api_server", "--model", str(model_folder()), "--served-model-name", "smollm2",
        "--host", "127.0.0.1", "--port", str(port), "--dtype", "bfloat16", "--max-model-len", "8192",
        "--block-size", str(block), "--enable-prompt-tokens-details", "--enforce-eager", "--max-num-seqs", "4",
    )  # fmt: skip
    variables = {
        "VLLM_CPU_KVCACHE_SPACE": "1",
        "VLLM_CPU_OMP_THREADS_BIND": "nobind",
        "OMP_NUM_THREADS": "2",
        "VLLM_SERVER_DEV_MODE": "1",  # so that the cache can be emptied
        "VLLM_NO_USAGE_STATS": "1",
    }
    with server(tmp_path / "vllm.log", command, port, **variables) as url:
        run = replay(url, prompts(300))
        assert_equal(run, 300, block)
        hits = sum(row.measured_hit_tokens or 0 for row in run.rows)
        assert run.counters["vllm:prefix_cache_hits_total"] == hits
        assert_equal(replay(url, prompts(40), surface="chat", max_new=4), 40, block)
        for surface in ("messages", "responses"):
            assert_equal(replay(url, prompts(20), surface=surface), 20, block)
        several = replay(url, prompts(20), concurrency=4)
        hits = sum(row.measured_hit_tokens or 0 for row in several.rows)
        assert several.counters["vllm:prefix_cache_hits_total"] == hits
        timed = replay(url, prompts(20), timed=1, repeats=1)
        assert_equal(timed, 20, block)
        (timing,) = timed.timings
        assert timing.cached == max(row.measured_hit_tokens or 0 for row in timed.rows)


@pytest.mark.engine("sglang")
@pytest.mark.parametrize("page", [1, 16])
def test_sglang_server(page: int, tmp_path: Path) -> None:
    port = free_port()
    command = (
        "sglang.launch_server", "--model-path", str(model_folder()), "--served-model-name", "smollm2",
        "--device", "cpu", "--host", "127.0.0.1", "--port", str(port), "--page-size", str(page),
        "--max-total-tokens", "100000", "--enable-cache-report", "--enable-metrics", "--dtype", "bfloat16",
    )  # fmt: skip
    with server(tmp_path / "sglang.log", command, port, CUDA_VISIBLE_DEVICES="") as url:
        assert_equal(replay(url, prompts(100), block_tokens=page), 100, page)


@pytest.mark.engine("vllm")
@pytest.mark.filterwarnings("ignore")  # vLLM's own, of what it imports
def test_vllm_in_this_process() -> None:
    os.environ.update(
        VLLM_CPU_KVCACHE_SPACE="1", VLLM_ENABLE_V1_MULTIPROCESSING="0", VLLM_CPU_OMP_THREADS_BIND="nobind"
    )
    from promptlint_runtime.inprocess import Vllm
    from promptlint_runtime.rows import arrange

    options = {"dtype": "bfloat16", "max_model_len": 8192, "enforce_eager": True}
    engine = Vllm(str(model_folder()), 32, 3, options, timed=1, repeats=1)
    some = prompts(60)
    run = engine.run("in process", arrange(some, [engine.encode(p) for p in some]), lambda *_: None)
    engine.close()
    assert_equal(run, 60, 32)
    (timing,) = run.timings
    assert timing.cached == max(row.measured_hit_tokens or 0 for row in run.rows)
    assert timing.off is not None
    assert timing.bound is not None
    with pytest.raises(PromptlintError):
        Vllm(str(model_folder()), 7, 1, options)
