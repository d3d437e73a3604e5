"""Jinja files and Jinja inside other files to layouts and fragments."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import islice
from posixpath import basename

from promptlint.frontends import fields
from promptlint.frontends.base import Context, Delimiters
from promptlint.frontends.jinja.fragment import Fragment, build
from promptlint.frontends.jinja.lexer import DIALECTS, JinjaError, TooManyTagsError
from promptlint.frontends.jinja.linking import template
from promptlint.frontends.jinja.loose import loose_pieces
from promptlint.frontends.jinja.parse import parse
from promptlint.frontends.jinja.roles import assign_roles
from promptlint.frontends.jinja.values import Piece, Source
from promptlint.frontends.jinja.walk import TooLargeError, Walker
from promptlint.frontends.mapped import MappedText
from promptlint.layout import Confidence, Layout, LayoutKind, Observation, Section, Segment
from promptlint.source import SourceFile

_FRONT_MATTER = re.compile(r"---[ \t]*\n(?:(?!---[ \t]*$).*\n)*?---[ \t]*(?:\n|\Z)", re.MULTILINE)
_KEY = re.compile(r"\s*(?:#.*\n\s*)*[A-Za-z_][\w.-]*[ \t]*:")
_TAG = re.compile(
    r"\{%[-+]?\s*(?:if|for|set|include|extends|block|macro|import|from|raw|with|filter|call)\b[^{}]*?%\}"
    r"|(?<!\$)\{\{[-+]?\s*(?:[A-Za-z_][\w.]*(?:\[[^\]{}\n]*\])*|'[^'{}\n]*'|\"[^\"{}\n]*\")"
    r"\s*(?:[-+]?\}\}|\||\(|~|\+|if\b|or\b)"
)
_OTHER_LANGUAGE = re.compile(
    r"\{\{[#/^>&!]|\{\{\{|\{\{\s*else\s*\}\}|\{\{-?\s*(?:range|end|with|template)\s|\{\{-?\s*\."
)
# As words of a path: `prompts/a.j2`, `SystemPrompt.j2`, but not a package that begins with one.
_PROMPT_PATH = re.compile(
    r"(?<![a-z])(?i:prompts?|prompting|instructions?|personas?|agents?|system_?messages?|chat|llms?)(?![a-z])"
    r"|[a-z](?:Prompt|Instruction|Persona|Agent)s?(?![a-z])"
)
_CODE_PATH = re.compile(
    r"\.(?:html?|xml|svg|css|scss|js|jsx|ts|tsx|py|pyi|sh|bash|conf|cfg|ini|toml|ya?ml|sql|tf|rs|go|java|c|h|cpp|"
    r"service|rst|tex|opf|ncx|xhtml|bat|cmd|ps1|csv|lock|env|properties|rb|php|spec)\.(?:j2|jinja2?)$|dockerfile|makefile|nginx|docker-compose",
    re.IGNORECASE,
)
_PAGE_TEXT = re.compile(r"\s*(?:<!DOCTYPE|<html|<\?xml)", re.IGNORECASE)
# Elements as pages and mails have them, inside of a layout that begins elsewhere: ``<div class="card">``.
_ELEMENT = re.compile(
    r"<(?:div|span|p|a|h[1-6]|ul|li|table|t[dr]|form|input|button|label|select|img|svg|path|link|script|i)\s[^<>]*?"
    r"\b(?:class|id|style|href|src|type|name|onclick|d)=",
)
_ELEMENTS = 3  # of them that make a page of a template
_CODE_TEXT = re.compile(
    r"\s*(?:<!DOCTYPE|<html|<\?xml|#!|FROM \S+$|apiVersion:|\[tool\.|import |\{%-? extends )", re.MULTILINE
)


def looks_like(text: str) -> bool:
    """Tell cheaply whether a text holds Jinja tags rather than another language's braces."""
    if "{{" not in text and "{%" not in text:
        return False
    return _TAG.search(text) is not None and _OTHER_LANGUAGE.search(text) is None


def is_page(source: SourceFile) -> bool:
    """Tell whether a template makes a page, a program or a configuration file, and is not called after prompts."""
    if _PROMPT_PATH.search(source.path):
        return False
    if _CODE_PATH.search(source.path) is not None or _PAGE_TEXT.match(source.text) is not None:
        return True
    return sum(1 for _ in islice(_ELEMENT.finditer(source.text), _ELEMENTS)) == _ELEMENTS


