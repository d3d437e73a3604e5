"""Whether a file may hold prompts, by its name and its first characters. Runs for every file of a tree."""

from __future__ import annotations

import re

from promptlint.frontends.documents import evidence

PROSE_SUFFIXES = (".md", ".txt", ".markdown", ".text", ".mdx", ".prompts")
# Templates of pages and mails more often than of prompts: only a name tells.
MARKUP_SUFFIXES = (".hbs", ".handlebars", ".mustache", ".tmpl", ".tpl", ".xml", ".poml")
DATA_SUFFIXES = (".yaml", ".yml", ".json", ".jsonc", ".toml")
PROMPT_SUFFIXES = (".prompty", ".prompt")
SEMANTIC_KERNEL = "skprompt.txt"
_FIELD_SIGNS = ("{", "$", "<<", "!<", "[[", "%(")
_OTHER_DATA = re.compile(
    r"(?:^|/)(?:(?:package|package-lock|composer|tsconfig[\w.]*|jsconfig|launchSettings|global|manifest|angular|lerna|"
    r"turbo|biome|deno|renovate|tokenizer|tokenizer_config|special_tokens_map|vocab|generation_config|translation|"
    r"openapi[\w.-]*|swagger[\w.-]*|cspell|components|settings\.local|launch|extensions)\.jsonc?|"
    r"(?:pyproject|Cargo|poetry|uv|Pipfile|netlify|rustfmt|taplo|ruff)\.(?:toml|lock)|"
    r"(?:pnpm-lock|docker-compose[\w.-]*|compose[\w.-]*|mkdocs[\w.-]*|openapi[\w.-]*|codecov|dependabot|action|"
    r"\.pre-commit-[\w-]+|\.gitlab-ci|environment|conda[\w.-]*|meta|Chart|kustomization|deployment[\w.-]*)\.ya?ml|"
    r"[\w.-]+\.(?:schema|tmLanguage|lock|g|snippets)\.json)$|(?:^|/)\.(?:github|gitlab|circleci|azure|azure-pipelines|vscode)/(?!prompts/)"
)
# First lines of files that other programs read.
_OTHER_HEAD = re.compile(
    r"\s*(?:---\s)?(?:\{\s*)?[\"']?(?:interactions|openapi|swagger|asyncapi|apiVersion|site_name|lockfileVersion|nbformat)[\"']?\s*:"
)
# A key that may hold a prompt. What stands before the word does not matter: `judge_prompt`, `"systemPrompt"`.
_WORDS = (
    *(
        "prompt",
        "instruction",
        "message",
        "system",
        "persona",
        "preamble",
        "injection_points",
        "litellm_param",
        "template",
        '"lc',
    ),
    *("conversation", "contents", "backstory", "expected_output"),
)
_TRIGGER = re.compile(rf"(?:{'|'.join(_WORDS)})s?[\"']?[ \t]{{0,9}}[:=]")


def claims(path: str, head: str) -> bool:
    """Tell whether `read` should look at a file; ``head`` is its beginning (see `documents.HEAD`).

    True only says that it is worth parsing. What first speaks of prompts behind the head is missed.
    """
    lowered = path.lower()
    if lowered.endswith(PROMPT_SUFFIXES):
        return True
    if lowered.endswith(PROSE_SUFFIXES):
        return _claims_text(path, head)
    if lowered.endswith(MARKUP_SUFFIXES):
        return _claims_text(path, "")
    return lowered.endswith(DATA_SUFFIXES) and _claims_data(path, head)


def _claims_text(path: str, head: str) -> bool:
    if evidence.is_documentation(path) or evidence.is_foreign(path):
        return False
    if evidence.is_named_prompt(path) or evidence.names_system(path) or path.endswith("/" + SEMANTIC_KERNEL):
        return True
    return any(sign in head for sign in _FIELD_SIGNS) and evidence.names_a_role(head)


def _claims_data(path: str, head: str) -> bool:
    if _OTHER_DATA.search(path) or evidence.is_foreign(path) or _OTHER_HEAD.match(head):
        return False
    if evidence.is_named_prompt(path):
        return True
    lowered = head.lower()
    return any(word in lowered for word in _WORDS) and _TRIGGER.search(lowered) is not None
