"""From the name of a model to an adapter: a folder, a GGUF file, a hub name, or ``random:<shape>``."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from promptlint.errors import InputError, UsageError
from promptlint_runtime import shapes, weights
from promptlint_runtime.adapters.base import Adapter
from promptlint_runtime.adapters.llama import Llama
from promptlint_runtime.memory import check_room
from promptlint_runtime.tokenizer import load_tokenizer

RANDOM = "random:"
_FOLDER = "give a folder with a Hugging Face model"


@dataclass(frozen=True, slots=True)
class Loaded:
    """A model that is ready to run. ``tokenizer`` is None for random weights."""

    adapter: Adapter
    tokenizer: Any | None
    name: str
    stop: frozenset[int] = frozenset()


def pick_device(wanted: str = "auto") -> torch.device:
    """Return the device; ``auto`` takes a CUDA GPU where there is one.

    Raises:
        UsageError: the device does not exist here.
    """
    if wanted == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(wanted)
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError) as error:
        first = str(error).splitlines()[0]
        raise UsageError(f"device {wanted!r} cannot be used: {first}", "take --device cpu") from None
    return device


def pick_dtype(wanted: str, device: torch.device) -> torch.dtype:
    """Return the dtype by name; ``auto`` is bfloat16 on a GPU and float32 on a CPU."""
    known = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
    if wanted == "auto":
        return torch.bfloat16 if device.type == "cuda" else torch.float32
    if wanted not in known:
        raise UsageError(f"no dtype named {wanted!r}", f"take one of: auto, {', '.join(known)}")
    return known[wanted]


def load(
    spec: str, *, dtype: torch.dtype, device: torch.device, seed: int = 0, family: str = "auto"
) -> Loaded:
    """Load a model.

    Args:
        spec: ``random:llama-3-8b`` and the like, the path of a folder or of a ``.gguf`` file, or the
            name of a model on the Hugging Face hub.
        dtype: dtype of the weights, and of keys and values.
        device: where they go.
        seed: of random weights.
        family: ``auto``: our own decoder where it fits, else `transformers`; ``transformers``: always that.

    Raises:
        UsageError: there is no such model, or the runtime cannot cache it.
        InputError: its files are broken, or do not fit into memory.
    """
    if spec.startswith(RANDOM):
        shape = shapes.named(spec.removeprefix(RANDOM))
        check_room(shape.params * dtype.itemsize, device, f"the weights of {spec}")
        source = weights.random(shape, seed, dtype, device)
        return Loaded(Llama(shape, source, dtype, device), None, spec)
    path = Path(spec)
    if path.suffix == ".gguf":
        return _load_gguf(path, dtype, device, family)
    return _load_folder(path if path.is_dir() else _download(spec), spec, dtype, device, family)


def _load_folder(folder: Path, name: str, dtype: torch.dtype, device: torch.device, family: str) -> Loaded:
    try:
        config = json.loads((folder / "config.json").read_text("utf-8"))
    except (OSError, ValueError) as error:
        what = error.strerror if isinstance(error, OSError) else error
        raise InputError(f"{folder}/config.json: {what}", _FOLDER) from None
    if not isinstance(config, dict):
        raise InputError(f"{folder}/config.json: not an object", _FOLDER)
    size = sum(file.stat().st_size for file in folder.glob("*.safetensors"))
    check_room(size, device, f"the weights of {name}")
    shape = shapes.from_config(config, name)
    if shape is not None and family == "auto":
        source = weights.checked(weights.from_folder(folder), shape, folder)
        adapter: Adapter = Llama(shape, source, dtype, device)
    else:
        adapter = _wrap(str(folder), name, shape, dtype, device)
    return Loaded(adapter, load_tokenizer(folder), name, _stop_ids(config))


def _load_gguf(path: Path, dtype: torch.dtype, device: torch.device, family: str) -> Loaded:
    if not path.is_file():
        raise InputError(f"{path}: no such file", "check the path")
    file = weights.GgufFile(path)
    config = file.config()
    shape = None if config is None else shapes.from_config(config, path.name)
    tokenizer = load_tokenizer(path.parent, gguf_file=path.name)
    stop = frozenset() if tokenizer is None else frozenset({tokenizer.eos_token_id} - {None})
    if shape is not None and family == "auto":
        check_room(shape.params * dtype.itemsize, device, f"the weights of {path.name}")
        source = weights.checked(file.weights(shape), shape, path)
        return Loaded(Llama(shape, source, dtype, device), tokenizer, path.name, stop)
    adapter = _wrap(str(path.parent), path.name, shape, dtype, device, gguf_file=path.name)
    return Loaded(adapter, tokenizer, path.name, stop)


def _wrap(
    where: str,
    name: str,
    shape: shapes.Shape | None,
    dtype: torch.dtype,
    device: torch.device,
    **more: str,
) -> Adapter:
    from transformers import AutoModelForCausalLM

    from promptlint_runtime.adapters.transformers import TransformersModel

    try:
        model: Any = AutoModelForCausalLM.from_pretrained(where, dtype=dtype, trust_remote_code=False, **more)
    except Exception as error:  # noqa: BLE001  of any kind: it runs each family's own code on these files
        raise InputError(f"{name}: transformers cannot load it ({_first_line(error)})", _FOLDER) from None
    return TransformersModel(model.to(device), name, shape)


def _stop_ids(config: dict[str, Any]) -> frozenset[int]:
    ids = config.get("eos_token_id")
    return frozenset([] if ids is None else ids if isinstance(ids, list) else [ids])


def _download(name: str) -> Path:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

    try:
        return Path(snapshot_download(name, allow_patterns=["*.json", "*.safetensors", "*.model", "*.jinja"]))
    except (HfHubHTTPError, HFValidationError, LocalEntryNotFoundError, OSError) as error:
        raise UsageError(
            f"model {name!r}: no such folder, and the hub did not give it ({_first_line(error)})",
            f"give a folder, a .gguf file, or {RANDOM}<shape> with one of: {', '.join(sorted(shapes.NAMED))}",
        ) from None


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
