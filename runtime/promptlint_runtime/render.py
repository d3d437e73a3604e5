"""Templates rendered in a bounded Jinja sandbox, piece by piece with the line each came from.

Marks are put before every piece of text and every expression while the template is lexed, and taken
out of the result again::

    Hello {{ name }}      →   ⟦a.j2:1⟧Hello ⟦a.j2:1⟧{{ name }}      →   ("Hello ", 1), ("Ann", 1)

A filter that sees a mark could do otherwise than without it (a length, a ``trim``), so the template is
rendered plain too, and the lines are believed only if both results are the same text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from traceback import extract_tb
from typing import Any

from jinja2 import BaseLoader, Environment, StrictUndefined, TemplateError, TemplateNotFound
from jinja2.ext import Extension
from jinja2.lexer import Token, TokenStream
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment

from promptlint.errors import InputError
from promptlint.frontends.base import Delimiters
from promptlint_runtime.prompts import Piece

MAX_CHARACTERS = 8_000_000
MAX_TURNS = 1_000_000
_FAULTS = (TypeError, ValueError, ArithmeticError, LookupError, AttributeError, RecursionError, MemoryError)
_MARK = re.compile("\ue000([de])(\\d+):(\\d+)\ue001")


class _Marks(Extension):
    """Puts a mark with file number and line before data and expressions."""

    def filter_stream(self, stream: TokenStream) -> Iterator[Token]:
        files: list[str] = self.environment.promptlint_files  # type: ignore[attr-defined]
        name = stream.name or ""
        if name not in files:
            files.append(name)
        number = files.index(name)
        for token in stream:
            if token.type in ("data", "variable_begin"):
                yield _mark(token.type, number, token.lineno)
            if token.type == "data":
                yield from _split_lines(token, number)
            else:
                yield token


def _mark(kind: str, number: int, line: int) -> Token:
    return Token(line, "data", f"\ue000{'d' if kind == 'data' else 'e'}{number}:{line}\ue001")


def _split_lines(token: Token, number: int) -> Iterator[Token]:
    for at, line in enumerate(token.value.splitlines(keepends=True)):
        if at:
            yield _mark("data", number, token.lineno + at)
        yield Token(token.lineno, "data", line)


class _Loader(BaseLoader):
    def __init__(self, load: Callable[[str], str | None]) -> None:
        self._load = load

    def get_source(self, environment: Environment, template: str) -> tuple[str, str, Callable[[], bool]]:
        text = self._load(template)
        if text is None:
            raise TemplateNotFound(template)
        return text, template, lambda: True


class _Bounded(ImmutableSandboxedEnvironment):
    """The sandbox with limits on what one rendering may count and multiply."""

    intercepted_binops = frozenset({"*", "**"})

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.turns = 0  # numbers handed out by `range` in this rendering
        self.globals = {"range": self._range, "dict": dict, "namespace": self.globals["namespace"]}

    def _range(self, *arguments: int) -> range:
        made = range(*arguments)
        self.turns += len(made)
        if self.turns > MAX_TURNS:
            raise ValueError(f"loops of over {MAX_TURNS:,} turns")
        return made

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """Refuse products that would fill the memory."""
        if operator == "**":
            large = abs(right) * abs(left).bit_length() > 4096 if isinstance(left, int) else False
        else:
            sized = [x for x in (left, right) if isinstance(x, (str, list, tuple))]
            times = [x for x in (left, right) if isinstance(x, int)]
            large = bool(sized and times) and len(sized[0]) * times[0] > MAX_CHARACTERS
        if large:
            raise ValueError("a product over the limit")
        return super().call_binop(context, operator, left, right)

    def call(self, context: Context, function: Any, /, *args: Any, **named: Any) -> Any:
        """Call a function; sample data in its place is its answer, as ``now`` for ``{{ now() }}``."""
        if isinstance(function, str | int | float | list | dict):
            return function
        return super().call(context, function, *args, **named)


class Renderer:
    """Renders one project's templates; ``load`` gives the text of a template by name, or None."""

    def __init__(
        self, load: Callable[[str], str | None], delimiters: Delimiters | None = None, *, trim: bool = False
    ) -> None:
        marks = delimiters or Delimiters()
        options: dict[str, Any] = {
            "loader": _Loader(load),
            "undefined": StrictUndefined,
            "keep_trailing_newline": True,
            "trim_blocks": trim,
            "lstrip_blocks": trim,
            "block_start_string": marks.block[0],
            "block_end_string": marks.block[1],
            "variable_start_string": marks.variable[0],
            "variable_end_string": marks.variable[1],
            "comment_start_string": marks.comment[0],
            "comment_end_string": marks.comment[1],
        }
        self._files: list[str] = []
        self._plain = _Bounded(**options)
        self._marked = _Bounded(extensions=[_Marks], **options)
        self._marked.promptlint_files = self._files  # type: ignore[attr-defined]

    def render(self, name: str, values: Mapping[str, Any]) -> tuple[Piece, ...]:
        """Render a template.

        Returns:
            The text in pieces with their lines, or in one piece of line 1 where the template treats
            marked text in another way than plain text.

        Raises:
            InputError: the template is broken, needs a variable that is not given, or makes too much text.
        """
        text = self._run(self._plain, name, values)
        try:
            pieces = self._cut(self._run(self._marked, name, values))
        except InputError:
            pieces = ()
        if "".join(piece.text for piece in pieces) != text:
            return (Piece(text, name, 1),)
        return pieces

    def _run(self, environment: _Bounded, name: str, values: Mapping[str, Any]) -> str:
        size, parts = 0, []
        environment.turns = 0
        try:
            for part in environment.get_template(name).generate(dict(values)):
                size += len(part)
                if size > MAX_CHARACTERS:
                    raise InputError(f"{name}: renders to over {MAX_CHARACTERS:,} characters", "")
                parts.append(part)
        except TemplateError as error:
            where = _where(error, name)
            step = (
                "give every variable in --context; the value of `name` answers `name()` too"
                if "undefined" in str(error)
                else "correct the template"
            )
            raise InputError(f"{where}: {error.message or type(error).__name__}", step) from None
        except _FAULTS as error:
            where = _where(error, name)
            raise InputError(
                f"{where}: {type(error).__name__} while rendering: {error}",
                "give the values in --context the types that the template expects",
            ) from None
        return "".join(parts)

    def _cut(self, marked: str) -> tuple[Piece, ...]:
        found = list(_MARK.finditer(marked))
        if not found:
            return (Piece(marked, "", 1),) if marked else ()
        pieces = [Piece(marked[: found[0].start()], "", 1)] if found[0].start() else []
        for mark, following in zip(found, [*found[1:], None], strict=True):
            text = marked[mark.end() : following.start() if following else len(marked)]
            if text:
                pieces.append(Piece(text, self._files[int(mark[2])], int(mark[3]), fixed=mark[1] == "d"))
        return tuple(pieces)


def _where(error: Exception, name: str) -> str:
    """Return the template and line of an error: Jinja puts the template's own lines into the traceback."""
    line = getattr(error, "lineno", None)
    if line:
        return f"{getattr(error, 'name', None) or name}:{line}"
    frames = [f for f in extract_tb(error.__traceback__) if not f.filename.endswith(".py")]
    return f"{frames[-1].filename}:{frames[-1].lineno}" if frames else name
