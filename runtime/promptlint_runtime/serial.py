"""One request after another on an engine that is not ours, beside a copy of its cache's bookkeeping."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter

from promptlint.cache.base import PrefixCache
from promptlint.cache.blocks import Extra
from promptlint.errors import InputError
from promptlint.words import counted
from promptlint_runtime.predict import Divergence, Earlier
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


@dataclass(frozen=True, slots=True)
class Sequenced:
    """Rows in the order of arrival, whether an interrupt or an error cut them short, and their wall seconds."""

    rows: tuple[Row, ...]
    partial: bool
    stopped: str
    seconds: float


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

    def run(self, title: str, sent: Sequence[Sent], advance: Advance) -> Sequenced:
        """Send all; an interrupt, or an error after the first answer, leaves what is known so far.

        Raises:
            InputError: the engine did not answer the first request.
        """
        earlier, rows, begun = Earlier(self.block_tokens or 1), [], perf_counter()
        partial, stopped = False, ""
        try:
            for item in sent:
                rows.append(self._one(item, earlier))
                advance(title, len(rows), len(sent))
        except KeyboardInterrupt:
            partial = True
        except InputError as error:
            if not rows:
                raise
            stopped = str(error)
        return Sequenced(tuple(rows), partial, stopped, perf_counter() - begun)

    def _one(self, item: Sent, earlier: Earlier) -> Row:
        tokens, extra = item.encoded.ids, Extra(salt=self.salt + item.prompt.salt)
        predicted = None if self.cache is None else self.cache.match(tokens, extra)
        answer = self.ask(item)
        if self.cache is not None:
            admission = self.cache.start(tokens, extra)
            if admission is not None:
                self.cache.extend(admission, answer.output[:-1])  # the last token out is never computed
                self.cache.finish(admission)
        return row_of(item, answer, predicted, divergence_of(earlier, item), self.block_tokens, self.exact)


def row_of(
    item: Sent, answer: Answer, predicted: int | None, divergence: Divergence, block: int | None, exact: bool
) -> Row:
    """Return the row of one answer; see `Serial` for ``block`` (its ``block_tokens``) and ``exact``."""
    template, line = place_of(item, divergence)
    tokens, cached, reason = item.encoded.ids, answer.cached_tokens, ""
    if cached is None:
        reason = "the engine does not say how many tokens were cached"
    elif exact:
        reason = reason_of(divergence, cached, predicted)
    if exact and answer.prompt_tokens not in (None, len(tokens)):
        predicted = None
        reason = (
            f"the engine counts {counted(answer.prompt_tokens or 0, 'token')}, expected were {len(tokens):,}"
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
        first_differing_block=divergence.block if exact and block else None,
        shared_tokens=divergence.shared if exact else 0,
        reason=reason,
    )
