"""How much memory there is, and an explanation before it runs out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch

from promptlint.errors import InputError

_HEADROOM = 0.92  # of what is free: activations, and what others take meanwhile


def free_bytes(device: torch.device) -> int | None:
    """Return the bytes that can still be taken on a device; None where the system does not say."""
    if device.type == "cuda":
        return int(torch.cuda.mem_get_info(device)[0])
    try:
        lines = Path("/proc/meminfo").read_text("ascii").splitlines()
    except OSError:
        return None
    found = [line.split()[1] for line in lines if line.startswith("MemAvailable:")]
    return int(found[0]) * 1024 if found else None


def check_room(need: int, device: torch.device, what: str, next_step: str = "") -> None:
    """Stop before an allocation that cannot succeed.

    Raises:
        InputError: naming the bytes needed and the bytes free.
    """
    free = free_bytes(device)
    if free is not None and need > free * _HEADROOM:
        raise InputError(
            f"{what} need {gib(need)}, and {device.type} has {gib(free)} free",
            next_step or "take a smaller model, a narrower --dtype, or another --device",
        )


@contextmanager
def explained(next_step: str) -> Iterator[None]:
    """Turn an allocation that failed all the same into an error with the bytes that were asked for.

    Raises:
        InputError: memory ran out.
    """
    try:
        yield
    except MemoryError:
        raise InputError("memory ran out", next_step) from None
    except RuntimeError as error:  # `torch.OutOfMemoryError` is one; on a CPU there is no class of its own
        first = str(error).splitlines()[0]
        if not isinstance(error, torch.OutOfMemoryError) and "allocate memory" not in first:
            raise
        asked = _ASKED.search(first)
        need = f" for {gib(int(asked[1]))} more" if asked else f" ({first})"
        raise InputError(f"memory ran out{need}", next_step) from None


_ASKED = re.compile(r"allocate (\d+) bytes")


def gib(size: float) -> str:
    """Return a size as a reader wants it."""
    for unit, name in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if size >= unit:
            return f"{size / unit:,.1f} {name}"
    return f"{size:.0f} bytes"
