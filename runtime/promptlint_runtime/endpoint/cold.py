"""Another first line for a prompt, so that a server without salts finds nothing of it in its cache."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from promptlint_runtime.prompts import Piece, Prompt

_IDS = 8  # tokens put before a prompt that is given as ids


def marked(prompt: Prompt, mark: str) -> Prompt:
    """Return a prompt that begins with a mark, in what the provider reads first: tools, system, messages."""
    if prompt.ids is not None:
        return replace(prompt, ids=(*random.Random(mark).choices(prompt.ids, k=_IDS), *prompt.ids))
    line = f"[{mark}]\n"
    body = None if prompt.body is None else _marked_body(prompt.body, line)
    return replace(prompt, pieces=(Piece(line, prompt.name, 1), *prompt.pieces), body=body)


def _marked_body(body: Mapping[str, Any], line: str) -> Mapping[str, Any]:
    tools, system, messages = body.get("tools"), body.get("system"), list(body["messages"])
    if tools and isinstance(tools[0], Mapping):
        first = dict(tools[0])
        if isinstance(first.get("function"), Mapping):
            first["function"] = _described(first["function"], line)
        else:
            first = _described(first, line)
        return {**body, "tools": [first, *tools[1:]]}
    if system:
        return {**body, "system": _lengthened(system, line)}
    message = dict(messages[0])
    message["content"] = _lengthened(message.get("content"), line)
    return {**body, "messages": [message, *messages[1:]]}


def _described(tool: Mapping[str, Any], line: str) -> dict[str, Any]:
    return {**tool, "description": line + str(tool.get("description") or "")}


def _lengthened(content: Any, line: str) -> Any:
    """Put a line before a text, or before the first text of several blocks."""
    if isinstance(content, list):
        return [{"type": "text", "text": line}, *content]
    return line + ("" if content is None else str(content))


def without_marks(value: Any) -> Any:
    """Return a request's body without any ``cache_control``."""
    if isinstance(value, Mapping):
        return {key: without_marks(inner) for key, inner in value.items() if key != "cache_control"}
    return [without_marks(inner) for inner in value] if isinstance(value, list) else value
