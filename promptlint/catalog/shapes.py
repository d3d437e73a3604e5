"""Shapes of open models and peaks of devices, by name or from a ``config.json``."""

from __future__ import annotations

import difflib
import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from promptlint.catalog.locate import rules_root
from promptlint.errors import CatalogError, InputError

_TUNING = frozenset(("instruct", "chat", "it", "hf", "base", "meta"))


@dataclass(frozen=True, slots=True)
class Shape:
    """What of a decoder decides compute and memory.

    Attributes:
        size: nominal parameters, as the name says; the N of the 2N rule and of the weight bytes.
        layers, hidden, heads, kv_heads, head_dim, intermediate, vocab: as in ``config.json``.
        experts, experts_per_token: of a mixture; 0 for a dense model.
        kv_values_per_layer: numbers kept a token and layer; 0 for 2 x kv_heads x head_dim.
        window, windowed_layers: layers that attend to at most ``window`` tokens.
        parameters, active_parameters: exact counts where the shape does not give them, else 0.
    """

    name: str
    size: float
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    intermediate: int
    vocab: int
    tied: bool = False
    qkv_bias: bool = False
    qk_norm: bool = False
    norms_per_layer: int = 2
    experts: int = 0
    experts_per_token: int = 0
    kv_values_per_layer: int = 0
    attention_width: int = 0
    window: int = 0
    windowed_layers: int = 0
    parameters: float = 0
    active_parameters: float = 0
    aliases: tuple[str, ...] = ()

    @property
    def width(self) -> int:
        """Return the width of attention: heads times head size."""
        return self.attention_width or self.heads * self.head_dim

    @property
    def kv_values(self) -> int:
        """Return the numbers kept for one token in one layer."""
        return self.kv_values_per_layer or 2 * self.kv_heads * self.head_dim

    def _count(self, experts: int) -> int:
        """Count the weights of a gated decoder with this many experts a layer (0: a plain MLP)."""
        width, kv = self.heads * self.head_dim, self.kv_heads * self.head_dim
        attention = 2 * self.hidden * width + 2 * self.hidden * kv
        attention += (width + 2 * kv) * self.qkv_bias + 2 * self.head_dim * self.qk_norm
        mlp = 3 * self.hidden * self.intermediate * max(1, experts) + self.hidden * self.experts
        layer = attention + mlp + self.norms_per_layer * self.hidden
        return self.layers * layer + self.vocab * self.hidden * (1 if self.tied else 2) + self.hidden

    @property
    def exact(self) -> float:
        """Return the exact number of parameters."""
        return self.parameters or self._count(self.experts)

    @property
    def active(self) -> float:
        """Return the parameters that work on one token: the nominal size, or a mixture's active part."""
        if not self.experts:
            return self.size
        return self.active_parameters or self._count(self.experts_per_token)

    @property
    def exact_active(self) -> float:
        """Return the exact count of the parameters that work on one token."""
        return self.active if self.experts else self.exact


@dataclass(frozen=True, slots=True)
class Device:
    """A device's dense 16-bit peak in FLOP/s, memory in bytes, bandwidth in bytes a second."""

    name: str
    flops: float
    memory: float
    bandwidth: float
    aliases: tuple[str, ...] = ()


def _read(name: str) -> Mapping[str, Any]:
    with (rules_root() / name).open("rb") as file:
        return tomllib.load(file)


@cache
def shapes() -> Mapping[str, Shape]:
    """Return the known models by name."""
    rows = _read("models.toml")["model"]
    return {row["name"]: Shape(**{**row, "aliases": tuple(row.get("aliases", ()))}) for row in rows}


@cache
def devices() -> Mapping[str, Device]:
    """Return the known devices by name."""
    rows = _read("devices.toml")["device"]
    return {row["name"]: Device(**{**row, "aliases": tuple(row.get("aliases", ()))}) for row in rows}


@cache
def efficiency() -> float:
    """Return the part of a device's peak that prefill is taken to reach."""
    return float(_read("devices.toml")["efficiency"])


def find_shape(model: str) -> Shape | None:
    """Return the shape of a model by name, alias or path of a ``config.json``; None where it is unknown.

    Raises:
        InputError: the path exists and is not a usable ``config.json``.
    """
    path = Path(model)
    if path.is_dir() and (path / "config.json").is_file():
        path = path / "config.json"
    if path.suffix == ".json" or path.is_file():
        return shape_of_config(path)
    wanted = _plain(model)
    for shape in shapes().values():
        if wanted in map(_plain, (shape.name, *shape.aliases)):
            return shape
    return None


def _plain(name: str) -> str:
    """Return a model's name as letters and digits, without its owner and the words for its tuning."""
    words = re.split(r"[^a-z0-9.]+", name.lower().rsplit("/", 1)[-1])
    return re.sub(r"[^a-z0-9]", "", "".join(word for word in words if word not in _TUNING))


def find_device(name: str) -> Device:
    """Return a device by name.

    Raises:
        CatalogError: it is unknown; the next step names those that are known.
    """
    wanted = name.lower().replace("_", "-").replace(" ", "-").removeprefix("nvidia-")
    for device in devices().values():
        if wanted == device.name or wanted in device.aliases:
            return device
    close = difflib.get_close_matches(wanted, devices(), 1)
    hint = f"did you mean {close[0]}? " if close else ""
    raise CatalogError(f"unknown device {name!r}", f"{hint}known: {', '.join(devices())}; or give --flops")


def shape_of_config(path: Path) -> Shape:
    """Read the shape of a model from its ``config.json``.

    Raises:
        InputError: it cannot be read, or has no decoder's fields.
    """
    try:
        config = json.loads(path.read_text("utf-8"))
        config = config.get("text_config", config)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}", "check the path given with --model") from None
    except (ValueError, AttributeError, RecursionError):
        raise InputError(f"{path}: not a JSON object", "give a Hugging Face config.json") from None
    try:
        hidden, heads = int(config["hidden_size"]), int(config["num_attention_heads"])
        latent = int(config.get("kv_lora_rank") or 0)
        experts = (
            config.get("num_local_experts")
            or config.get("num_experts")
            or config.get("n_routed_experts")
            or 0
        )
        layers = int(config["num_hidden_layers"])
        shape = Shape(
            name=str(config.get("_name_or_path") or path.parent.name or path.name),
            size=0,
            layers=layers,
            hidden=hidden,
            heads=heads,
            kv_heads=int(config.get("num_key_value_heads") or heads),
            head_dim=int(config.get("head_dim") or hidden // heads),
            intermediate=int(config.get("moe_intermediate_size") or config["intermediate_size"]),
            vocab=int(config["vocab_size"]),
            tied=bool(config.get("tie_word_embeddings", False)),
            experts=int(experts),
            experts_per_token=int(config.get("num_experts_per_tok") or 0),
            kv_values_per_layer=latent + int(config.get("qk_rope_head_dim") or 0) if latent else 0,
            window=int(config.get("sliding_window") or 0),
            windowed_layers=_windowed(config, layers),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{path}: no usable field {error}", "give a decoder's config.json") from None
    return replace(shape, size=float(shape.exact))


def _windowed(config: Mapping[str, Any], layers: int) -> int:
    """Return how many layers attend through the sliding window."""
    if not config.get("sliding_window") or config.get("use_sliding_window") is False:
        return 0
    kinds = config.get("layer_types")
    return sum(kind == "sliding_attention" for kind in kinds) if isinstance(kinds, list) else layers
