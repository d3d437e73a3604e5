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
from jinja2.lexer import Lexer, Token, TokenStream

from promptlint.errors import InputError
from promptlint.frontends.base import Delimiters
from promptlint_runtime.prompts import Piece
from promptlint_runtime.sandbox import MAX_CHARACTERS, MAX_MEMORY, Bounded, memory_limit

_FAULTS = (TypeError, ValueError, ArithmeticError, LookupError, AttributeError, RecursionError)
_BOUND = "render what the template should make with shorter values, and replay the result as JSON lines"
_MARK = re.compile("\ue000(?:([de])(\\d+):(\\d+)|m([^\ue001]*))\ue001")
_DECLARED = re.compile(r"\s*promptlint:\s*(?:module\s+([\w.-]+)|end\s+module)\s*")


_NESTED = {True: "a module begins within another", False: "a module ends that has not begun"}
_MODULES = "put {# promptlint: module NAME #} before its text and {# promptlint: end module #} behind it"


class _Marks(Extension):
    """Puts a mark with file number and line before data and expressions."""

    def filter_stream(self, stream: TokenStream) -> Iterator[Token]:
        files: list[str] = self.environment.promptlint_files  # type: ignore[attr-defined]
        name = stream.name or ""
        if name not in files:
            files.append(name)
        number = files.index(name)
        for token in stream:
            if token.type == "data" and token.value.startswith("\ue000m"):
                yield token
                continue
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


class _DeclaringLexer(Lexer):
    """Puts a mark in the place of a comment that begins or ends a module, after its white space is settled."""

    def tokeniter(
        self, source: str, name: str | None, filename: str | None = None, state: str | None = None
    ) -> Iterator[tuple[int, str, str]]:
        declared = None
        for line, kind, value in super().tokeniter(source, name, filename, state):
            yield line, kind, value
            if kind == "comment":
                declared = _DECLARED.fullmatch(value)
            elif kind == "comment_end" and declared:
                yield line, "data", f"\ue000m{declared[1] or ''}\ue001"


class _Marked(Bounded):
    """The sandbox in which texts are marked."""

    @property
    def lexer(self) -> Lexer:
        return _DeclaringLexer(self)


class _Loader(BaseLoader):
    def __init__(self, load: Callable[[str], str | None]) -> None:
        self._load = load

    def get_source(self, environment: Environment, template: str) -> tuple[str, str, Callable[[], bool]]:
        text = self._load(template)
        if text is None:
            raise TemplateNotFound(template)
        return text, template, lambda: True


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
        self._plain = Bounded(**options)
        self._marked = _Marked(extensions=[_Marks], **options)
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
            marked = self._run(self._marked, name, values)
        except InputError:
            marked = ""
        pieces = self._cut(marked, name)
        if "".join(piece.text for piece in pieces) != text:
            return (Piece(text, name, 1),)
        return pieces

    def _run(self, environment: Bounded, name: str, values: Mapping[str, Any]) -> str:
        size, parts = 0, []
        environment.turns = 0
        try:
            with memory_limit():
                for part in environment.get_template(name).generate(dict(values)):
                    size += len(part)
                    if size > MAX_CHARACTERS:
                        raise InputError(f"{name}: renders to over {MAX_CHARACTERS:,} characters", _BOUND)
                    parts.append(part)
        except TemplateError as error:
            where = _where(error, name)
            step = (
                "give every variable in --context; the value of `name` answers `name()` too"
                if "undefined" in str(error)
                else "correct the template"
            )
            raise InputError(f"{where}: {error.message or type(error).__name__}", step) from None
        except MemoryError as error:
            parts.clear()
            raise InputError(
                f"{_where(error, name)}: needs over {MAX_MEMORY >> 20} MiB while rendering", _BOUND
            ) from None
        except _FAULTS as error:
            where = _where(error, name)
            raise InputError(
                f"{where}: {type(error).__name__} while rendering: {error}",
                "give the values in --context the types that the template expects",
            ) from None
        return "".join(parts)

    def _cut(self, marked: str, name: str) -> tuple[Piece, ...]:
        found = list(_MARK.finditer(marked))
        if not found:
            return (Piece(marked, "", 1),) if marked else ()
        pieces = [Piece(marked[: found[0].start()], "", 1)] if found[0].start() else []
        module: tuple[str, int] | None = None
        for number, (mark, following) in enumerate(zip(found, [*found[1:], None], strict=True)):
            if mark[1] is None:
                if bool(mark[4]) == (module is not None):
                    raise InputError(f"{name}: {_NESTED[bool(mark[4])]}", _MODULES)
                module = (mark[4], number) if mark[4] else None
            text = marked[mark.end() : following.start() if following else len(marked)]
            if text and mark[1] is not None:
                fixed = mark[1] == "d"
                pieces.append(Piece(text, self._files[int(mark[2])], int(mark[3]), fixed, module))
        if module is not None:
            raise InputError(f"{name}: module {module[0]} does not end", _MODULES)
        return tuple(pieces)


def _where(error: Exception, name: str) -> str:
    """Return the template and line of an error: Jinja puts the template's own lines into the traceback."""
    line = getattr(error, "lineno", None)
    if line:
        return f"{getattr(error, 'name', None) or name}:{line}"
    frames = [f for f in extract_tb(error.__traceback__) if not f.filename.endswith(".py")]
    return f"{frames[-1].filename}:{frames[-1].lineno}" if frames else name
