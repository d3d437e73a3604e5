"""Replay on the bundled runtime: prompts in, one `Run` for each way of sending them out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from promptlint.errors import InputError, UsageError
from promptlint.words import counted
from promptlint_runtime.adapters.llama import Llama
from promptlint_runtime.encode import ModelEncoder, PartEncoder, RenamedEncoder, TextTokenizer
from promptlint_runtime.memory import explained
from promptlint_runtime.models import Loaded, load, pick_device, pick_dtype
from promptlint_runtime.modules import parts_of, replay_modules
from promptlint_runtime.prompts import Prompt
from promptlint_runtime.replay import Options, Replay
from promptlint_runtime.report import Advance, Run
from promptlint_runtime.rows import Sent, arrange
from promptlint_runtime.variants import Variants


@dataclass(frozen=True, slots=True)
class Model:
    """Which model, and how it is held. See `models.load`."""

    spec: str
    device: str = "auto"
    dtype: str = "auto"
    family: str = "auto"


class Local:
    """A model of this machine, ready to replay."""

    def __init__(self, model: Model, seed: int, fallback: Callable[[], TextTokenizer]) -> None:
        """Load the model; ``fallback`` gives the vocabulary for random weights.

        Raises:
            PromptlintError: as `models.load`.
        """
        device = pick_device(model.device)
        dtype = pick_dtype(model.dtype, device)
        with explained("take a smaller model, a narrower --dtype, or another --device"):
            self.loaded: Loaded = load(model.spec, dtype=dtype, device=device, seed=seed, family=model.family)
        vocab = self.loaded.adapter.vocab
        tokenizer = self.loaded.tokenizer
        self.encode: PartEncoder = (
            RenamedEncoder(fallback, vocab) if tokenizer is None else ModelEncoder(tokenizer, vocab)
        )

    def compare_reuse(self, prompts: Sequence[Prompt], options: Options, advance: Advance) -> list[Run]:
        """Replay prompts with blocks, with a radix tree and with modules; see `modules`.

        Raises:
            UsageError: the model is not one of our own decoder, or no text is fixed.
        """
        model = self.loaded.adapter
        if not isinstance(model, Llama):
            raise UsageError("modules need a model of the Llama family", "give another --model")
        cut = [parts_of(prompt, self.encode) for prompt in prompts]
        if not any(part.fixed for parts in cut for part in parts):
            raise UsageError(
                "no text is fixed in these prompts", "replay a template with --context or --vary"
            )
        ids = [tuple(token for part in parts for token in part.tokens) for parts in cut]
        given = [replace(prompt, ids=tokens) for prompt, tokens in zip(prompts, ids, strict=True)]
        untimed = replace(options, timed=0, passes=1, order="given")
        runs = []
        for name, block in (("block", options.block_tokens), ("radix", 1)):
            one = replace(untimed, cache=name, block_tokens=block)
            runs += self.replay([(name, given)], one, advance)
            if runs[-1].partial:
                return runs
        with explained("replay fewer or shorter prompts"):
            found = replay_modules(model, prompts, cut, advance)
        setting = replace(runs[0].setting, cache="modules", block_tokens=1, capacity_tokens=None)
        note = "approximate: a module was computed without what stands before it"
        modules = Run(
            "modules",
            setting,
            found.rows,
            kv_bytes=found.nbytes,
            partial=found.partial,
            notes=(note,),
            deviations=found.deviations,
        )
        return [*runs, modules]

    def replay(self, several: Variants, options: Options, advance: Advance) -> list[Run]:
        """Replay each variant on an empty cache; after an interrupt the others are left out.

        Raises:
            InputError: a prompt cannot be encoded, or is longer than the model takes.
        """
        runs: list[Run] = []
        arranged = [
            (
                title,
                arrange(
                    prompts, [self.encode(p) for p in prompts], options.order, options.passes, options.seed
                ),
            )
            for title, prompts in several
        ]
        self._check_lengths([item for _, sent in arranged for item in sent], options.max_new)
        block = options.block_tokens
        largest = max(
            sum(-(-(len(s.encoded.ids) + options.max_new) // block) * block for s in sent)
            for _, sent in arranged
        )
        replay = Replay(self.loaded, options, largest)
        for title, sent in arranged:
            runs.append(replay.run(title, sent, advance))
            if runs[-1].partial:
                break
        return runs

    def _check_lengths(self, sent: Sequence[Sent], max_new: int) -> None:
        context = self.loaded.adapter.context
        for item in sent:
            if len(item.encoded.ids) + max_new - 1 > context:
                raise InputError(
                    f"{item.prompt.name}: {item.prompt.label}: {counted(len(item.encoded.ids), 'token')} and {max_new}"
                    f" more are over the {context:,} that the model takes",
                    "give a model with a longer context, or shorter prompts",
                )
