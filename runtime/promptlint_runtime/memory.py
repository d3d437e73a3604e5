"""How much memory there is, and an explanation before it runs out."""

from __future__ import annotations

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


def gib(size: float) -> str:
    """Return a size as a reader wants it."""
    return f"{size / 2**30:.2f} GiB" if size >= 2**30 else f"{size / 2**20:.1f} MiB"
