"""One request after another on an engine that is not ours, beside a copy of its cache's bookkeeping."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from promptlint.cache.base import PrefixCache
from promptlint.cache.blocks import Extra
from promptlint.words import counted
from promptlint_runtime.predict import Earlier
from promptlint_runtime.report import Advance, Row
from promptlint_runtime.rows import Sent, divergence_of, place_of, reason_of


@dataclass(frozen=True, slots=True)
class Answer:
    """What an engine said of one request. None for what it does not say.

    ``output`` holds the ids of the answer as far as they are known; they are cached too.
    """

    prompt_tokens: int | None
    cached_tokens: int | None
    output_tokens: int
    first_token: float  # seconds
    output: tuple[int, ...] = ()


Ask = Callable[[Sent], Answer]


@dataclass(slots=True)
class Serial:
    """Sends prompts one at a time, so that what is cached when is known.

    ``cache`` is an empty cache with the engine's rules, None where nothing can be predicted; ``exact``
    tells whether the prompts' ids are the engine's own.
    """

    ask: Ask
    cache: PrefixCache | None
    block_tokens: int | None
    exact: bool = True
    salt: str = ""

    def run(self, title: str, sent: Sequence[Sent], advance: Advance) -> tuple[tuple[Row, ...], bool]:
        """Return the rows, and whether an interrupt ended it early."""
        earlier, rows = Earlier(self.block_tokens or 1), []
        try:
            for item in sent:
                rows.append(self._one(item, earlier))
                advance(title, len(rows), len(sent))
        except KeyboardInterrupt:
            return tuple(rows), True
        return tuple(rows), False

    def _one(self, item: Sent, earlier: Earlier) -> Row:
        tokens, extra = item.encoded.ids, Extra(salt=self.salt + item.prompt.salt)
        predicted = None if self.cache is None else self.cache.match(tokens, extra)
        answer = self.ask(item)
        if self.cache is not None:
            admission = self.cache.start(tokens, extra)
            if admission is not None:
                self.cache.extend(admission, answer.output[:-1])  # the last token out is never computed
                self.cache.finish(admission)
        divergence = divergence_of(earlier, item)
        template, line = place_of(item, divergence)
        cached, reason = answer.cached_tokens, ""
        if cached is None:
            reason = "the engine does not say how many tokens were cached"
        elif self.exact:
            reason = reason_of(divergence, cached, predicted)
        if self.exact and answer.prompt_tokens not in (None, len(tokens)):
            predicted = None
            reason = (
                f"the engine counts {counted(answer.prompt_tokens, 'token')}, expected were {len(tokens):,}"
            )
        return Row(
            id=item.number,
            label=item.prompt.label,
            prompt_tokens=answer.prompt_tokens or len(tokens),
            predicted_hit_tokens=predicted,
            measured_hit_tokens=cached,
            output_tokens=answer.output_tokens,
            ttft_ms=1000 * answer.first_token,
            template=template,
            line=line,
            first_differing_block=divergence.block if self.exact and self.block_tokens else None,
            shared_tokens=divergence.shared if self.exact else 0,
            reason=reason,
        )
