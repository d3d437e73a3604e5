"""Requests that are posted as they are: ``httpx.post(url, json={"model": …, "messages": […]})``."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from promptlint.frontends.python.values.arguments import Arguments
from promptlint.frontends.python.values.forms import has_turns
from promptlint.frontends.python.values.naming import called_name
from promptlint.frontends.python.values.pieces import Lit
from promptlint.frontends.python.values.values import DictV, Item, ListV, Str

if TYPE_CHECKING:
    from promptlint.catalog.model import Sink
    from promptlint.frontends.python.evaluate.machine import Frame, Machine

_POSTS = frozenset(("post", "request", "stream", "fetch", "urlopen", "Request", "apost"))
_CARRIES = ("json", "data", "content", "body")
# What only a body for a model has beside its text.
_SETTINGS = frozenset(
    (
        "max_tokens",
        "max_new_tokens",
        "n_predict",
        "temperature",
        "top_p",
        "top_k",
        "stop",
        "stream",
        "keep_alive",
    )
)
# Services that take texts and give no answer to them.
_OTHER = re.compile(
    r"embed|audio|speech|transcri|translat|image|moderat|rerank|classif|count|token", re.IGNORECASE
)
# Where engines and providers take requests.
_ENDPOINT = re.compile(r"/(?:chat/completions|completions|v1/messages|responses|api/chat|generate)$")


def posted(m: Machine, given: Arguments, node: ast.Call, frame: Frame) -> tuple[Sink, Arguments] | None:
    """Return the sink whose form the body of an HTTP call has, with the body's entries as its arguments."""
    if called_name(node) not in _POSTS:
        return None
    address = _address(given)
    to = "".join(part.text for part in address.parts if isinstance(part, Lit)) if address is not None else ""
    body = _body(m, given, frame)
    if body is None:  # what somebody else sent is handed on
        form, body = ("chat" if _ENDPOINT.search(to) and _carried(given) else ""), DictV()
    else:
        form = _form(body, to)
    sink = m.sink(f"http.body.{form}") if form else None
    if sink is None:
        return None
    entries = Arguments()
    if address is not None:
        entries.keywords["base_url"] = address
    for name, item in body.entries.items():
        if isinstance(name, str):
            entries.keywords[name] = item.value
    return sink, entries


def _carried(given: Arguments) -> bool:
    return any(name in given.keywords for name in _CARRIES)


def _body(m: Machine, given: Arguments, frame: Frame) -> DictV | None:
    for name in _CARRIES:
        value = given.get(name)
        if isinstance(value, DictV):
            return value
        dumped = _dumped(given.nodes.get(name))
        if dumped is not None and isinstance(whole := m.evaluate(dumped, frame), DictV):
            return whole
    return next((value for value in given.args[1:] if isinstance(value, DictV)), None)


def _dumped(node: ast.expr | None) -> ast.Name | None:
    """Return ``body`` of ``json.dumps(body).encode()``: the text says less than the mapping does."""
    if isinstance(node, ast.Call) and called_name(node) == "encode" and isinstance(node.func, ast.Attribute):
        node = node.func.value
    if not (isinstance(node, ast.Call) and called_name(node) == "dumps" and node.args):
        return None
    return node.args[0] if isinstance(node.args[0], ast.Name) else None


def _form(body: DictV, address: str) -> str:
    names = body.entries.keys()
    tuned = bool(names & _SETTINGS)
    if _OTHER.search(address) or "output" in names:
        return ""
    if "messages" in names and ("model" in names or tuned or has_turns(body.get("messages"))):
        return "anthropic" if "system" in names or "anthropic" in address else "chat"
    contents = body.get("contents")
    if isinstance(contents, ListV) and any(map(_has_parts, contents.items)):
        return "gemini"
    asked = body.get("input")
    if "model" in names and ("instructions" in names or has_turns(asked) or "/responses" in address):
        return "responses"
    parameters = body.get("parameters")
    inner = parameters.entries.keys() & _SETTINGS if isinstance(parameters, DictV) else frozenset()
    return "completion" if ("prompt" in names and tuned) or ("inputs" in names and inner) else ""


def _has_parts(item: Item) -> bool:
    return isinstance(item.value, DictV) and "parts" in item.value.entries


def _address(given: Arguments) -> Str | None:
    return next((one for key in ("url", 0, 1) if isinstance(one := given.get(key), Str)), None)
