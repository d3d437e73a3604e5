"""Keys of data files: which hold a prompt, which only speak about one, and what role a text has."""

from __future__ import annotations

from collections.abc import Iterator

from promptlint.frontends.documents import evidence
from promptlint.frontends.documents.nodes import DictNode, Entry, Node
from promptlint.frontends.mapped import MappedText

# Keys whose text is about a prompt, not part of one.
_ABOUT = frozenset(
    {
        "name", "title", "description", "desc", "summary", "id", "_id", "uid", "task", "type", "_type", "label",
        "version", "author", "authors", "format", "model", "models", "engine", "tags", "license", "output_parser",
        "mode", "stop", "category", "url", "link", "source", "path", "file", "comment", "note", "notes", "docs",
        "placeholder", "icon", "provider", "component_type", "schema", "example", "examples", "default",
        "reference", "created", "created_at", "updated_at", "sample", "command", "cmd", "run",
        "script", "args", "env",
    }
)  # fmt: skip
# What a model gave back, and what stands beside a prompt where it was recorded.
_ANSWERS = frozenset(
    {
        "output", "outputs", "response", "responses", "answer", "answers", "completion", "completions", "choices",
        "usage", "expected", "label", "target", "chosen", "rejected", "instances", "reward", "score",
    }
)  # fmt: skip
_ROLE_WORDS = {
    "system": "system",
    "instructions": "system",
    "instruction": "system",
    "persona": "system",
    "preamble": "system",
    "developer": "developer",
    "user": "user",
    "human": "user",
    "assistant": "assistant",
}
_SPOKEN_ALONE = frozenset({"system", "user", "human", "assistant"})
_FILLERS = frozenset({"prompt", "prompts", "message", "template", "text", "content", "base", "default"})
# Keys that hold prompts and everything else; their text has to give its reader a role.
_VAGUE = frozenset({"template", "content", "text", "value", "message", "body", "query", "input", "role"})


def is_spoken(key: str) -> bool:
    """Tell whether a key says that its text is a prompt: ``judge_prompt``, ``systemMessage``."""
    found = evidence.words(key)
    is_system = "system" in found and bool(found & {"message", "template", "text", "content"})
    return is_system or evidence.is_prompt_name(key)


def is_template(entry: Entry) -> bool:
    """Tell whether an entry beside a prompt is another template: ``first_turn_template`` with fields."""
    last = entry.name.lower().endswith("template")
    return last and isinstance(entry.value, MappedText) and evidence.has_fields(entry.value.text)


def is_vague(key: str, text: str) -> bool:
    """Tell whether a key may hold a prompt, and its text shows that it does."""
    if key.lower() == "system":
        return evidence.names_a_role(text) or evidence.has_fields(text)
    return key.lower() in _VAGUE and evidence.names_a_role(text) and evidence.has_fields(text)


def is_answer(key: str, value: Node) -> bool:
    """Tell whether a key holds what a model gave back; a text to be filled in is none."""
    is_filled = isinstance(value, MappedText) and evidence.has_fields(value.text)
    return key.lower() in _ANSWERS and not is_filled


def is_about(key: str, text: str) -> bool:
    """Tell whether a key only describes its prompt; a text of several lines with fields does not."""
    return key.lower() in _ABOUT and not ("\n" in text.strip() and evidence.has_fields(text))


def is_row(node: DictNode) -> bool:
    """Tell whether a mapping is a row of a data set or a recorded call: what was asked, with the answer."""
    names = {name.lower() for name in node.names()}
    return bool(names & _ANSWERS) and any(
        evidence.is_prompt_name(name) or name in ("messages", "input", "inputs", "question") for name in names
    )


def role_of_key(key: str) -> str:
    """Return the role that a key's words give its text, "" if they give none."""
    found = evidence.words(key)
    return next((role for word, role in _ROLE_WORDS.items() if word in found), "")


def is_interface(entry: Entry) -> bool:
    """Tell whether a collection under a prompt key describes an API, so that its texts are no prompts."""
    return isinstance(entry.value, DictNode) and is_schema(entry.value)


def is_schema(node: DictNode) -> bool:
    """Tell whether a mapping is a JSON schema."""
    return ("$schema" in node and "properties" in node) or (
        node.text("type") == "object" and isinstance(node.get("properties"), DictNode)
    )


def label_of(item: Node) -> str:
    """Return what a list item is called, "" if it has no name."""
    return item.text("name", "id", "task", "label", "title") if isinstance(item, DictNode) else ""


def stem_of(key: str) -> str:
    """Return a key without the words that only tell its role: ``judge`` of ``judge_system_prompt``."""
    return "_".join(
        word
        for word in key.lower().replace("-", "_").split("_")
        if word not in _FILLERS and word not in _ROLE_WORDS
    )


def conversations(node: DictNode) -> Iterator[list[Entry]]:
    """Yield the groups of sibling texts that make one conversation: a system text and a user text."""
    groups: dict[str, list[Entry]] = {}
    for entry in node.distinct():
        role = role_of_key(entry.name)
        spoken = evidence.words(entry.name) & (evidence.PROMPT_WORDS | {"message", "template"})
        if isinstance(entry.value, MappedText) and role and (spoken or entry.name.lower() in _SPOKEN_ALONE):
            groups.setdefault(stem_of(entry.name), []).append(entry)
    for group in groups.values():
        found = [role_of_key(entry.name) for entry in group]
        if "system" in found and "user" in found and len(found) == len(set(found)):
            order = {"system": 0, "developer": 0}
            yield sorted(group, key=lambda entry: order.get(role_of_key(entry.name), 1))
