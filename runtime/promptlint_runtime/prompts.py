"""Prompts to replay: text in pieces that know where they come from."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from promptlint.errors import InputError
from promptlint.source import SourceFile


@dataclass(frozen=True, slots=True)
class Piece:
    """Text, and the 1-based line of the file that it was made from.

    ``fixed`` text is the file's own, as opposed to a value put into it. ``module`` is the declared module
    that it is part of: a name, and which of the prompt's modules it is, as two of one name may be neighbours.
    """

    text: str
    path: str
    line: int
    fixed: bool = False
    module: tuple[str, int] | None = None


@dataclass(frozen=True, slots=True)
class Prompt:
    """One request before tokenizing.

    ``name`` is the template or log as the report shows it, ``label`` what tells its requests apart.
    ``ids`` are given where the input holds token ids; the pieces then have no text. ``body`` is a
    request with ``messages`` as it came, for chat templates and for servers; the pieces hold the same
    as plain text.
    """

    name: str
    pieces: tuple[Piece, ...]
    label: str = ""
    ids: tuple[int, ...] | None = None
    salt: str = ""
    body: Mapping[str, Any] | None = None

    @property
    def text(self) -> str:
        """Return the whole prompt."""
        return "".join(piece.text for piece in self.pieces)


@dataclass(frozen=True, slots=True)
class Encoded:
    """Token ids of a prompt, and for each piece the tokens that end in it or before."""

    ids: tuple[int, ...]
    ends: tuple[int, ...] = field(default=())

    def piece_of(self, token: int) -> int | None:
        """Return the index of the piece in which a token ends; None where that is not known."""
        return next((i for i, end in enumerate(self.ends) if token < end), None)


def read_prompts(source: SourceFile) -> Iterator[Prompt]:
    """Read JSON lines with ``prompt`` (text or ids), ``tokens`` or ``messages``, and perhaps ``salt``.

    A prompt may come in parts too, texts and modules: ``["Hi", {"module": "rules", "text": "Be brief."}]``.

    Raises:
        InputError: a line that is none of these.
    """
    for number, line in enumerate(source.text.splitlines(), 1):
        if line.strip():
            yield _prompt(source.path, number, line)


def is_prompt_line(line: str) -> bool:
    """Tell whether a file's first line is one that `read_prompts` understands."""
    try:
        value = json.loads(line)
    except ValueError:
        return False
    return isinstance(value, dict) and any(key in value for key in ("prompt", "tokens", "messages"))


def _prompt(path: str, number: int, line: str) -> Prompt:
    where = f"{path}:{number}"
    try:
        value = json.loads(line)
    except ValueError as error:
        raise InputError(f"{where}: not JSON ({error})", "write one JSON object a line") from None
    if not isinstance(value, dict):
        raise InputError(f"{where}: not a JSON object", "write one JSON object a line")
    salt = str(value.get("salt") or value.get("cache_salt") or "")
    blank = Prompt(path, (Piece("", path, number),), f"line {number}", salt=salt)
    content = value.get("tokens", value.get("prompt"))
    if isinstance(content, list) and content and all(type(t) is int and t >= 0 for t in content):
        return replace(blank, ids=tuple(content))
    if isinstance(content, str) and content:
        return replace(blank, pieces=(Piece(content, path, number),))
    if isinstance(content, list) and content and all(map(_is_part, content)):
        pieces = (_part_piece(part, at, path, number) for at, part in enumerate(content))
        return replace(blank, pieces=tuple(piece for piece in pieces if piece.text))
    messages = value.get("messages")
    if isinstance(messages, list) and messages and all(isinstance(m, dict) for m in messages):
        plain = [(str(m.get("role", "user")), content_text(m.get("content"))) for m in messages]
        return replace(blank, pieces=message_pieces(plain, path, number), body=value)
    raise InputError(
        f"{where}: no prompt in it",
        "give `prompt` (text, or parts of it), `tokens` (ids) or `messages` in each line",
    )


