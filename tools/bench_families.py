"""Measure how many tokens other vocabularies need for one of o200k_base: the factors in rules/tokenizers.toml.

Run: ``python tools/bench_families.py FOLDER``, where FOLDER holds repositories with prompts. The corpus
is their templates, text files with "prompt" in the path, and long strings of Python files with "prompt" in
the path. Needs ``splintr-rs``.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import splintr

from promptlint.tokens.estimate import CharacterEstimator

NAMES = (
    *("cl100k_base", "llama3", "llama2", "qwen3", "deepseek_v3", "gemma2", "gemma3"),
    *("mistral_v1", "mistral_v3", "phi4", "glm-4.5", "kimi-k2"),
)


def texts_of(folder: Path) -> Iterator[str]:
    """Yield the prompts of a tree, as far as a name or an ending tells."""
    for path in sorted(folder.rglob("*")):
        named = "prompt" in str(path.relative_to(folder)).lower()
        if not path.is_file():
            continue
        template = path.suffix in (".j2", ".jinja", ".jinja2", ".prompty", ".prompt")
        if template or (named and path.suffix in (".txt", ".md") and path.stat().st_size < 60_000):
            yield path.read_text(encoding="utf-8", errors="replace")
        elif named and path.suffix == ".py":
            try:
                tree = ast.parse(path.read_text(encoding="utf-8", errors="replace"))
            except SyntaxError:
                continue
            for node in ast.walk(tree):
                if isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) > 300:
                    yield node.value


def main() -> None:
    """Print one line a vocabulary, and one for the estimate by characters."""
    texts = [text for text in texts_of(Path(sys.argv[1])) if len(text) > 200]
    reference = splintr.Tokenizer.from_pretrained("o200k_base")
    base = [len(reference.encode_ordinary(text)) for text in texts]
    print(
        f"{len(texts)} texts, {sum(map(len, texts)) / 1e6:.1f} M characters, {sum(base):,} tokens of o200k_base\n"
    )
    print("| vocabulary | factor | median error | 95th percentile |\n|---|---|---|---|")
    for name in NAMES:
        other = splintr.Tokenizer.from_pretrained(name)
        counts = [len(other.encode_ordinary(text)) for text in texts]
        factor = sum(counts) / sum(base)
        print(f"| {name} | {factor:.3f} | {_errors(counts, [factor * size for size in base])} |")
    guess = [CharacterEstimator().run((text,)).total for text in texts]
    print(f"| o200k_base by characters | {sum(guess) / sum(base):.3f} | {_errors(base, guess)} |")


def _errors(right: list[int], guessed: list[int] | list[float]) -> str:
    errors = sorted(abs(one - other) / one for one, other in zip(right, guessed, strict=True))
    return f"{errors[len(errors) // 2]:.1%} | {errors[int(len(errors) * 0.95)]:.1%}"


if __name__ == "__main__":
    main()
