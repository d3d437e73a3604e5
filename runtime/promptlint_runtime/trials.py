"""Times of prompts on engines that are not ours: cold, warm, and with the cache off where there is a way.

A prompt is made cold by what keeps it apart from everything sent before (a salt, or another first line),
and warm by sending its reusable part, or all of it, under the same salt right before.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from promptlint_runtime.report import Advance, Row, Spread, Timing
from promptlint_runtime.rows import Sent
from promptlint_runtime.serial import Answer
from promptlint_runtime.shapes import Shape, speedup_bound

LONG = 2.0  # seconds of a cold prompt from which one repeat is enough, unless more are asked for
REPEATS = 3


@dataclass(frozen=True, slots=True)
class Trial:
    """How a prompt is sent to be timed: its salt, only so many first tokens, with the cache left out."""

    salt: str
    tokens: int | None = None
    off: bool = False


Send = Callable[[Sent, Trial], Answer]


@dataclass(frozen=True, slots=True)
class Manner:
    """What an engine allows. ``prefix``: sending a part of a prompt; ``off``: leaving the cache out."""

    prefix: bool
    off: bool

    @property
    def sent(self) -> int:
        """Return how often one repeat sends a prompt, at most."""
        return 2 + self.prefix + self.off


def enough(cold: Sequence[float], wanted: int | None) -> bool:
    """Tell whether a prompt was repeated often enough: as wanted, else by how long it takes."""
    if wanted is None:
        wanted = 1 if cold and cold[0] > LONG else REPEATS
    return len(cold) >= wanted


def choose(rows: Sequence[Row], sent: Sequence[Sent], count: int) -> list[tuple[Sent, int]]:
    """Return the prompts that hit most, the longest where none hit, each once with its hit."""
    items = {item.number: item for item in sent}
    best: dict[tuple[int, ...], tuple[Sent, int]] = {}
    for row in sorted(rows, key=lambda r: (-(r.measured_hit_tokens or 0), -r.prompt_tokens)):
        item = items[row.id]
        best.setdefault(item.encoded.ids, (item, row.measured_hit_tokens or 0))
    return list(best.values())[:count]


def time_prompts(
    chosen: Sequence[tuple[Sent, int]],
    send: Send,
    manner: Manner,
    repeats: int | None,
    shape: Shape | None,
    advance: Advance,
) -> tuple[tuple[Timing, ...], bool]:
    """Time prompts one after another; the second value tells of an interrupt."""
    timings: list[Timing] = []
    try:
        for item, hit in chosen:
            advance("timing", len(timings), len(chosen))
            timings.append(_time(item, hit, send, manner, repeats, shape))
    except KeyboardInterrupt:
        return tuple(timings), True
    return tuple(timings), False


def _time(
    item: Sent, hit: int, send: Send, manner: Manner, repeats: int | None, shape: Shape | None
) -> Timing:
    off: list[float] = []
    cold: list[float] = []
    warm: list[float] = []
    cached = total = None
    while not enough(cold, repeats):
        salt = secrets.token_hex(8)
        cold.append(send(item, Trial(salt)).first_token)
        if manner.prefix and hit:
            salt = secrets.token_hex(8)
            send(item, Trial(salt, tokens=hit))
        answer = send(item, Trial(salt))
        warm.append(answer.first_token)
        cached, total = answer.cached_tokens, answer.prompt_tokens
        if manner.off:
            off.append(send(item, Trial(salt, off=True)).first_token)
    known = cached is not None and total is not None
    return Timing(
        request=item.number,
        cached=cached if known else None,
        new=total - cached if total is not None and cached is not None else None,
        off=Spread.of(off) if off else None,
        cold=Spread.of(cold),
        warm=Spread.of(warm),
        bound=None if shape is None or not known else speedup_bound(shape, total or 0, cached or 0),
    )
