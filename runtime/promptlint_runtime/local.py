"""Replay on the bundled runtime: prompts in, one `Run` for each way of sending them out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from promptlint_runtime.encode import Encoder, ModelEncoder, RenamedEncoder, TextTokenizer
from promptlint_runtime.models import Loaded, load, pick_device, pick_dtype
from promptlint_runtime.replay import Options, Replay
from promptlint_runtime.report import Advance, Run
from promptlint_runtime.rows import arrange
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
        self.loaded: Loaded = load(model.spec, dtype=dtype, device=device, seed=seed, family=model.family)
        vocab = self.loaded.adapter.vocab
        tokenizer = self.loaded.tokenizer
        self.encode: Encoder = (
            RenamedEncoder(fallback, vocab) if tokenizer is None else ModelEncoder(tokenizer, vocab)
        )

    def replay(self, several: Variants, options: Options, advance: Advance) -> list[Run]:
        """Replay each variant on an empty cache; after an interrupt the others are left out."""
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
