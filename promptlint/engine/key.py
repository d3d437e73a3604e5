"""What a kept result depends on besides files: version, configuration, and the rules themselves."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import fields
from hashlib import blake2b
from pathlib import Path

import promptlint
from promptlint.config import Config

_NOT_IN_RESULTS = {
    "root",
    "source",
    "select",
    "extend_select",
    "ignore",
    "exclude",
    "extend_exclude",
    "include_tests",
    "respect_gitignore",
    "per_file_ignores",
    "baseline",
    "jobs",
    "cache",
    "cache_dir",
}
"""Settings that choose among results, or among files, without changing what is found in one file."""


def run_key(config: Config, cwd: Path) -> str:
    """Return the key under which results of this version and configuration are kept."""
    parts = [promptlint.__version__, str(cwd)]
    parts += [
        f"{f.name}={getattr(config, f.name)!r}" for f in fields(config) if f.name not in _NOT_IN_RESULTS
    ]
    for path in config.catalogs:
        parts += _stats(path)
    package = Path(promptlint.__file__).parent
    if not (package / "_rules").is_dir():  # a checkout: code and rules change without a new version
        parts += _stats(package)
        parts += _stats(package.parent / "rules")
    return blake2b("\0".join(parts).encode(errors="surrogatepass"), digest_size=16).hexdigest()


def _stats(path: Path) -> Iterator[str]:
    """Yield path, time and size of a file, or of every file below a folder."""
    if path.is_dir():
        for folder, folders, names in os.walk(path):
            folders[:] = sorted(f for f in folders if f != "__pycache__")
            for name in sorted(names):
                yield from _stats(Path(folder, name))
    else:
        try:
            stat = path.stat()
        except OSError:
            return
        yield f"{path}:{stat.st_mtime_ns}:{stat.st_size}"


def listing_digest(listing: tuple[str, ...]) -> str:
    """Return a hash of the names of the files that there are."""
    return blake2b("\0".join(sorted(listing)).encode(errors="surrogatepass"), digest_size=16).hexdigest()
