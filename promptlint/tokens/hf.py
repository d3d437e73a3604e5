"""Any ``tokenizer.json``, or a Hugging Face folder that holds one, through ``tokenizers``."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import cache
from hashlib import blake2b
from itertools import accumulate
from pathlib import Path
from typing import Any

from promptlint.catalog.tokenizers import encodings
from promptlint.errors import UsageError
from promptlint.tokens.base import Run, well_formed
from promptlint.tokens.borders import borders, joined_to_blanks, word_borders

FILE = "tokenizer.json"


class FileTokenizer:
    """A `Tokenizer` from a ``tokenizer.json``. Special tokens in the text count as such, as in an engine."""

    exact = True

    def __init__(self, path: Path) -> None:
        """Load a file.

        Raises:
            UsageError: the package ``tokenizers`` or the file is missing, or it is not a tokenizer.
        """
        file = tokenizer_file(path)
        try:
            from tokenizers import Tokenizer
        except ImportError:
            raise UsageError(
                f"{path}: reading a tokenizer file needs the package tokenizers",
                "install promptlint-cache[hf], or name an encoding such as o200k_base",
            ) from None
        try:
            data = file.read_text(encoding="utf-8")
            self._tokenizer = Tokenizer.from_str(data)
            spec = json.loads(data)
        except Exception as error:  # noqa: BLE001  `tokenizers` raises nothing narrower
            raise UsageError(f"{file}: not a tokenizer ({error})", "give a tokenizer.json") from None
        self.name = file_name(path)
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self._added = [token["content"] for token in spec.get("added_tokens") or ()]
        self._longest_added = max(map(len, self._added), default=0)
        self._known_patterns = _has_known_patterns(spec)
        self._joined = frozenset[str]() if self._known_patterns else _joined(spec)

    def encode(self, text: str) -> list[int]:
        """Return the token ids of a text, without the special tokens of the post-processor."""
        return list(self._tokenizer.encode(well_formed(text), add_special_tokens=False).ids)

    def run(self, parts: Sequence[str]) -> Run:
        """Count the joined parts as one text."""
        text = well_formed("".join(parts))
        encoding = self._tokenizer.encode(text, add_special_tokens=False)
        spans: list[tuple[int, int]] = encoding.offsets
        ends: list[int] = []
        seen = 0
        for border in accumulate(map(len, parts)):
            while seen < len(spans) and spans[seen][1] <= border:
                seen += 1
            ends.append(seen)
        if ends:
            ends[-1] = len(spans)
        return Run(tuple(ends), self._stable(text, spans))

    def _stable(self, text: str, spans: list[tuple[int, int]]) -> int:
        limit, before = self._begun_token(text), len(spans)
        for at in self._borders(text):
            if at > limit:
                continue
            while before and spans[before - 1][1] > at:
                before -= 1
            if before == len(spans) or spans[before][0] >= at:
                return before
        return 0

    def _borders(self, text: str) -> Iterator[int]:
        return borders(text) if self._known_patterns else word_borders(text, self._joined)

    def _begun_token(self, text: str) -> int:
        """Return where an added token may have begun that only a continuation completes."""
        for at in range(max(0, len(text) - self._longest_added), len(text)):
            tail = text[at:]
            if any(token.startswith(tail) for token in self._added):
                return at
        return len(text)


def tokenizer_file(path: Path) -> Path:
    """Return the ``tokenizer.json`` of a file or folder.

    Raises:
        UsageError: there is none.
    """
    file = path / FILE if path.is_dir() else path
    if not file.is_file():
        raise UsageError(
            f"{path}: no {FILE} there",
            f"give a {FILE} or the folder that holds it; other vocabulary files can be converted to it",
        )
    return file


def file_name(path: Path) -> str:
    """Return a name that tells the vocabulary: the folder's name and a digest of the content.

    Raises:
        UsageError: there is no such file, or it cannot be read.
    """
    file = tokenizer_file(path)
    try:
        content = blake2b(file.read_bytes(), digest_size=6).hexdigest()
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror or error}", "check the path and rights") from None
    label = file.resolve().parent.name if file.name == FILE else file.stem
    return f"{label}@{content}"


def _has_known_patterns(spec: dict[str, Any]) -> bool:
    """Tell whether a tokenizer is byte-level with patterns whose settled cuts are known."""
    parts = _flat(spec.get("pre_tokenizer"))
    return any(map(_cuts_by_pattern, parts)) and all(map(_is_known, parts))


def _flat(part: dict[str, Any] | None) -> list[dict[str, Any]]:
    if part is None:
        return []
    if part.get("type") == "Sequence":
        return [inner for each in part.get("pretokenizers") or () for inner in _flat(each)]
    return [part]


def _is_known(part: dict[str, Any]) -> bool:
    return part.get("type") in ("ByteLevel", "Digits") or _cuts_by_pattern(part)


def _cuts_by_pattern(part: dict[str, Any]) -> bool:
    """Tell whether a pre-tokenizer cuts by a pattern that `borders` knows."""
    if part.get("type") == "ByteLevel":
        return part.get("use_regex", True) is not False
    pattern = part.get("pattern") or {}
    return (
        part.get("type") == "Split"
        and part.get("behavior") == "Isolated"
        and not part.get("invert")
        and pattern.get("Regex") in _patterns()
    )


def _patterns() -> set[str]:
    """Return patterns as tokenizer files spell them: those of the encodings, and their older forms."""
    letters = r"[^\r\n\p{L}\p{N}]?\p{L}+"
    rest = r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    short = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
    older = {f"{short}|{letters}|{digits}|{rest}" for digits in (r"\p{N}", r"\p{N}{1,3}")}
    return older | {row.pattern for row in encodings().values()}


def _joined(spec: dict[str, Any]) -> frozenset[str]:
    """Return the characters that some entry of the vocabulary holds together with a blank behind them.

    No merge crosses from any other character into the blank behind it, whatever the pre-tokenizer does.
    """
    vocabulary = (spec.get("model") or {}).get("vocab") or {}
    entries = vocabulary if isinstance(vocabulary, dict) else [entry[0] for entry in vocabulary]
    found: set[str] = set()
    if _is_byte_level(spec):
        for entry in entries:
            if "\u0120" in entry[1:]:
                found.update(joined_to_blanks(_from_bytes(entry)))
    else:
        for entry in entries:
            if "\u2581" in entry[1:] or " " in entry[1:]:
                found.update(joined_to_blanks(entry.replace("\u2581", " ")))
    return frozenset(found)


def _is_byte_level(spec: dict[str, Any]) -> bool:
    decoder = spec.get("decoder") or {}
    parts = [*_flat(spec.get("pre_tokenizer")), decoder, *(decoder.get("decoders") or ())]
    return any(part.get("type") == "ByteLevel" for part in parts)


def _from_bytes(entry: str) -> str:
    """Return the text of a byte-level entry; bytes that are no text become U+FFFD."""
    return bytes(_byte_of().get(char, 0xFF) for char in entry).decode("utf-8", "replace")


@cache
def _byte_of() -> dict[str, int]:
    """Return the byte that each character of a byte-level vocabulary stands for.

    Printable Latin-1 characters stand for themselves, the other 68 bytes for the characters from U+0100 on.
    """
    plain = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = [byte for byte in range(256) if byte not in plain]
    return {chr(byte): byte for byte in plain} | {chr(256 + at): byte for at, byte in enumerate(others)}
