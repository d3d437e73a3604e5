"""Whether a module has to do with a language model, told by what it imports, names and writes.

Toasts, mails, posts, losses and a browser's history are cut and emptied like conversations, and their lists have
the same names. What tells a conversation is something else in the same file: messages with a role and a content,
a class of messages, a library of a vendor, or a word like ``llm`` or ``prompt`` in a name. Texts for people say
nothing: "an error message for the assistant of the office".
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import lru_cache

from promptlint.frontends.python.readings.shapes import given_by_name, last_name
from promptlint.frontends.python.syntax.nodes import parameters, walk
from promptlint.frontends.python.values.modules import Module
from promptlint.frontends.python.values.naming import called_name

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_OF_MODELS = frozenset(
    (
        *("llm", "llms", "prompt", "prompts", "prompting", "assistant", "completion", "completions"),
        *("tokens", "tokenizer", "tokenize", "tiktoken", "chatbot", "langchain", "langgraph", "litellm"),
        *("openai", "gpt", "anthropic", "claude", "gemini", "genai", "ollama", "mistral", "mistralai"),
        *("cohere", "bedrock", "groq", "vllm", "transformers", "llama", "autogen", "crewai", "agno"),
    )
)
# One token may be what somebody logs in with; only some are counted.
_COUNTED = frozenset({"count", "counter", "limit", "budget", "max", "num", "usage", "window", "estimate"})
# Libraries whose names are no such words. Other things are called so too, but not imported.
_LIBRARIES = frozenset({"semantic_kernel", "pydantic_ai", "haystack", "smolagents", "dspy", "agents"})
# A library for lines that people type, which have a history too.
_TYPED_BY_PEOPLE = "prompt_toolkit"
_MESSAGE_CLASS = re.compile(
    r"(?:Human|AI|System|User|Assistant|Chat|Tool|Function|LLM|Model|Agent)Messages?(?![a-z])|ChatHistory(?![a-z])"
)
_SHOWN = frozenset(
    {"webui", "web_ui", "gui", "tui", "frontend"}
)  # folders of what shows conversations to people
_SAID = frozenset({"content", "parts", "text", "tool_calls", "tool_call_id"})
_COPIES = frozenset({"dict", "replace"})
_TURN = re.compile(r"(^|_)(msg|message|turn|m)$", re.IGNORECASE)
_SPEAKERS = frozenset(
    {"system", "developer", "user", "human", "assistant", "ai", "model", "tool", "function"}
)


@lru_cache(maxsize=16)
def speaks_to_a_model(module: Module) -> bool:
    """Tell whether anything in a module but the names of its lists says that it has to do with a language model."""
    if module.tree is None or not _SHOWN.isdisjoint(module.path.lower().split("/")[:-1]):
        return False
    asked: set[str] = set()  # what is read of things: ``m.role``, ``m["content"]``
    for node in walk(module.tree):
        if any(map(_is_of_models, _names(node))) or _is_message(node) or _imports_library(node):
            return True
        if _asks_who_spoke(node):
            return True
        asked |= _asked(node)
    return "role" in asked and not asked.isdisjoint(_SAID)


def _names(node: ast.AST) -> Iterator[str]:
    """Yield the names that a node gives, reads or imports."""
    if isinstance(node, ast.Name):
        yield node.id
    elif isinstance(node, ast.Attribute):
        yield node.attr
    elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node.name
        if not isinstance(node, ast.ClassDef):
            yield from (a.arg for a in parameters(node))
    elif isinstance(node, ast.Call):
        yield from (keyword.arg for keyword in node.keywords if keyword.arg is not None)
    elif isinstance(node, ast.Import | ast.ImportFrom):
        if isinstance(node, ast.ImportFrom):
            yield from (node.module or "").split(".")
        for alias in node.names:
            yield from alias.name.split(".")


def _imports_library(node: ast.AST) -> bool:
    if isinstance(node, ast.ImportFrom):
        return (node.module or "").partition(".")[0] in _LIBRARIES
    return isinstance(node, ast.Import) and any(a.name.partition(".")[0] in _LIBRARIES for a in node.names)


@lru_cache(maxsize=8192)
def _is_of_models(name: str) -> bool:
    if name == _TYPED_BY_PEOPLE:
        return False
    words = {word.lower() for word in _WORD.findall(name)}
    return (
        not words.isdisjoint(_OF_MODELS)
        or ("token" in words and not words.isdisjoint(_COUNTED))
        or _MESSAGE_CLASS.search(name) is not None
    )


def _is_message(node: ast.AST) -> bool:
    """Tell whether an expression makes a message: ``{"role": r, "content": c}``, ``Message(role=r, content=c)``.

    A role that is written out is one of those who speak with a model: a toast may have the role ``alert``.
    """
    given = given_by_name(node)
    if "role" not in given or given.keys().isdisjoint(_SAID):
        return False
    role = given["role"]
    return not isinstance(role, ast.Constant) or role.value in _SPEAKERS


def _asks_who_spoke(node: ast.AST) -> bool:
    """Tell whether a comparison asks for the role of a turn: ``msg.role == "user"``. Users have roles too."""
    return (
        isinstance(node, ast.Compare)
        and isinstance(node.left, ast.Attribute)
        and node.left.attr == "role"
        and _TURN.search(last_name(node.left.value) or "") is not None
        and getattr(node.comparators[0], "value", None) in _SPEAKERS
    )


def _asked(node: ast.AST) -> set[str]:
    """Return what a node reads of something by a name, or sets in a copy of it.

    ``m.role``, ``m["role"]``, ``m.get("role")``; ``{**m, "content": c}``, ``replace(m, content=c)``.
    """
    if isinstance(node, ast.Attribute):
        return {node.attr}
    keys: list[ast.expr | None] = []
    if isinstance(node, ast.Subscript):
        keys = [node.slice]
    elif isinstance(node, ast.Dict) and None in node.keys:
        keys = node.keys
    elif isinstance(node, ast.Call) and called_name(node) in _COPIES:
        return {keyword.arg for keyword in node.keywords if keyword.arg is not None}
    elif isinstance(node, ast.Call) and called_name(node) == "get":
        keys = [*node.args[:1]]
    return {key.value for key in keys if isinstance(key, ast.Constant) and isinstance(key.value, str)}