def _is_part(part: Any) -> bool:
    if isinstance(part, dict):
        return isinstance(part.get("text"), str) and isinstance(part.get("module", ""), str)
    return isinstance(part, str)


def _part_piece(part: Any, at: int, path: str, line: int) -> Piece:
    if isinstance(part, str):
        return Piece(part, path, line)
    module = part.get("module", "")
    return Piece(part["text"], path, line, fixed=bool(module), module=(module, at) if module else None)


def message_pieces(messages: Iterable[tuple[str, str]], path: str, line: int) -> tuple[Piece, ...]:
    """Return messages (role and text) as plain text, for models without a chat template."""
    return tuple(Piece(f"<|{role}|>\n{text}\n", path, line) for role, text in messages)


def content_text(content: Any) -> str:
    """Return the text of a message's content, which may be a list of blocks."""
    if isinstance(content, list):
        return "".join(content_text(block) for block in content)
    if isinstance(content, dict):
        return str(content.get("text") or content.get("content") or "")
    return "" if content is None else str(content)


def read_contexts(source: SourceFile) -> list[Mapping[str, Any]]:
    """Read one JSON object of template variables a line.

    Raises:
        InputError: a line that is not an object, or no line at all.
    """
    found: list[Mapping[str, Any]] = []
    for number, line in enumerate(source.text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except ValueError as error:
            raise InputError(f"{source.path}:{number}: not JSON ({error})", _CONTEXT) from None
        if not isinstance(value, dict):
            raise InputError(f"{source.path}:{number}: not a JSON object", _CONTEXT)
        found.append(value)
    if not found:
        raise InputError(f"{source.path}: empty", _CONTEXT)
    return found


_CONTEXT = "write one JSON object with the template's variables a line"


def hashed_ids(hashes: Sequence[int], block_tokens: int, length: int | None) -> tuple[int, ...]:
    """Make up token ids for a log that has only hashes: equal blocks get equal tokens, others differ.

    Ids stay below 500, so that they fit any vocabulary; a block of a few tokens may then by chance
    equal another. Tokens behind the last whole block are the request's own.
    """
    ids: list[int] = []
    for number in hashes:
        ids += random.Random(f"block {number}").choices(range(500), k=block_tokens)
    if length is not None and length > len(ids):
        ids += random.Random(f"tail {hashes}").choices(range(500), k=length - len(ids))
    return tuple(ids[:length])


def by_changes(prompts: Sequence[Prompt]) -> list[Prompt]:
    """Reorder the lines of each template: those that change least often in these requests come first.

    Lines are the pieces of one source line; the order among equals stays. Prompts without text, or of
    only one request, stay as they are.
    """
    texts: dict[str, dict[tuple[str, int], set[str]]] = {}
    for prompt in prompts:
        lines = texts.setdefault(prompt.name, {})
        for key, text in _lines(prompt):
            lines.setdefault(key, set()).add(text)

    def moved(prompt: Prompt) -> Prompt:
        if prompt.ids is not None or prompt.body is not None:
            return prompt  # no lines to move
        counts = texts[prompt.name]
        whole: dict[tuple[str, int], list[Piece]] = {}
        for piece in prompt.pieces:
            whole.setdefault((piece.path, piece.line), []).append(piece)
        groups = sorted(whole.items(), key=lambda item: len(counts[item[0]]))
        return replace(prompt, pieces=tuple(piece for _, group in groups for piece in group))

    return [moved(prompt) for prompt in prompts]


def _lines(prompt: Prompt) -> Iterator[tuple[tuple[str, int], str]]:
    joined: dict[tuple[str, int], list[str]] = {}
    for piece in prompt.pieces:
        joined.setdefault((piece.path, piece.line), []).append(piece.text)
    for key, texts in joined.items():
        yield key, "".join(texts)
