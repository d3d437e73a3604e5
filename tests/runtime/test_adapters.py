"""Logits with reuse, without, and those of plain `transformers` on small seeded models."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from promptlint.errors import UsageError
from promptlint_runtime import shapes, weights
from promptlint_runtime.adapters.base import Adapter, batch_of
from promptlint_runtime.adapters.llama import Llama
from promptlint_runtime.adapters.transformers import TransformersModel
from promptlint_runtime.graphs import ShortSuffix
from promptlint_runtime.kv import KvStore, Storage
from promptlint_runtime.models import load
from promptlint_runtime.sequence import Chunk, runs

pytestmark = pytest.mark.torch

CPU = torch.device("cpu")
BLOCKS, BLOCK = [7, 3, 4, 5, 1, 0, 2, 9, 8, 10, 20, 21, 22, 23, 24, 25], 4
LENGTH = 61
TOLERANCE = 5e-6  # float32; the largest logits are about 2
SMALL = {
    "vocab_size": 128,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 256,
}
LLAMA3_ROPE = {
    "rope_type": "llama3",
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 64,
}
OURS = {
    "llama": ("Llama", {}),
    "llama-scaled": ("Llama", {"rope_scaling": LLAMA3_ROPE, "attention_bias": True, "mlp_bias": True}),
    "llama-linear": ("Llama", {"rope_scaling": {"rope_type": "linear", "factor": 2.0}}),
    "qwen2": ("Qwen2", {}),
    "qwen3": ("Qwen3", {"head_dim": 32}),
    "mistral": ("Mistral", {"sliding_window": None}),
    "mistral-window": ("Mistral", {"sliding_window": 16}),
}
THEIRS = {
    "gemma2": ("Gemma2", {"head_dim": 16, "sliding_window": 16}),
    "gemma3": ("Gemma3", {"head_dim": 16, "sliding_window": 16}),
    "phi3": ("Phi3", {"sliding_window": None, "pad_token_id": 0}),
}


def build(kind: str, options: dict[str, Any]) -> Any:
    names = {"Gemma3": "Gemma3TextConfig"}
    config = getattr(transformers, names.get(kind, f"{kind}Config"))(**SMALL, **options)
    torch.manual_seed(1)
    model = getattr(transformers, f"{kind}ForCausalLM")(config).float().eval()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, 1.0 if parameter.ndim == 1 else 0.0, 0.08)
    return model


def reference(model: Any, tokens: tuple[int, ...]) -> Any:
    with torch.no_grad():
        return model(torch.tensor([tokens])).logits[0, -1]


def some_tokens(seed: int = 0) -> tuple[int, ...]:
    generator = torch.Generator().manual_seed(seed)
    return tuple(torch.randint(0, SMALL["vocab_size"], (LENGTH,), generator=generator).tolist())


def chunk(tokens: tuple[int, ...], start: int, stop: int) -> Chunk:
    past, own = runs(BLOCKS, BLOCK, 0, start), runs(BLOCKS, BLOCK, start, stop)
    return Chunk(0, tokens[start:stop], start, past, own, sample=True)


def with_reuse(adapter: Adapter, tokens: tuple[int, ...], at: int, storage: Storage = Storage.MODEL) -> Any:
    kv = KvStore(adapter.sizes, 26 * BLOCK, adapter.dtype, CPU, storage)
    if at:
        adapter.forward(batch_of([chunk(tokens, 0, at)], CPU), kv)
    return adapter.forward(batch_of([chunk(tokens, at, len(tokens))], CPU), kv)[0]


def lean(model: Any, name: str) -> Llama:
    shape = shapes.from_config(model.config.to_dict(), name)
    assert shape is not None
    return Llama(shape, model.state_dict().__getitem__, torch.float32, CPU)


@pytest.mark.parametrize("name", OURS)
def test_lean_decoder_equals_transformers_with_and_without_reuse(name: str) -> None:
    model, tokens = build(*OURS[name]), some_tokens()
    expected, adapter = reference(model, tokens), lean(model, name)
    for at in (0, 1, 16, 37, LENGTH - 1):
        torch.testing.assert_close(with_reuse(adapter, tokens, at), expected, atol=TOLERANCE, rtol=0)


@pytest.mark.parametrize("name", {**OURS, **THEIRS})
def test_transformers_adapter_equals_the_plain_model(name: str) -> None:
    model, tokens = build(*{**OURS, **THEIRS}[name]), some_tokens()
    expected = reference(model, tokens)
    adapter = TransformersModel(model, name)
    for at in (0, 16, 37, LENGTH - 1):
        torch.testing.assert_close(with_reuse(adapter, tokens, at), expected, atol=TOLERANCE, rtol=0)


def test_requests_in_one_batch_do_not_see_each_other() -> None:
    model = build(*OURS["llama"])
    adapter, first, second = lean(model, "llama"), some_tokens(1)[:20], some_tokens(2)[:9]
    kv = KvStore(adapter.sizes, 64, torch.float32, CPU)
    chunks = [
        Chunk(0, first, 0, (), ((0, 20),), sample=True),
        Chunk(1, second, 0, (), ((32, 9),), sample=True),
    ]
    got = adapter.forward(batch_of(chunks, CPU), kv)
    wanted = torch.stack([reference(model, first), reference(model, second)])
    torch.testing.assert_close(got, wanted, atol=TOLERANCE, rtol=0)


def test_bfloat16_agrees_on_the_likeliest_token() -> None:
    model, tokens = build(*OURS["llama"]), some_tokens()
    shape = shapes.from_config(model.config.to_dict(), "llama")
    assert shape is not None
    adapter = Llama(shape, model.state_dict().__getitem__, torch.bfloat16, CPU)
    cold, warm = with_reuse(adapter, tokens, 0), with_reuse(adapter, tokens, 40)
    assert (cold - warm).abs().max() < 0.05
    assert (cold.float() - reference(model, tokens)).abs().max() < 0.1


@pytest.mark.parametrize(("storage", "limit"), [(Storage.INT8, 0.03), (Storage.FP8, 0.1)])
def test_eight_bit_keys_and_values_deviate_little_and_take_less(storage: Storage, limit: float) -> None:
    model, tokens = build(*OURS["llama"]), some_tokens()
    adapter = lean(model, "llama")
    exact, kept = with_reuse(adapter, tokens, 40), with_reuse(adapter, tokens, 40, storage)
    assert 0 < (exact - kept).abs().max() < limit
    plain, small = (KvStore(adapter.sizes, 100, torch.float32, CPU, s) for s in (Storage.MODEL, storage))
    # 3 layers, 2 heads of 16 numbers, keys and values, 4 bytes; or 1 byte and a 2-byte scale a vector
    assert plain.nbytes == 100 * 3 * 2 * 2 * 16 * 4
    assert small.nbytes == 100 * 3 * 2 * 2 * (16 + 2)


def test_a_saved_folder_loads_as_the_model_that_was_saved(tmp_path: Path) -> None:
    model, tokens = build(*OURS["qwen2"]), some_tokens()
    model.save_pretrained(tmp_path)
    loaded = load(str(tmp_path), dtype=torch.float32, device=CPU)
    assert isinstance(loaded.adapter, Llama)
    assert loaded.tokenizer is None
    torch.testing.assert_close(
        with_reuse(loaded.adapter, tokens, 8), reference(model, tokens), atol=TOLERANCE, rtol=0
    )
    other = load(str(tmp_path), dtype=torch.float32, device=CPU, family="transformers")
    assert isinstance(other.adapter, TransformersModel)


def test_a_gguf_file_loads_with_its_rotary_order_undone(tmp_path: Path) -> None:
    gguf = pytest.importorskip("gguf")
    model, tokens = build(*OURS["llama"]), some_tokens()
    path = tmp_path / "tiny.gguf"
    write_gguf(gguf, path, model)
    file = weights.GgufFile(path)
    config = file.config()
    assert config is not None
    shape = shapes.from_config(config, "tiny")
    assert shape is not None
    adapter = Llama(shape, file.weights(shape), torch.float32, CPU)
    torch.testing.assert_close(
        with_reuse(adapter, tokens, 8), reference(model, tokens), atol=TOLERANCE, rtol=0
    )


def write_gguf(gguf: Any, path: Path, model: Any) -> None:
    config = model.config
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_block_count(config.num_hidden_layers)
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_rope_freq_base(10_000.0)
    names = {**weights._GGUF_NAMES}
    for name, tensor in model.state_dict().items():
        part, kind = name.rsplit(".", 1)
        layer = ""
        if part.startswith("model.layers."):
            _, _, index, part = part.split(".", 3)
            layer = f"blk.{index}."
        if part in ("self_attn.q_proj", "self_attn.k_proj"):  # as llama.cpp's converter does
            heads = config.num_attention_heads if part.endswith("q_proj") else config.num_key_value_heads
            tensor = tensor.view(heads, 2, -1, tensor.shape[1]).transpose(1, 2).reshape(tensor.shape)
        writer.add_tensor(f"{layer}{names[part]}.{kind}", tensor.contiguous().numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def test_random_weights_depend_on_the_seed_only() -> None:
    tokens = tuple(range(30))
    first, again, other = (
        with_reuse(load("random:tiny", dtype=torch.float32, device=CPU, seed=s).adapter, tokens, 7)
        for s in (1, 1, 2)
    )
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


def test_models_that_blocks_cannot_cache_are_refused() -> None:
    config = transformers.Qwen3NextConfig(**SMALL, head_dim=16, num_experts=2, num_experts_per_tok=1)
    with torch.device("meta"):
        model = transformers.Qwen3NextForCausalLM(config)
    with pytest.raises(UsageError, match="linear_attention"):
        TransformersModel(model, "recurrent")


def test_unknown_names_say_what_there_is() -> None:
    with pytest.raises(UsageError, match="no shape named") as caught:
        load("random:nothing", dtype=torch.float32, device=CPU)
    assert "llama-3-8b" in caught.value.next_step


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("model_type", "gemma2"),
        ("hidden_act", "gelu"),
        ("rope_scaling", {"rope_type": "yarn", "factor": 4.0}),
        ("partial_rotary_factor", 0.5),
    ],
)
def test_what_the_lean_decoder_does_not_know_goes_to_transformers(field: str, value: object) -> None:
    config = json.loads(transformers.LlamaConfig(**SMALL).to_json_string(use_diff=False))
    config.pop("rope_parameters", None)
    assert shapes.from_config(config, "x") is not None
    assert shapes.from_config({**config, field: value}, "x") is None


@pytest.mark.parametrize("length", [1, 31, 32, 33])
def test_a_padded_suffix_gives_the_logits_of_a_plain_one(length: int) -> None:
    model, tokens = build(*OURS["llama"]), some_tokens()[: 24 + length]
    adapter = lean(model, "llama")
    kv = KvStore(adapter.sizes, 26 * BLOCK, torch.float32, CPU)
    short = ShortSuffix(adapter, kv)
    for _ in range(2):  # the second time from buffers that are there
        adapter.forward(batch_of([chunk(tokens, 0, 24)], CPU), kv)
        last = chunk(tokens, 24, len(tokens))
        assert short.takes(last)
        torch.testing.assert_close(short.forward(last)[0], reference(model, tokens), atol=TOLERANCE, rtol=0)
    kept = kv.read(0, slice(30, 32))[0].clone()  # slots of nobody: padding must not touch them
    short.forward(last)
    assert torch.equal(kv.read(0, slice(30, 32))[0], kept)


def test_padding_at_the_end_of_the_context() -> None:
    model, context = build(*OURS["llama"]), SMALL["max_position_embeddings"]
    adapter, tokens = lean(model, "llama"), (3,) * context
    kv = KvStore(adapter.sizes, context, torch.float32, CPU)
    first, rest = (
        Chunk(0, tokens[a:b], a, ((0, a),) if a else (), ((a, b - a),), sample=True)
        for a, b in ((0, context - 5), (context - 5, context))
    )
    adapter.forward(batch_of([first], CPU), kv)
    got = ShortSuffix(adapter, kv).forward(rest)[0]
    torch.testing.assert_close(got, reference(model, tokens), atol=TOLERANCE, rtol=0)
