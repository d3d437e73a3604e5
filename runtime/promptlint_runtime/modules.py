"""Reuse of fixed text wherever it stands: modules with positions re-encoded. Approximate, unlike a prefix.

A module's keys and values are computed once by themselves, at positions from 0. In a prompt they are put
at the module's place, keys turned by as many positions; only the text between modules is computed::

    prompt    [module A][ free ][module B][ free ]
    computed             ^^^^^^            ^^^^^^     these see all before them
    reused     as is               turned             B was computed without A: that is what is lost

What the answer loses is measured: the logits of the first token against those of the exact computation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from time import perf_counter

import torch
from torch import Tensor

from promptlint.errors import UsageError
from promptlint.words import counted
from promptlint_runtime.adapters.base import batch_of
from promptlint_runtime.adapters.llama import Llama
from promptlint_runtime.attention import rotate
from promptlint_runtime.encode import PartEncoder
from promptlint_runtime.kv import KvStore
from promptlint_runtime.measure import synchronize
from promptlint_runtime.prompts import Prompt
from promptlint_runtime.report import Advance, Deviation, Row
from promptlint_runtime.sequence import Chunk

SHORTEST = 8  # tokens of a module


@dataclass(frozen=True, slots=True)
class Part:
    """A run of tokens, fixed (a module, with its name if it was declared) or free."""

    tokens: tuple[int, ...]
    fixed: bool
    name: str = ""


def parts_of(prompt: Prompt, encode: PartEncoder) -> tuple[Part, ...]:
    """Cut a prompt into modules and free text, each encoded by itself.

    Modules are what is declared as such; where nothing is, the text that is the template's own, from
    `SHORTEST` tokens on. The last token is always free: its logits are needed.

    Raises:
        UsageError: the prompt has no text.
    """
    if prompt.ids is not None:
        raise UsageError(f"{prompt.name}: token ids do not say which text is fixed", "replay a template")
    parts: list[Part] = []
    declared = any(piece.module for piece in prompt.pieces)
    shortest = 1 if declared else SHORTEST
    for key, pieces in groupby(prompt.pieces, key=lambda p: p.module if declared else p.fixed or None):
        tokens = encode.part("".join(piece.text for piece in pieces), first=not parts)
        name = key[0] if isinstance(key, tuple) else ""
        parts.append(Part(tokens, key is not None and len(tokens) >= shortest, name))
    last = parts[-1]
    if last.fixed:
        head = Part(last.tokens[:-1], len(last.tokens) > shortest, last.name)
        parts[-1:] = [head, Part(last.tokens[-1:], False)]
    return tuple(part for part in parts if part.tokens)


class Modules:
    """Keys and values of modules, and a scratch store in which prompts are put together."""

    def __init__(self, model: Llama, longest: int) -> None:
        self._model = model
        self._kv = KvStore(model.sizes, longest, model.dtype, model.device)
        self._known: dict[tuple[int, ...], list[tuple[Tensor, Tensor]]] = {}

    @property
    def nbytes(self) -> int:
        """Return the bytes of all modules' keys and values."""
        return sum(x.nbytes for layers in self._known.values() for pair in layers for x in pair)

    @torch.inference_mode()
    def compute(self, parts: Sequence[Part]) -> tuple[Tensor, int]:
        """Compute a prompt's first logits ``[vocab]``; return them and the tokens that were reused."""
        at, reused, logits = 0, 0, None
        for part in parts:
            if not part.fixed:
                logits = self._forward(part.tokens, at)
            elif part.tokens in self._known:
                reused += len(part.tokens)
                self._place(part.tokens, at)
            else:
                self._learn(part.tokens, at)
            at += len(part.tokens)
        assert logits is not None
        return logits, reused

    def exact(self, parts: Sequence[Part]) -> Tensor:
        """Compute the same prompt as a whole."""
        return self._forward(tuple(token for part in parts for token in part.tokens), 0)

    def _forward(self, tokens: tuple[int, ...], start: int) -> Tensor:
        past = ((0, start),) if start else ()
        chunk = Chunk(0, tokens, start, past, ((start, len(tokens)),), sample=True)
        return self._model.forward(batch_of([chunk], self._model.device), self._kv)[0]

    def _learn(self, tokens: tuple[int, ...], at: int) -> None:
        """Compute a module by itself, in slots of its own place, then put it there."""
        length = len(tokens)
        alone = Chunk(0, tokens, 0, (), ((at, length),), sample=False)
        self._model.forward(batch_of([alone], self._model.device), self._kv)
        slots = slice(at, at + length)
        layers = range(len(self._kv.sizes))
        read = [self._kv.read(layer, slots) for layer in layers]
        self._known[tokens] = [(keys.clone(), values.clone()) for keys, values in read]
        self._place(tokens, at)

    def _place(self, tokens: tuple[int, ...], at: int) -> None:
        """Write a module's keys and values at a position, keys turned by it."""
        slots = slice(at, at + len(tokens))
        cos, sin = self._model.rotary(torch.tensor([at], device=self._model.device))
        for layer, (keys, values) in enumerate(self._known[tokens]):
            self._kv.write(layer, slots, rotate(keys, cos, sin), values)


@dataclass(frozen=True, slots=True)
class Replayed:
    """Rows, how far each deviates, the bytes of all modules, and whether an interrupt cut it short."""

    rows: tuple[Row, ...]
    deviations: tuple[Deviation, ...]
    nbytes: int
    partial: bool


def replay_modules(
    model: Llama, prompts: Sequence[Prompt], cut: Sequence[tuple[Part, ...]], advance: Advance
) -> Replayed:
    """Replay prompts with module reuse; an interrupt ends it with what is known so far."""
    longest = max(sum(len(part.tokens) for part in parts) for parts in cut)
    modules = Modules(model, longest)
    rows, deviations, partial = [], [], False
    try:
        for number, (prompt, parts) in enumerate(zip(prompts, cut, strict=True)):
            begun = perf_counter()
            logits, reused = modules.compute(parts)
            synchronize(model.device)
            took = perf_counter() - begun
            exact = modules.exact(parts)
            difference = (logits.float() - exact.float()).abs().max().item()
            deviations.append(Deviation(number, difference, bool(logits.argmax() == exact.argmax())))
            rows.append(_row(number, prompt, parts, reused, took))
            advance("modules", number + 1, len(prompts))
    except KeyboardInterrupt:
        partial = True
    return Replayed(tuple(rows), tuple(deviations), modules.nbytes, partial)


def _row(number: int, prompt: Prompt, parts: Sequence[Part], reused: int, took: float) -> Row:
    total = sum(len(part.tokens) for part in parts)
    return Row(
        id=number,
        label=prompt.label,
        prompt_tokens=total,
        predicted_hit_tokens=None,
        measured_hit_tokens=reused,
        output_tokens=1,
        ttft_ms=1000 * took,
        template=prompt.name,
        line=None,
        first_differing_block=None,
        shared_tokens=0,
        reason=_contents(parts),
    )


def _contents(parts: Sequence[Part]) -> str:
    modules = [part for part in parts if part.fixed]
    times = Counter(part.name for part in modules if part.name)
    names = ", ".join(name if times[name] == 1 else f"{times[name]} × {name}" for name in times)
    of = f" ({names})" if names else ""
    return f"{counted(len(modules), 'module')}{of}, {counted(len(parts) - len(modules), 'free text')}"
