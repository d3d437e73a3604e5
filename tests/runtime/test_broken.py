"""Models that are not whole, memory that runs out, interrupts: one clear error, or what is known so far."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from promptlint.errors import InputError, PromptlintError
from promptlint_runtime.local import Local, Model
from promptlint_runtime.memory import explained, gib
from promptlint_runtime.models import load
from promptlint_runtime.prompts import Piece, Prompt
from promptlint_runtime.replay import Options
from promptlint_runtime.selftest import self_test
from promptlint_runtime.variants import variants

pytestmark = pytest.mark.torch

CPU = torch.device("cpu")
CONFIG = {
    "model_type": "llama", "num_hidden_layers": 1, "num_attention_heads": 2, "hidden_size": 8,
    "intermediate_size": 16, "vocab_size": 32, "tie_word_embeddings": True,
}  # fmt: skip
NAMES = [
    "input_layernorm", "self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.o_proj",
    "post_attention_layernorm", "mlp.gate_proj", "mlp.up_proj", "mlp.down_proj",
]  # fmt: skip


def whole(folder: Path) -> Path:
    """Write a model of one layer."""
    from safetensors.torch import save_file

    sizes = {"mlp.gate_proj": (16, 8), "mlp.up_proj": (16, 8), "mlp.down_proj": (8, 16)}
    tensors = {
        f"model.layers.0.{n}.weight": torch.zeros(sizes.get(n, (8,) if "norm" in n else (8, 8)))
        for n in NAMES
    }
    tensors |= {"model.embed_tokens.weight": torch.zeros(32, 8), "model.norm.weight": torch.zeros(8)}
    save_file(tensors, str(folder / "model.safetensors"))
    (folder / "config.json").write_text(json.dumps(CONFIG), encoding="utf-8")
    return folder


def config(folder: Path, **changes: object) -> None:
    kept = {k: v for k, v in {**CONFIG, **changes}.items() if v is not None}
    (folder / "config.json").write_text(json.dumps(kept), encoding="utf-8")


def half(folder: Path) -> None:
    data = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(data[: len(data) // 2])


BROKEN: dict[str, tuple[Callable[[Path], object], str]] = {
    "no configuration": (lambda f: (f / "config.json").unlink(), "config.json: No such file"),
    "half a configuration": (
        lambda f: (f / "config.json").write_text('{"a": '),
        "config.json: Expecting value",
    ),
    "a list": (lambda f: (f / "config.json").write_text("[1]"), "not an object"),
    "no layers": (lambda f: config(f, num_hidden_layers=None), "has no 'num_hidden_layers'"),
    "no number": (lambda f: config(f, hidden_size="wide"), "makes no sense"),
    "no heads": (lambda f: config(f, num_attention_heads=0), "makes no sense"),
    "another size": (lambda f: config(f, hidden_size=16), "embed_tokens.weight has the sizes"),
    "more layers": (lambda f: config(f, num_hidden_layers=2), "no tensor model.layers.1"),
    "no weights": (lambda f: (f / "model.safetensors").unlink(), "no safetensors"),
    "half the weights": (half, "model.safetensors: not whole"),
    "an index of nothing": (lambda f: (f / "model.safetensors.index.json").write_text("{}"), "not an index"),
    "a lost part": (
        lambda f: (f / "model.safetensors.index.json").write_text('{"weight_map": {"a": "b.safetensors"}}'),
        "b.safetensors: not whole",
    ),
    "half a tokenizer": (
        lambda f: (f / "tokenizer.json").write_text('{"model": '),
        "tokenizer cannot be read",
    ),
    "a family of nobody": (lambda f: config(f, model_type="nobody"), "transformers cannot load it"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_model_that_is_not_whole_is_one_error_with_its_file(name: str, tmp_path: Path) -> None:
    whole(tmp_path)
    loaded = load(str(tmp_path), dtype=torch.float32, device=CPU)
    assert loaded.adapter.vocab == 32
    change, what = BROKEN[name]
    change(tmp_path)
    with pytest.raises(PromptlintError, match=what) as caught:
        load(str(tmp_path), dtype=torch.float32, device=CPU)
    assert str(tmp_path) in str(caught.value)
    assert caught.value.next_step


def test_memory_that_runs_out_is_explained_with_its_bytes() -> None:
    with (
        pytest.raises(InputError, match=r"memory ran out for 4.0 PiB|for 4,194,304.0 GiB") as caught,
        explained("x"),
    ):
        torch.empty(2**52, dtype=torch.uint8)
    assert caught.value.next_step == "x"
    with pytest.raises(InputError, match="memory ran out"), explained("x"):
        raise MemoryError
    with pytest.raises(RuntimeError, match="shapes"), explained("x"):
        raise RuntimeError("shapes differ")
    assert [gib(n) for n in (3, 2048, 3 << 20, 3 << 30)] == ["3 bytes", "2.0 KiB", "3.0 MiB", "3.0 GiB"]


PROMPTS = [Prompt("t", (Piece("", "t", n, fixed=True),), ids=(*range(20), n)) for n in range(4)]


class Interrupted:
    """Shows progress until a stage, then is interrupted."""

    def __init__(self, stage: str, after: int) -> None:
        self.stage, self.left = stage, after

    def __call__(self, what: str, done: int, total: int) -> None:
        if what == self.stage:
            self.left -= 1
            if self.left < 0:
                raise KeyboardInterrupt


@pytest.fixture(scope="module")
def local() -> Local:
    return Local(Model("random:tiny", "cpu", "float32"), 0, lambda: None)  # type: ignore[arg-type, return-value]


@pytest.mark.parametrize(("stage", "rows"), [("as written", 3), ("timing", 4)])
def test_an_interrupt_leaves_what_is_known(local: Local, stage: str, rows: int) -> None:
    after = 2 if stage == "as written" else 0
    chosen = variants(PROMPTS, as_written=True, reordered=True)
    (run,) = local.replay(chosen, Options(block_tokens=8, timed=1), Interrupted(stage, after))
    assert run.partial
    assert len(run.rows) == rows
    assert run.mismatches == ()


@pytest.mark.parametrize("stage", ["as written", "reordered", "three calls"])
def test_an_interrupted_self_test_has_no_verdict(local: Local, stage: str) -> None:
    steps, runs = self_test(local, PROMPTS, Options(block_tokens=8), Interrupted(stage, 1))
    assert steps == []
    assert any(run.partial for run in runs)


def test_interrupted_modules_keep_their_rows() -> None:
    class Letters:
        def encode(self, text: str) -> list[int]:
            return list(map(ord, text))

    local = Local(Model("random:tiny", "cpu", "float32"), 0, Letters)  # type: ignore[arg-type]
    text = Piece("Be kind and brief. ", "t", 1, fixed=True)
    prompts = [Prompt("t", (text, Piece("?", "t", 2))) for _ in range(3)]
    *_, modules = local.compare_reuse(prompts, replace(Options(), block_tokens=8), Interrupted("modules", 1))
    assert modules.partial
    assert len(modules.rows) == len(modules.deviations) == 2
