"""What speaks for a file, key or text being a prompt, and what against. Names first: they cost nothing.

Most Markdown, YAML and JSON in a repository has nothing to do with models; taking a README or a
workflow for a prompt would make every report noise.
"""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import PurePosixPath

from promptlint.frontends import fields

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
PROMPT_WORDS = frozenset(
    {"prompt", "prompts", "instruction", "instructions", "persona", "personas", "preamble"}
)
# Words that may stand behind: `prompt_template`, `prompt_library`, but not `prompt_tokens`.
_TRAILERS = frozenset(
    {
        "template", "templates", "text", "message", "messages", "prefix", "suffix", "library",
        "lib", "store", "files",
    }
)  # fmt: skip
_DOC_FOLDERS = frozenset(
    {
        "docs", "doc", "documentation", "website", "blog", "wiki", "licenses", "license",
        "changelog", "changelogs", "issue_template", "pull_request_template", "references",
    }
)  # fmt: skip
_FOREIGN_FOLDERS = frozenset(
    {
        "node_modules", "site-packages", "i18n", "locales", "locale", "translations", "vendor",
        "workflows", "recordings", "cassettes",
    }
)  # fmt: skip
_DATA_FOLDERS = frozenset(
    {
        "data", "dataset", "datasets", "snapshots", "trajs", "trajectories", "sessions", "results",
        "logs", "runs", "output", "outputs", "chat_history", "benchmark_results",
    }
)  # fmt: skip
_DOC_STEMS = frozenset(
    {
        "readme", "changelog", "changes", "contributing", "license", "notice", "security",
        "code_of_conduct", "authors", "roadmap", "governance", "support", "releases",
        "requirements", "constraints", "pull_request_template", "issue_template", "robots", "llms",
    }
)  # fmt: skip
_OTHER_SYSTEMS = frozenset({"design", "requirements", "systems", "file", "operating"})
_ADDRESSED = re.compile(
    r"\b(?:you are|you're an?|you will be|your (?:task|job|goal|role|answer|response|output)|act as|"
    r"as an? (?:ai|assistant|expert)|as a helpful|respond (?:only|with|in|to)|answer (?:the|in|only|with|as)|"
    r"given (?:the|a|an|some)|do not (?:include|add|use|make|output|answer|mention|reveal|say)|"
    r"(?:return|output|reply|generate|produce|provide|write) (?:only|your|a|an|the|in|as)|"
    r"(?:summarize|translate|classify|extract|rewrite|evaluate|decide|determine|identify|analyze) (?:the|this|which|if|whether|all)|"
    r"based on the (?:following|above|given|context)|step by step|below is|think step|use the (?:following|tools?)|"
    r"du bist|deine aufgabe|eres un|tu tarea|tu es un|vous êtes|você é um)\b|[你您]是|你的任务|请根据|あなたは|당신은",
    re.IGNORECASE,
)
_SECOND_PERSON = re.compile(
    r"\byou are (?:an?|the|now|given|provided|responsible|acting|working|tasked)\b|\byou're an?\b|\byour task\b|"
    r"\bact as an?\b|\byou will be (?:given|provided|shown|asked)\b|\bdu bist ein|\beres un|\btu es un|[你您]是一|あなたは|당신은",
    re.IGNORECASE,
)
_DOC_SIGNS = re.compile(
    r"!\[[^\]\n]{0,200}\]\(|<img |<a href|\]\((?:https?://|\.{0,2}/|#)|^(?:```|~~~)(?:bash|sh|shell|console|python|ts|js|typescript)\b|"
    r"\b(?:pip|npm|poetry|uv|yarn) (?:install|add)\b|^#+ (?:Installation|Usage|Getting started|Quick ?start|Contributing|License)\b",
    re.IGNORECASE | re.MULTILINE,
)
_REFERENCE = re.compile(r"\s*(?:https?://|file://|\$\{|\./|\.\./|/)?[\w.\-/\\:@{}]+\s*", re.ASCII)
# Scripts that put no blanks between words.
_UNSPACED = re.compile("[\u3040-\u30ff\u3400-\u9fff]")
MAX_LOOKED_AT = 20_000


@lru_cache(maxsize=4096)
def words(name: str) -> frozenset[str]:
    """Return the lower-case words of a name in any notation: ``systemPrompt``, ``system_prompt``."""
    return frozenset(word.lower() for word in _WORD.findall(name))


@lru_cache(maxsize=4096)
def is_prompt_name(name: str) -> bool:
    """Tell whether a key or folder is called after prompts: ``judge_prompt``, ``promptTemplates``."""
    *_, last = [word.lower() for word in _WORD.findall(name)] or [""]
    return last in PROMPT_WORDS or (
        (last in _TRAILERS or last.isdigit()) and bool(PROMPT_WORDS & words(name))
    )


def is_named_prompt(path: str) -> bool:
    """Tell whether the file or a folder above it is named after prompts."""
    *folders, name = path.split("/")
    return bool(PROMPT_WORDS & words(name.partition(".")[0])) or any(map(is_prompt_name, folders))


def is_documentation(path: str) -> bool:
    """Tell whether a text file belongs to the documentation of a project."""
    *folders, name = path.split("/")
    stem = name.partition(".")[0].lower().replace("-", "_")
    return stem in _DOC_STEMS or any(folder.lower() in _DOC_FOLDERS for folder in folders)


def is_foreign(path: str) -> bool:
    """Tell whether a file came from elsewhere, or speaks to people: packages, translations, workflows."""
    return any(folder.lower() in _FOREIGN_FOLDERS for folder in path.split("/")[:-1])


def is_data(path: str) -> bool:
    """Tell whether a file lies in a folder for recorded or measured data."""
    return any(folder.lower() in _DATA_FOLDERS for folder in path.split("/")[:-1])


def names_system(path: str) -> bool:
    """Tell whether a file is called after the system prompt: ``system.md``, ``dialog_system.txt``."""
    stem = PurePosixPath(path).name.partition(".")[0]
    return "system" in words(stem) and not words(stem) & _OTHER_SYSTEMS


def is_addressed(text: str) -> bool:
    """Tell whether a text speaks to a model: instructions, a role, a task."""
    return _ADDRESSED.search(text, 0, MAX_LOOKED_AT) is not None


def addresses(text: str) -> int:
    """Count the words by which a text speaks to a model."""
    return sum(1 for _ in _ADDRESSED.finditer(text, 0, MAX_LOOKED_AT))


def names_a_role(text: str) -> bool:
    """Tell whether a text gives its reader a role or a task: ``You are a …``."""
    return _SECOND_PERSON.search(text, 0, MAX_LOOKED_AT) is not None


def documentation_signs(text: str) -> int:
    """Count what documentation has and prompts lack: links, images, shell blocks, install lines."""
    return sum(1 for _ in _DOC_SIGNS.finditer(text, 0, MAX_LOOKED_AT))


def has_fields(text: str) -> bool:
    """Tell whether anything in a text is certain to be filled in later."""
    if not any(sign in text for sign in "{$<%["):
        return False
    return fields.detect(text) is not None or ("{%" in text and "%}" in text)


def has_words(text: str) -> bool:
    """Tell whether a text has more than one word."""
    return " " in text or len(_UNSPACED.findall(text[:100])) > 5


def is_reference(text: str) -> bool:
    """Tell whether a value names something, a file, an address or a variable, instead of saying it."""
    return _REFERENCE.fullmatch(text[:500]) is not None
