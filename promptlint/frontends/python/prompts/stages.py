"""Texts that grow piece by piece, under a name that says prompt.

Each stage is a prompt for all that is known, and shows what those before it show. Of a text that grows a few
thousand times they cannot all be looked at: that would take the square of their number.
"""

from __future__ import annotations

MAX_STAGES = 64  # of one text; from there on only those that are longer by a quarter


class Stages:
    """Which stages of growing texts were looked at."""

    def __init__(self) -> None:
        self._longest: dict[object, tuple[int, int]] = {}

    def between(self, name: object, pieces: int) -> bool:
        """Tell whether a text is one of very many, each longer than all before, and little longer than the last.

        Args:
            name: what the text is called, and where.
            pieces: how many it has.
        """
        count, longest = self._longest.get(name, (0, 0))
        if pieces <= longest:
            return False
        if count >= MAX_STAGES and pieces < longest + longest // 4:
            return True
        self._longest[name] = count + 1, pieces
        return False
