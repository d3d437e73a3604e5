"""Which rules are in force."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches

from promptlint.config import Config
from promptlint.errors import UsageError
from promptlint.suppress import matches


class Selection:
    """The codes in force: the default rules or ``select``, with ``extend-select``, less ``ignore``.

    The more exact selector wins, as in ``select = ["PL1"], ignore = ["PL103"]`` or the reverse.
    ``rules`` maps each code to its name and whether it is on by default.

    Raises:
        UsageError: a selector fits no rule.
    """

    def __init__(self, config: Config, rules: Mapping[str, tuple[str, bool]]) -> None:
        wanted = (*config.select, *config.extend_select)
        for selector in (*wanted, *config.ignore, *(c for v in config.per_file_ignores.values() for c in v)):
            self._known(selector, rules)
        self._codes = frozenset(
            code
            for code, (name, default) in rules.items()
            if _strength(wanted, code, name, default=default and not config.select)
            > _strength(config.ignore, code, name, default=False)
        )
        self._rules = rules

    @staticmethod
    def _known(selector: str, rules: Mapping[str, tuple[str, bool]]) -> None:
        if any(matches(selector, code, name) for code, (name, _) in rules.items()):
            return
        words = [*rules, *(name for name, _ in rules.values())]
        close = get_close_matches(selector, words, 1) or get_close_matches(selector.upper(), words, 1)
        hint = f"did you mean {close[0]}?" if close else "`promptlint rules` lists them"
        raise UsageError(f"{selector}: no such rule", hint)

    def __contains__(self, code: str) -> bool:
        return code in self._codes

    def selects(self, selector: str) -> bool:
        """Tell whether a code or name given in a comment means a rule in force, or no rule at all."""
        meant = [code for code, (name, _) in self._rules.items() if matches(selector, code, name)]
        return not meant or any(code in self._codes for code in meant)

    @property
    def codes(self) -> Sequence[str]:
        """Return the codes in force, in order."""
        return sorted(self._codes)


def _strength(selectors: Iterable[str], code: str, name: str, *, default: bool) -> int:
    """Return how exactly a code is selected: 0 not at all, 1 by default or ``ALL``, then by length."""
    found = [
        1 if s == "ALL" else 100 if s == name else 1 + len(s) for s in selectors if matches(s, code, name)
    ]
    return max(found, default=int(default))
