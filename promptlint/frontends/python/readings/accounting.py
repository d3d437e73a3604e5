"""Arithmetic on token usage that counts cached tokens twice, or leaves them out.

OpenAI, Gemini and LiteLLM report input tokens with the cached ones inside; Anthropic and Bedrock report them
apart. So ``prompt_tokens + cached_tokens`` counts twice, and ``cache_read / input_tokens`` or
``input_tokens - cache_read`` takes a part for the whole.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from promptlint.frontends.python.syntax.nodes import definitions, within
from promptlint.frontends.python.values.modules import Module
from promptlint.layout import Confidence, Layout, LayoutKind, Observation

# Inclusive surfaces: the input count, and the cached tokens inside it.
_WITH = frozenset(("prompt_tokens", "input_tokens", "prompt_token_count", "promptTokenCount"))
_INSIDE = frozenset(
    ("cached_tokens", "cached_content_token_count", "cachedContentTokenCount", "prompt_cache_hit_tokens")
)
# Exclusive surfaces: the input count, and the cached tokens beside it.
_PLAIN = frozenset(("input_tokens", "inputTokens"))
_BESIDE = frozenset(("cache_read_input_tokens", "cacheReadInputTokens"))
_WRITTEN = frozenset(("cache_creation_input_tokens", "cacheWriteInputTokens"))
_WORDS = _INSIDE | _BESIDE


def accounting(module: Module) -> list[Layout]:
    """Return a layout without text that carries what is miscounted in a module; none where all is well."""
    if module.tree is None or not any(word in module.source.text for word in _WORDS):
        return []
    seen = [
        Observation("usage-miscounted", module.place(node), why, confidence=Confidence.MEDIUM)
        for scope in _scopes(module.tree)
        for node, why in _faults(scope)
    ]
    if not seen:
        return []
    place = seen[0].place
    return [Layout(f"token counts in {module.path}", place, (), LayoutKind.PROMPT, observations=tuple(seen))]


def _scopes(tree: ast.Module) -> Iterator[list[ast.stmt]]:
    """Yield the body of the module and of each function, inner functions apart."""
    yield tree.body
    for node in definitions(tree):
        if not isinstance(node, ast.ClassDef):
            yield node.body


def _faults(body: list[ast.stmt]) -> Iterator[tuple[ast.AST, str]]:
    names: dict[str, str] = {}
    inner: set[ast.AST] = set()
    for node in within(body):
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            names[node.targets[0].id] = _count(node.value, names)
        if not isinstance(node, ast.BinOp) or node in inner:
            continue
        if isinstance(node.op, ast.Add):
            terms = list(_terms(node, inner))
            counts = [_count(term, names) for term in terms]
            if (whole := _WITH.intersection(counts)) and (part := _INSIDE.intersection(counts)):
                yield node, f"`{min(part)}` is already inside `{min(whole)}`"
        elif isinstance(node.op, ast.Div | ast.Sub):
            left, right = _count(node.left, names), _count(node.right, names)
            if isinstance(node.op, ast.Div) and left in _BESIDE and right in _PLAIN:
                yield node, f"`{right}` leaves out what was read from the cache and written to it"
            elif isinstance(node.op, ast.Sub) and left in _PLAIN and right in _BESIDE | _WRITTEN:
                yield node, f"`{right}` is not inside `{left}`"


def _terms(node: ast.expr, inner: set[ast.AST]) -> Iterator[ast.expr]:
    """Yield the terms of a sum, and note its partial sums."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        inner.add(node)
        yield from _terms(node.left, inner)
        yield from _terms(node.right, inner)
    else:
        yield node


def _count(node: ast.expr, names: Mapping[str, str]) -> str:
    """Return the usage field that an expression reads, "" for anything else.

    Attributes, keys, ``.get(key, 0)``, ``getattr(x, name, 0)``, ``… or 0`` and local names are followed.
    """
    if isinstance(node, ast.Name):
        return names.get(node.id, "")
    if isinstance(node, ast.Attribute):
        return _of(node.attr, node.value)
    if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or):
        return _count(node.values[0], names)
    if isinstance(node, ast.IfExp):
        return _count(node.body, names)
    if isinstance(node, ast.Subscript):
        return _of(_text(node.slice), node.value)
    if isinstance(node, ast.Call) and node.args:
        called = node.func
        if isinstance(called, ast.Attribute) and called.attr == "get":
            return _of(_text(node.args[0]), called.value)
        if isinstance(called, ast.Name) and called.id == "getattr" and len(node.args) > 1:
            return _of(_text(node.args[1]), node.args[0])
        if isinstance(called, ast.Name) and called.id in ("int", "float", "max"):
            return _count(node.args[0], names)
    return ""


def _of(name: str, owner: ast.expr) -> str:
    """Return a field's name; a bare ``cached_tokens`` of a program's own is not the API's."""
    if name != "cached_tokens":
        return name
    last = _last(owner)
    return name if last.endswith("_details") or last == "details" else ""


def _last(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Subscript):
        return _text(node.slice)
    if isinstance(node, ast.BoolOp):
        return _last(node.values[0])
    if isinstance(node, ast.Call) and node.args:
        called = node.func
        if isinstance(called, ast.Attribute) and called.attr == "get":
            return _text(node.args[0])
        if isinstance(called, ast.Name) and called.id == "getattr" and len(node.args) > 1:
            return _text(node.args[1])
    return ""


def _text(node: ast.expr) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
