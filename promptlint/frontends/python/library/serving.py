"""Who serves a request that goes through a library's own class: ``ChatAnthropic(model="claude-sonnet-4-5").invoke(…)``."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from promptlint.frontends.python.evaluate import access
from promptlint.frontends.python.values.values import Unknown, Value

if TYPE_CHECKING:
    from promptlint.frontends.python.evaluate.machine import Frame, Machine

_LIBRARIES = re.compile(r"(?:langchain|llama_index|haystack)\w*\.")
# The classes are called after who serves: ChatOpenAI, OpenAIChatGenerator, llms.openai.OpenAI.
_SERVERS = {
    "azure": re.compile(r"\bAzure(?:Chat)?OpenAI"),
    "openai": re.compile(r"\b(?:Chat)?OpenAI(?!Like|Embed)"),
    "anthropic": re.compile(r"\b(?:Chat)?Anthropic"),
    "google": re.compile(
        r"\b(?:ChatGoogleGenerativeAI|ChatVertexAI|GoogleGenAI|GoogleAIGemini|Gemini|Vertex\b)"
    ),
    "bedrock": re.compile(r"\b(?:Chat|Amazon)?Bedrock"),
    "mistral": re.compile(r"\b(?:Chat)?Mistral(?:AI)?"),
    "deepseek": re.compile(r"\b(?:Chat)?DeepSeek"),
    "groq": re.compile(r"\b(?:Chat)?Groq"),
    "ollama": re.compile(r"\b(?:Chat)?Ollama"),
}
_MODEL = ("model", "model_name", "model_id", "azure_deployment", "0")
_ELSEWHERE = ("base_url", "openai_api_base", "api_base")


def server(m: Machine, callee: Value, node: ast.Call, frame: Frame) -> tuple[str, str]:
    """Return provider and model of a call by the object that it is a method of; empty where it does not tell."""
    path = callee.path if isinstance(callee, Unknown) else ""
    if not _LIBRARIES.match(path) or not isinstance(node.func, ast.Attribute):
        return "", ""
    owner = m.evaluate(node.func.value, frame)
    given = (owner.given or {}) if isinstance(owner, Unknown) else {}
    if any(name in given for name in _ELSEWHERE):
        return "", ""
    written = next((access.plain(given[name]) for name in _MODEL if name in given), None)
    model = written if isinstance(written, str) else ""
    provider = next((name for name, classes in _SERVERS.items() if classes.search(path)), "")
    said = access.plain(given["model_provider"]) if "model_provider" in given else ""
    prefix, colon, plain = model.partition(":")
    if not provider and colon:
        return prefix, plain
    return provider or (said if isinstance(said, str) else ""), model
