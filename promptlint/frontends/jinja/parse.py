"""Template text to Jinja's syntax tree, in which every ``lineno`` is a character offset."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TypeVar

from jinja2 import Environment, TemplateSyntaxError, nodes
from jinja2.lexer import Token
from jinja2.parser import Parser

from promptlint.frontends.base import Delimiters
from promptlint.frontends.jinja.lexer import JinjaError, OffsetStream, Tokens, environment, stream, tokenize

MAX_CACHED = 64_000  # characters of a template that is kept for the next one that includes it
_OWN_TAGS = frozenset(
    (
        *("for", "if", "block", "extends", "print", "macro", "include", "from", "import", "set"),
        *("with", "autoescape", "call", "filter", "raw"),
    )
)
_INNER_TAGS = ("elif", "else", "pluralize")
_Expr = TypeVar("_Expr", bound=nodes.Expr)
_SILENT_TAGS = frozenset(("debug", "load", "csrf_token"))
_LOOP_TAGS = {"break": nodes.Break, "continue": nodes.Continue}


@dataclass(frozen=True)
class Parsed:
    """A parsed template: its tree, its tags, and the range of each operand that was read."""

    text: str
    tree: nodes.Template
    tokens: Tokens
    spans: dict[int, tuple[int, int]]
    blocks: tuple[nodes.Block, ...] = ()
    extends: bool = False
    cells: tuple[tuple[int, str, str], ...] = ()  # each `ns.x` that is set: offset, ns, x
    loop_ends: Mapping[int, int] = field(default_factory=dict)

    def cells_in(self, loop: nodes.For) -> frozenset[tuple[str, str]]:
        """Return the namespace attributes that a loop's body sets."""
        first = bisect_left(self.cells, (loop.lineno,))
        last = bisect_left(self.cells, (self.loop_ends.get(loop.lineno, loop.lineno),))
        return frozenset((name, attribute) for _, name, attribute in self.cells[first:last])

    def span(self, node: nodes.Node) -> tuple[int, int]:
        """Return the range of an expression, from its first to its last operand."""
        known = self.spans.get(id(node))
        if known is not None:
            return known
        offset: int | None = node.lineno  # helper nodes, such as a comparison's operand, have none
        found = [self.span(child) for child in node.iter_child_nodes()]
        if offset is not None:
            found.append((offset, offset))
        return min((first for first, _ in found), default=0), max((last for _, last in found), default=0)

    def tag_span(self, offset: int) -> tuple[int, int]:
        """Return the range of the tag around an offset, or the offset itself outside any tag."""
        tag = self.tokens.tag_at(offset)
        return (tag.start, tag.end) if tag else (offset, offset)


