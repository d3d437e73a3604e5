"""Which files hold a chat template, and where in them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from posixpath import basename

from promptlint.frontends.mapped import MappedText
from promptlint.source import SourceFile

_CONFIG_NAMES = ("tokenizer_config.json", "chat_template.json", "processor_config.json")
_TEMPLATE_NAME = re.compile(r"(?:^|[._-])chat_template(?:[._-].*)?\.(?:jinja2?|j2)$")
_TEMPLATE_SUFFIX = (".jinja", ".jinja2", ".j2")
_LOOP = re.compile(r"\{%[-+]?\s*for\s+[^%]*?\bin\s+[^%]*\b(?:\w*messages|conversation|turns)\b")
_OWN_NAMES = re.compile(r"\b(?:add_generation_prompt|bos_token|eos_token)\b")
_JSON = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]]', re.DOTALL)
_ESCAPE = re.compile(
    r"\\(?:u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|(.))", re.DOTALL
)
_PLAIN = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}


@dataclass(frozen=True, slots=True)
class Found:
    """One chat template in a file; ``name`` is its name in a list of several."""

    text: MappedText
    name: str = ""


def applies(source: SourceFile) -> bool:
    """Tell cheaply whether a file holds a chat template."""
    name = basename(source.path)
    if name in _CONFIG_NAMES:
        return '"chat_template"' in source.text
    if not name.endswith(_TEMPLATE_SUFFIX):
        return False
    if _TEMPLATE_NAME.search(name):
        return True
    return _OWN_NAMES.search(source.text) is not None and _LOOP.search(source.text) is not None


def templates(source: SourceFile) -> Iterator[Found]:
    """Yield the chat templates of a file, each mapped to its place."""
    if not source.path.endswith(".json"):
        yield Found(MappedText.of(source))
        return
    depth = 0
    path: list[str] = []  # the key that led to each open bracket
    key = name = ""
    for match in _JSON.finditer(source.text):
        token = match.group()
        if token in "{[":
            depth += 1
            path.append(key)
            key = ""
        elif token in "}]":
            depth -= 1
            if path:
                path.pop()
            key = ""
        elif source.text[match.end() : match.end() + 16].lstrip().startswith(":"):
            key = _decoded(source, match.start(), match.end()).text
        elif key:
            inside = path[1:2] == ["chat_template"]
            if key == "name" and inside:
                name = _decoded(source, match.start(), match.end()).text
            elif (key == "chat_template" and depth == 1) or (key == "template" and inside):
                yield Found(_decoded(source, match.start(), match.end()), name)
            elif depth == 2 and inside:  # {"chat_template": {"default": "…"}}
                yield Found(_decoded(source, match.start(), match.end()), key)
            key = ""


def _decoded(source: SourceFile, start: int, end: int) -> MappedText:
    """Return the text of the JSON string between two offsets, quotes included."""
    parts: list[str] = []
    runs: list[tuple[int, int]] = [(0, start + 1)]
    at, length = start + 1, 0
    for match in _ESCAPE.finditer(source.text, start + 1, end - 1):
        literal = source.text[at : match.start()]
        high, low, code, plain = match.groups()
        if high:  # a character beyond the basic plane, written as two halves
            char = chr(0x10000 + ((int(high, 16) & 0x3FF) << 10) + (int(low, 16) & 0x3FF))
        else:
            char = chr(int(code, 16)) if code else _PLAIN.get(plain, plain)
        parts += [literal, char]
        length += len(literal)
        runs += [(length, match.start()), (length + 1, match.end())]
        length += 1
        at = match.end()
    parts.append(source.text[at : end - 1])
    return MappedText(source.path, "".join(parts), tuple(runs), end - 1)
