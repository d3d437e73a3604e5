"""Limits of a rendering: work, time, and the size of every value."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from time import thread_time

from jinja2.utils import Namespace

MAX_WEIGHT = 200_000  # characters of one value with everything in it; an item of a list counts as four
MAX_NUMBER = 10_000  # a number that a filter or method may get: widths, counts, indents
MAX_WORK = 20_000_000  # characters and items handled in all renderings of one template
MAX_SECONDS = 1.2
_ITEM = 4
_LOOK_EVERY = 2_000  # units of work between looks at the clock, a system call


class TooExpensiveError(Exception):
    """The template was stopped: too much work, too much time, or a value that grew too large."""


class Meter:
    """Counts the work of all renderings of one template.

    The time is the processor time of this thread, so that a busy machine gives the same result.
    """

    def __init__(self, work: int = MAX_WORK, seconds: float = MAX_SECONDS) -> None:
        self.left = work
        self.seconds = seconds
        self.deadline = thread_time() + seconds
        self._until_look = _LOOK_EVERY

    def spend(self, cost: int) -> None:
        """Count work.

        Raises:
            TooExpensiveError: the work or the time is used up.
        """
        self.left -= cost
        if self.left < 0:
            raise TooExpensiveError("it does too much work")
        self._until_look -= 1 + cost
        if self._until_look < 0:
            self._until_look = _LOOK_EVERY
            if thread_time() > self.deadline:
                raise TooExpensiveError(f"it takes longer than {self.seconds} s")

    def weigh(self, value: object) -> int:
        """Return the size of a value with everything in it, counted as often as it would be printed.

        Raises:
            TooExpensiveError: it is larger than `MAX_WEIGHT`.
        """
        if isinstance(value, str):
            weight = len(value)
        else:
            weight = 0
            waiting: list[object] = [value]
            while waiting:
                item = waiting.pop()
                weight += _ITEM
                if isinstance(item, Namespace):
                    item = object.__getattribute__(item, "_Namespace__attrs")
                if isinstance(item, str | bytes):
                    weight += len(item)
                elif isinstance(item, int):
                    weight += item.bit_length() // 8
                elif isinstance(item, Mapping | list | tuple):
                    weight += _ITEM * len(item)
                    if weight > MAX_WEIGHT:
                        break
                    waiting.extend(item)
                    if isinstance(item, Mapping):
                        waiting.extend(item.values())
        if weight > MAX_WEIGHT:
            raise TooExpensiveError(f"a value grows beyond {MAX_WEIGHT:,} characters")
        self.spend(1 + weight)
        return weight

    def check_arguments(self, values: Iterable[object]) -> int:
        """Return the weight of the heaviest argument, and refuse numbers that make results explode.

        Raises:
            TooExpensiveError: a number above `MAX_NUMBER`, or a value that is too large.
        """
        heaviest = 0
        for value in values:
            if isinstance(value, int) and abs(value) > MAX_NUMBER:
                raise TooExpensiveError(f"a number above {MAX_NUMBER:,} is used as a width or count")
            heaviest = max(heaviest, self.weigh(value))
        return heaviest

    def allow_product(self, count: int, size: int) -> None:
        """Refuse a result of ``count`` parts of ``size`` characters before it is made.

        Raises:
            TooExpensiveError: it would be larger than `MAX_WEIGHT`.
        """
        if count * size > MAX_WEIGHT:
            raise TooExpensiveError(f"a value grows beyond {MAX_WEIGHT:,} characters")