class _Parser(Parser):
    """Jinja's parser over an `OffsetStream`, which also reads tags of extensions it does not know."""

    def __init__(self, env: Environment, tokens: Tokens) -> None:
        super().__init__(env, "")
        self.stream: OffsetStream = stream(env, tokens)
        self.block_names = tokens.block_names
        self.spans: dict[int, tuple[int, int]] = {}
        self.kept: list[nodes.Node] = []  # holds the nodes of `spans`, whose keys are identities
        self.blocks: list[nodes.Block] = []
        self.extends = False
        self.open: list[int] = []  # offsets of the tags whose end is still to come
        self.cells: list[tuple[int, str, str]] = []
        self.loop_ends: dict[int, int] = {}

    def parse_unary(self, with_filter: bool = True) -> nodes.Expr:
        """Parse an operand and note where it stands."""
        start = self.stream.current.lineno
        return self._noted(super().parse_unary(with_filter), start)

    def parse_primary(self, with_namespace: bool = False) -> nodes.Expr:
        """Parse a name, constant or bracketed expression and note where it stands."""
        start = self.stream.current.lineno
        return self._noted(super().parse_primary(with_namespace), start)

    def parse_subscript(self, node: nodes.Expr) -> nodes.Getattr | nodes.Getitem:
        """Parse ``.name`` or ``[…]`` behind an expression and note where the whole stands."""
        start = self.spans.get(id(node), (node.lineno, 0))[0]
        return self._noted(super().parse_subscript(node), start)

    def parse_call(self, node: nodes.Expr) -> nodes.Call:
        """Parse the arguments of a call and note where the whole stands."""
        start = self.spans.get(id(node), (node.lineno, 0))[0]
        return self._noted(super().parse_call(node), start)

    def _noted(self, node: _Expr, start: int) -> _Expr:
        self.spans[id(node)] = (start, self.stream.last_end)
        self.kept.append(node)
        return node

    def parse_block(self) -> nodes.Block:
        """Parse a block and remember it."""
        node = super().parse_block()
        self.blocks.append(node)
        return node

    def parse_extends(self) -> nodes.Extends:
        """Parse ``extends`` and remember that there is one."""
        self.extends = True
        return super().parse_extends()

    def parse_for(self) -> nodes.For:
        """Parse a loop and note where it ends."""
        node = super().parse_for()
        self.loop_ends[node.lineno] = self.stream.last_end
        return node

    def parse_set(self) -> nodes.Assign | nodes.AssignBlock:
        """Parse an assignment and note the namespace attributes that it sets."""
        node = super().parse_set()
        targets = node.target.items if isinstance(node.target, nodes.Tuple) else [node.target]
        self.cells += [(t.lineno, t.name, t.attr) for t in targets if isinstance(t, nodes.NSRef)]
        return node

    def parse_statement(self) -> nodes.Node | list[nodes.Node]:
        """Parse a tag; one of an unknown extension gives its body, or a call in its place."""
        token = self.stream.current
        self.open.append(token.lineno)
        node = self._statement(token)
        self.open.pop()
        return node

    def _statement(self, token: Token) -> nodes.Node | list[nodes.Node]:
        name = str(token.value)
        if token.type != "name" or name in _OWN_TAGS or name in _INNER_TAGS or name.startswith("end"):
            return super().parse_statement()
        next(self.stream)
        if name == "do":
            return nodes.ExprStmt(self.parse_tuple(), lineno=token.lineno)
        while self.stream.current.type not in ("block_end", "eof"):
            next(self.stream)
        end = f"end{name}"
        if end not in self.block_names:
            if name in _LOOP_TAGS:
                return _LOOP_TAGS[name](lineno=token.lineno)
            if name in _SILENT_TAGS:
                return []
            call = nodes.Call(nodes.Name(name, "load", lineno=token.lineno), [], [], None, None)
            return nodes.Output([call.set_lineno(token.lineno)], lineno=token.lineno)
        self._tag_stack.append(name)
        body = self.parse_statements((f"name:{end}", "name:pluralize"))
        plural: list[nodes.Node] = []
        if next(self.stream).value == "pluralize":
            self.stream.skip_if("name")
            plural = self.parse_statements((f"name:{end}",), drop_needle=True)
        self._tag_stack.pop()
        if not plural:
            return nodes.Scope(body, lineno=token.lineno)
        count = nodes.Name("count", "load", lineno=token.lineno)
        return nodes.If(count, plural, [], body, lineno=token.lineno)


def parse(text: str, dialect: str, delimiters: Delimiters) -> Parsed:
    """Parse a template whose newlines are ``\\n``. The result is shared: its tree must not be changed.

    Raises:
        JinjaError: with what is wrong and at which offset.
    """
    if len(text) > MAX_CACHED:
        return parse_anew(text, dialect, delimiters)
    return _parse_once(text, dialect, delimiters)


@lru_cache(maxsize=128)
def _parse_once(text: str, dialect: str, delimiters: Delimiters) -> Parsed:
    return parse_anew(text, dialect, delimiters)


def parse_anew(text: str, dialect: str, delimiters: Delimiters) -> Parsed:
    """Parse a template into a tree of the caller's own; as `parse` otherwise."""
    env = environment(dialect, delimiters)
    tokens = tokenize(env, text)
    parser = _Parser(env, tokens)
    try:
        tree = parser.parse()
    except TemplateSyntaxError as error:
        at = error.lineno
        if parser.stream.eos and parser.open:  # the tag that is never closed tells more than the end
            at = parser.open[-1]
        raise JinjaError(error.message or "syntax error", min(at, len(text))) from None
    except (RecursionError, AssertionError, ValueError, OverflowError) as error:
        here = min(parser.stream.current.lineno, len(text))
        reason = "nested too deeply" if isinstance(error, RecursionError) else f"cannot be parsed ({error})"
        raise JinjaError(reason, here) from None
    return Parsed(
        text,
        tree,
        tokens,
        parser.spans,
        tuple(parser.blocks),
        parser.extends,
        tuple(sorted(parser.cells)),
        parser.loop_ends,
    )
