"""From outcomes to the rows of the report: which line of which template ends the reuse."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from promptlint.cache.blocks import Extra
from promptlint.errors import UsageError
from promptlint.words import counted
from promptlint_runtime.engine import Outcome
from promptlint_runtime.predict import Divergence, Earlier
from promptlint_runtime.prompts import Encoded, Prompt
from promptlint_runtime.report import Row
from promptlint_runtime.sequence import Request


@dataclass(frozen=True, slots=True)
class Sent:
    """A prompt at its place in the order of arrival."""

    number: int
    prompt: Prompt
    encoded: Encoded


def arrange(
    prompts: Sequence[Prompt],
    encoded: Sequence[Encoded],
    order: str = "given",
    passes: int = 1,
    seed: int = 0,
) -> list[Sent]:
    """Return what will be sent, in the order of arrival: "given", "shuffled" or "by-prefix".

    Raises:
        UsageError: an unknown order.
    """
    numbers = list(range(len(prompts))) * passes
    if order == "shuffled":
        random.Random(seed).shuffle(numbers)
    elif order == "by-prefix":
        numbers.sort(key=lambda i: encoded[i].ids)
    elif order != "given":
        raise UsageError(f"no order named {order!r}", "take given, shuffled or by-prefix")
    return [Sent(number, prompts[i], encoded[i]) for number, i in enumerate(numbers)]


def rows_of(
    sent: Sequence[Sent], outcomes: Sequence[Outcome], predicted: Mapping[int, int], block: int
) -> tuple[Row, ...]:
    """Return one row for each finished request, in the order of arrival."""
    by_id = {outcome.request.id: outcome for outcome in outcomes}
    earlier, rows = Earlier(block), []
    for item in sent:
        divergence = divergence_of(earlier, item)
        outcome = by_id.get(item.number)
        if outcome is None:
            continue
        # Not what the cache claims: what did not run through the model and was found in its slots.
        measured = min(outcome.measured, outcome.verified)
        template, line = place_of(item, divergence)
        rows.append(
            Row(
                id=item.number,
                label=item.prompt.label,
                prompt_tokens=len(item.encoded.ids),
                predicted_hit_tokens=predicted.get(item.number),
                measured_hit_tokens=None if outcome.refused else measured,
                output_tokens=len(outcome.output),
                ttft_ms=None if outcome.refused else 1000 * outcome.first_token,
                template=template,
                line=line,
                first_differing_block=divergence.block,
                shared_tokens=divergence.shared,
                reason=_refusal(outcome) or reason_of(divergence, measured, predicted.get(item.number)),
                preempted=outcome.preempted,
                refused=outcome.refused,
            )
        )
    return tuple(rows)


def divergence_of(earlier: Earlier, item: Sent) -> Divergence:
    """Compare one prompt with those sent before it."""
    return earlier.add(Request(item.number, item.encoded.ids, extra=Extra(salt=item.prompt.salt)))


def place_of(item: Sent, divergence: Divergence) -> tuple[str, int | None]:
    """Return file and line behind the first token that differs."""
    prompt = item.prompt
    if divergence.block is None:
        return prompt.name, None
    index = item.encoded.piece_of(divergence.shared)
    if index is None:
        if len({(piece.path, piece.line) for piece in prompt.pieces}) != 1:
            return prompt.name, None
        index = 0  # all of it comes from one line, a record of a log
    piece = prompt.pieces[index]
    return piece.path or prompt.name, piece.line


def reason_of(divergence: Divergence, measured: int, predicted: int | None) -> str:
    """Say in a few words why no more was reused."""
    if predicted is not None and predicted != measured:
        return f"MISMATCH: {counted(predicted, 'token')} predicted, {measured} measured"
    if measured > divergence.limit:
        return "continues an answer of the model, which was cached too"
    if measured < divergence.limit:
        return f"sent before and not in the cache (evicted, or off): {counted(divergence.limit - measured, 'token')}"
    if divergence.block is None:
        return "sent before as a whole; its last block is computed again"
    if divergence.shared == 0:
        return "nothing sent before begins like it"
    return f"differs from all sent before at token {divergence.shared}"


def _refusal(outcome: Outcome) -> str:
    return "needs more room than the whole cache has" if outcome.refused else ""