def segments(text: MappedText, context: Context, *, dialect: str = "jinja") -> Fragment:
    """Read a template that is part of a file: a YAML or JSON value, a string, a Markdown body.

    ``dialect`` is ``jinja``, ``trimmed`` (``trim_blocks`` and ``lstrip_blocks`` set) or ``chat``.
    Never raises for a bad template: the fragment is incomplete and has a ``parse-error``.
    """
    if dialect not in DIALECTS:
        raise ValueError(f"no Jinja dialect {dialect!r}")
    text = _one_newline(text)
    source = Source(text.path, text.place)
    context = _with_dollars(text.text, context)
    try:
        parsed = parse(text.text, dialect, context.delimiters)
    except JinjaError as error:
        pieces = loose_pieces(text.text, source, context.delimiters)
        if isinstance(error, TooManyTagsError):
            return build(pieces, (f"too large to read: {error}",))
        observation = Observation("parse-error", text.place(error.offset, error.offset), detail=str(error))
        return build(pieces, (f"not valid Jinja: {error}",), (observation,))
    walker = Walker(parsed, source, context, dialect, files=(text.path,))
    out: list[Piece] = walker.out
    try:
        template(walker)
    except (TooLargeError, RecursionError) as error:
        reason = str(error) if isinstance(error, TooLargeError) else "the template is nested too deeply"
        walker.gaps[reason] = None
    return build(out, tuple(walker.gaps), walker.observations)


def _with_dollars(text: str, context: Context) -> Context:
    """Return a context in which ``${name}`` is a variable, if a template writes them so beside its ``{% if … %}``."""
    if "{{" in text or "${" not in text or context.delimiters != Delimiters() or not fields.has_dollars(text):
        return context
    return replace(context, delimiters=replace(context.delimiters, variable=("${", "}")))


def read(source: SourceFile, context: Context) -> list[Layout]:
    """Read one template file.

    The option ``jinja.dialect`` of the context chooses the dialect. Front matter is no part of the text.
    """
    start = front_matter_end(source.text)
    text = MappedText.of(source, start)
    if not text.text.strip():
        return []
    fragment = segments(text, context, dialect=context.options.get("jinja.dialect", "jinja"))
    parts = assign_roles(fragment.segments)
    if parts == fragment.segments and re.search(r"(?:^|[_.-])system(?:[_.-]|$)", basename(source.path)):
        parts = tuple(replace(part, role="system", section=Section.SYSTEM) for part in parts)
    return [
        Layout(
            name=source.path,
            place=text.place(0, len(text.text)),
            segments=parts,
            kind=LayoutKind.TEMPLATE,
            complete=fragment.complete,
            gaps=fragment.gaps,
            confidence=_confidence(source, parts),
            observations=fragment.observations,
        )
    ]


def front_matter_end(text: str) -> int:
    """Return the offset behind a YAML front matter, 0 where there is none."""
    match = _FRONT_MATTER.match(text)
    if match is None:
        return 0
    inner = text[text.index("\n") + 1 : match.end()]
    return match.end() if _KEY.match(inner) or inner.startswith("---") else 0


def _confidence(source: SourceFile, parts: tuple[Segment, ...]) -> Confidence:
    """Judge by path and text how sure it is that a template makes a prompt."""
    if _CODE_PATH.search(source.path) or _CODE_TEXT.match(source.text):
        return Confidence.LOW
    if _PROMPT_PATH.search(source.path) or any(part.role for part in parts):
        return Confidence.HIGH
    return Confidence.MEDIUM


def _one_newline(text: MappedText) -> MappedText:
    """Return the text with ``\\n`` only, as Jinja reads it; a decoded string can hold carriage returns."""
    if "\r" not in text.text:
        return text
    runs: list[tuple[int, int]] = []
    parts: list[str] = []
    length = at = 0
    for line in re.split(r"(?<=\r)(?!\n)|(?<=\n)", text.text):
        if not line:
            continue
        body = re.sub(r"\r\n?\Z", "\n", line)
        piece = text.slice(at, at + len(line))
        runs += [(length + offset, to) for offset, to in piece.runs if offset < len(body)]
        parts.append(body)
        length += len(body)
        at += len(line)
    return MappedText(text.path, "".join(parts), tuple(runs), text.end)
