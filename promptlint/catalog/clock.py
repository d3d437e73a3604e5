"""How often a formatted time changes: ``%Y-%m-%d`` once a day, ``%H:%M`` all the time."""

from __future__ import annotations

import re

from promptlint.layout import Scope

_WITHIN_A_DAY = set("fSsMHIpklPcXTrR+LN")
_DAILY = set("djaAwuxDFeUWVh")
_DIRECTIVE = re.compile(r"%[-_0^#:EO]*([A-Za-z%+])")

# Tokens of moment, dayjs, pendulum, arrow, Java and Liquid's relatives: YYYY-MM-DD HH:mm:ss
_ESCAPED = re.compile(r"\[[^\]]*\]|'[^']*'|\\.")
_TOKEN_WITHIN = re.compile(r"[HhkKmsSXxAa]|LTS?|LLL|lll|LLLL|ZZ?ZZ?T")
_TOKEN_DAILY = re.compile(r"[DdEeWw]|LL?|ll?")
_ONLY_TOKENS = re.compile(r"[YyMDdHhmsSAaEeWwQQLlXxZzKkTo\W\d_]+")

_STRFTIME = re.compile(r"""strftime(?:_now)?\(\s*(?:[\w.()]+\s*,\s*)?[bu]?(["'])(?P<f>[^"']*)\1""")
_TOKENS = re.compile(r"""\.(?:format|to_?string|toFormat)\(\s*(["'])(?P<f>[^"']*)\1""")
_SPEC = re.compile(r"""[:'"](?P<f>%[^"'}]+)""")
_TIMESPEC = re.compile(r"""\.isoformat\([^)]*timespec\s*=\s*["'](?P<t>\w+)["']""")
_PART = re.compile(r"\.(?P<part>[A-Za-z_]+)(?:\(\))?\s*$")
_READ = 2000  # characters of an expression that are looked at, from its end
_PARTS = {
    "date": Scope.DAY,
    "toordinal": Scope.DAY,
    "weekday": Scope.DAY,
    "isoweekday": Scope.DAY,
    "isocalendar": Scope.DAY,
    "day": Scope.DAY,
    "day_of_week": Scope.DAY,
    "day_of_year": Scope.DAY,
    "to_date_string": Scope.DAY,
    "toDateString": Scope.DAY,
    "toLocaleDateString": Scope.DAY,
    "month": Scope.RELEASE,
    "year": Scope.RELEASE,
    "getFullYear": Scope.RELEASE,
    "tzinfo": Scope.RELEASE,
}


def clock_scope(fmt: str) -> Scope:
    """Return how often a time changes when it is written with a format string.

    `REQUEST` as soon as the hour or anything finer shows, `DAY` for dates, `RELEASE` where only the
    month or year is left (they change less often than most prompts) or the format prints no time.
    Formats with ``%`` are read as strftime, others as ``YYYY-MM-DD`` tokens.
    """
    if "%" in fmt:
        letters = {match.group(1) for match in _DIRECTIVE.finditer(fmt)}
        within, daily = bool(letters & _WITHIN_A_DAY), bool(letters & _DAILY)
    else:
        bare = _ESCAPED.sub("", fmt)
        if not _ONLY_TOKENS.fullmatch(bare):
            return Scope.REQUEST
        within, daily = bool(_TOKEN_WITHIN.search(bare)), bool(_TOKEN_DAILY.search(bare))
    if within:
        return Scope.REQUEST
    return Scope.DAY if daily else Scope.RELEASE


def refine_clock(scope: Scope, expression: str) -> Scope:
    """Widen the scope of a clock by how the expression around it prints the time.

    ``datetime.now().strftime("%Y-%m-%d")`` changes once a day although ``now()`` always does. The
    scope stays as it is where the expression does not tell.
    """
    found: Scope | None = None
    expression = expression[-_READ:]
    for pattern in (_STRFTIME, _TOKENS, _SPEC):
        if match := pattern.search(expression):
            found = clock_scope(match.group("f"))
            break
    else:
        if match := _TIMESPEC.search(expression):
            found = Scope.REQUEST
        elif match := _PART.search(expression):
            found = _PARTS.get(match.group("part"))
    if found is None or scope.rank < found.rank:
        return scope
    return found
