"""Output files, written whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a file to write beside ``path``, which takes its place when the block ends well.

    After any exception, Ctrl-C too, ``path`` is as it was and nothing lies beside it. Behind a link it is
    the file that is replaced, not the link; its rights stay. A device or pipe cannot be replaced and is given itself.

    Raises:
        OSError: there is no right to write there, or no space.
    """
    if _is_special(path):
        yield path
        return
    target = path.resolve()
    temporary = target.with_name(f".promptlint-{os.getpid()}-{token_hex(4)}.tmp")
    temporary.touch(exist_ok=False)  # never through a link that someone laid there
    try:
        yield temporary
        if target.exists():
            temporary.chmod(target.stat().st_mode & 0o7777)
        temporary.replace(target)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise


def _is_special(path: Path) -> bool:
    """Tell whether a path is no regular file; ``/dev/stdout`` is none, wherever it leads."""
    return (path.is_absolute() and path.parts[1] in ("dev", "proc")) or (path.exists() and not path.is_file())


def write_text(path: Path, text: str) -> None:
    """Write text as UTF-8, whole or not at all.

    A lone surrogate, as in a file name that is no UTF-8, is written as ``\\udcff``.

    Raises:
        OSError: there is no right to write there, or no space.
    """
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8", errors="backslashreplace")
