"""A Jinja sandbox for chat templates, as `transformers` sets it up, in which every step is counted.

Templates are input like any other: one that loops for ever, doubles a string forty times or formats a
number to a billion digits is stopped by a `Meter` before it costs time or memory.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from functools import wraps
from itertools import islice
from typing import Any, NoReturn

from jinja2.exceptions import SecurityError
from jinja2.runtime import Context as JinjaContext
from jinja2.runtime import Macro, Undefined
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import Namespace

from promptlint.frontends.chat_template.meter import MAX_NUMBER, Meter, TooExpensiveError

_FILTERS = frozenset(
    (
        *("abs", "attr", "batch", "capitalize", "center", "count", "d", "default", "dictsort", "e", "escape"),
        *("first", "float", "format", "groupby", "indent", "int", "items", "join", "last", "length", "list"),
        *("lower", "map", "max", "min", "reject", "rejectattr", "replace", "reverse", "round", "safe"),
        *("select", "selectattr", "slice", "sort", "string", "sum", "title", "trim", "truncate", "unique"),
        *("upper", "wordcount"),
    )
)
_STRING_METHODS = frozenset(
    (
        *("strip", "lstrip", "rstrip", "split", "rsplit", "splitlines", "partition", "rpartition"),
        *("startswith", "endswith", "removeprefix", "removesuffix", "replace", "join", "format"),
        *(
            "upper",
            "lower",
            "title",
            "capitalize",
            "casefold",
            "swapcase",
            "zfill",
            "ljust",
            "rjust",
            "center",
        ),
        *("find", "rfind", "index", "rindex", "count"),
        *("isdigit", "isdecimal", "isnumeric", "isalpha", "isalnum", "isspace", "isupper", "islower"),
    )
)
_OTHER_METHODS = frozenset(("items", "keys", "values", "get", "copy", "index", "count"))
_WIDTH = re.compile(r"\d{4,}")


class RefusedError(Exception):
    """The template called ``raise_exception``: it does not take this conversation."""


class RenderError(Exception):
    """The template cannot be rendered with these values."""


class Event:
    """What happened in a rendering: text printed, or a condition decided, at an offset of the template."""

    __slots__ = ("decided", "offset", "text")

    def __init__(self, offset: int, text: str | None, decided: bool | None) -> None:
        self.offset = offset
        self.text = text
        self.decided = decided


class Sandbox(ImmutableSandboxedEnvironment):
    """The environment of one template; compiled code calls back into it at every step."""

    intercepted_binops = frozenset(("+", "-", "*", "/", "//", "%", "**"))

    def __init__(self, meter: Meter, clock: datetime) -> None:
        super().__init__(trim_blocks=True, lstrip_blocks=True, autoescape=False, optimized=False)
        self.meter = meter
        self.clock = clock
        self.events: list[Event] | None = None
        self.asked_at: list[tuple[int, str]] = []  # where the template asked for the time, and what it got
        self.filters = {name: self._counted(name, self.filters[name]) for name in _FILTERS}
        self.filters["tojson"] = self._tojson
        self.globals = {
            "range": self._range,
            "dict": dict,
            "namespace": Namespace,
            "raise_exception": self._refuse,
            "strftime_now": self._strftime,
        }

    # -- called by instrumented code ------------------------------------------------------------

    def steps(self, items: Any) -> Any:
        """Return what a loop runs over, bounded."""
        if isinstance(items, Undefined):
            return items
        if not hasattr(items, "__len__"):
            items = list(islice(items, MAX_NUMBER + 1))
        if len(items) > MAX_NUMBER:
            raise TooExpensiveError(f"a loop runs more than {MAX_NUMBER:,} times")
        self.meter.spend(1 + 8 * len(items))
        return items

    def printed(self, offset: int, value: object) -> str:
        """Note and return text that goes to the output."""
        text = self.measured(value)
        if self.events is not None and text:
            self.events.append(Event(offset, text, None))
        return text

    def measured(self, value: object) -> str:
        """Return the text of a value that is printed, into the output or into a captured block."""
        self.meter.weigh(value)
        return value if isinstance(value, str) else str(value)

    def decided(self, offset: int, value: object) -> object:
        """Note and return the value of a condition."""
        self.meter.spend(1)
        if self.events is not None:
            self.events.append(Event(offset, None, bool(value)))
        return value

    def weighed(self, value: object) -> object:
        """Return a list, mapping or comparison made by the template."""
        self.meter.weigh(value)
        return value

    def joined(self, *values: object) -> str:
        """Return ``a ~ b ~ …``."""
        texts = [self.measured(value) for value in values]
        self.meter.allow_product(1, sum(map(len, texts)))
        return "".join(texts)

    # -- the sandbox's own hooks ------------------------------------------------------------------

    def call_binop(self, context: JinjaContext, operator: str, left: Any, right: Any) -> Any:
        """Compute ``left operator right`` after a look at what it could grow to."""
        meter = self.meter
        numbers = isinstance(left, int | float) and isinstance(right, int | float)
        if operator == "**" and numbers and (abs(left) > 1e6 or abs(right) > 16):
            raise TooExpensiveError("a power with a large base or exponent")
        if operator == "*" and not numbers:
            factor = left if isinstance(left, int) else right
            body = right if isinstance(left, int) else left
            meter.allow_product(abs(factor) if isinstance(factor, int) else 1, meter.weigh(body))
        if operator == "%" and isinstance(left, str):
            self._check_format(left, right if isinstance(right, tuple) else (right,))
        result = super().call_binop(context, operator, left, right)
        meter.weigh(result)
        return result

    def call(self, context: JinjaContext, function: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Call a macro, a method of a string, list or mapping, or one of the globals."""
        owner = getattr(function, "__self__", None)
        given = {key: value for key, value in kwargs.items() if key not in ("_loop_vars", "_block_vars")}
        if owner is self:
            return function(*args, **given)
        if isinstance(function, Undefined):
            return function()
        meter = self.meter
        meter.spend(20)
        name = getattr(function, "__name__", "")
        if isinstance(owner, str):
            if name not in _STRING_METHODS:
                raise SecurityError(f"the string method {name!r} is not supported")
            heaviest = meter.check_arguments((*args, *given.values()))
            if name == "replace" and len(args) > 1:
                meter.allow_product(owner.count(args[0]) or 1, len(args[1]))
            elif name == "join":
                meter.allow_product(len(args[0]) if hasattr(args[0], "__len__") else 1, len(owner))
            else:
                meter.spend(len(owner) + heaviest)
        elif isinstance(owner, dict | list | tuple):
            if name not in _OTHER_METHODS:
                raise SecurityError(f"the method {name!r} is not supported")
        elif not (isinstance(function, Macro) or function in (dict, Namespace)):
            recursive_loop = type(function).__name__ == "LoopContext"
            cycle = type(owner).__name__ == "LoopContext" and name in ("cycle", "changed")
            if not recursive_loop and not cycle:
                raise SecurityError(f"a call of {name or type(function).__name__!r} is not supported")
        result = super().call(context, function, *args, **kwargs)
        meter.weigh(result)
        return result

    def wrap_str_format(self, value: Any) -> Callable[..., str] | None:
        """Return ``str.format`` with a look at what it could grow to."""
        formatter = super().wrap_str_format(value)
        if formatter is None:
            return None
        pattern = value.__self__

        def checked(*args: Any, **kwargs: Any) -> str:
            self._check_format(pattern, (*args, *kwargs.values()))
            return formatter(*args, **kwargs)

        checked.__self__ = self  # type: ignore[attr-defined]  # `call` knows its own by this
        return checked

    def _check_format(self, pattern: str, values: Iterable[object]) -> None:
        heaviest = self.meter.check_arguments(values)
        if _WIDTH.search(pattern):
            raise TooExpensiveError("a format with a width above 999")
        holes = pattern.count("%") + pattern.count("{")
        self.meter.allow_product(
            holes, max(heaviest, 1000) if re.search(r"\d\d|\*|\{[^}]*\{", pattern) else heaviest
        )

    # -- filters and globals ----------------------------------------------------------------------

    def _counted(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        passes = int(hasattr(function, "jinja_pass_arg"))  # the context or environment comes first

        @wraps(function)
        def counted(*args: Any, **kwargs: Any) -> Any:
            values = [*args[passes:], *kwargs.values()]
            if name in (
                "map",
                "select",
                "reject",
                "selectattr",
                "rejectattr",
                "list",
                "join",
                "sum",
                "unique",
            ):
                values[:1] = [self._listed(values[0])] if values else []
                args = (*args[:passes], *values[:1], *args[passes + 1 :])
            subject, rest = values[0] if values else "", values[1:]
            weight = self.meter.weigh(subject)
            heaviest = self.meter.check_arguments(rest)
            if name == "replace" and len(rest) > 1:
                self.meter.allow_product(str(subject).count(str(rest[0])), heaviest)
            elif name == "join" and hasattr(subject, "__len__"):
                self.meter.allow_product(len(subject), heaviest)
            elif name == "format":
                self._check_format(str(subject), rest)
            elif name == "indent":
                numbers = [value for value in rest if isinstance(value, int)]
                self.meter.allow_product(str(subject).count("\n") + 1, max([heaviest, *numbers], default=4))
            elif name in ("batch", "slice", "round"):
                self.meter.spend(weight + MAX_NUMBER)
            result = function(*args, **kwargs)
            if isinstance(result, Iterator):
                result = self._listed(result)
            self.meter.weigh(result)
            return result

        return counted

    def _listed(self, items: Any) -> Any:
        if isinstance(items, Undefined) or hasattr(items, "__len__"):
            return items
        found = list(islice(items, MAX_NUMBER + 1))
        if len(found) > MAX_NUMBER:
            raise TooExpensiveError(f"a list of more than {MAX_NUMBER:,} items")
        return found

    def _tojson(
        self,
        value: object,
        ensure_ascii: bool = False,
        indent: int | None = None,
        separators: tuple[str, str] | None = None,
        sort_keys: bool = False,
    ) -> str:
        weight = self.meter.weigh(value)
        if indent is not None:
            self.meter.check_arguments((indent,))
            self.meter.allow_product(weight, 1 + int(indent))
        try:
            return json.dumps(
                value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys
            )
        except (TypeError, ValueError) as error:
            raise RenderError(f"tojson: {error}") from None

    def _range(self, *bounds: int) -> range:
        found = range(*bounds)
        if len(found) > MAX_NUMBER:
            raise TooExpensiveError(f"a range of more than {MAX_NUMBER:,} numbers")
        return found

    def _refuse(self, message: object = "") -> NoReturn:
        raise RefusedError(str(message)[:200])

    def _strftime(self, pattern: object = "%Y-%m-%d") -> str:
        text = str(pattern)
        if len(text) > 200 or _WIDTH.search(text):
            raise TooExpensiveError("a date format that is too long")
        return self.clock.strftime(text)

    def asked(self, offset: int, pattern: object = "%Y-%m-%d") -> str:
        """Return the time as ``strftime_now`` does, and note where the template asked for it."""
        text = self._strftime(pattern)
        self.meter.spend(20)
        if len(self.asked_at) < 1000:
            self.asked_at.append((offset, text))
        return text
