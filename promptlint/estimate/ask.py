"""From a question in words (model, device and profile by name) to the ledgers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from promptlint.catalog.prices import Price, price_for
from promptlint.catalog.profile import Profile
from promptlint.catalog.profiles import describe_source, get_profile, profile_for
from promptlint.catalog.shapes import Shape, efficiency, find_device, find_shape, shapes
from promptlint.errors import UsageError
from promptlint.estimate.compute import compute_ledger, memory_ledger, time_ledger
from promptlint.estimate.money import money_ledger
from promptlint.estimate.report import Estimate, breaks
from promptlint.words import counted

DEFAULT_MODEL = "llama-3-8b"
DEFAULT_DEVICE = "h100"
DEFAULT_PAID = "anthropic"
MAX_USES = 20


@dataclass(frozen=True, slots=True)
class Question:
    """What to estimate.

    ``prefix`` and ``new`` are tokens; ``flops`` is FLOP/s reached, ``memory`` bytes, ``interval`` the mean
    seconds between requests with this prefix, ``batch`` tells that they go through the provider's batch
    API, ``usd`` dollars a million input tokens, ``break_at`` further
    places of the first change. Empty names and None leave the choice to the defaults, which the answer
    lists among its assumptions.
    """

    prefix: int
    new: int
    model: str = ""
    device: str = ""
    flops: float | None = None
    efficiency: float | None = None
    memory: float | None = None
    fixed_ms: float = 0.0
    profile: str = ""
    ttl: str = ""
    reuses: int | None = None
    interval: float | None = None
    usd: float | None = None
    batch: bool = False
    kv_bytes: float = 2
    weight_bytes: float = 2
    break_at: tuple[int, ...] = ()
    extra: Sequence[Path] = ()
    said: tuple[str, ...] = ()  # what the counts themselves assume
    open_holes: int = 0  # of ``new``: holes that count one token each, since nobody said what they hold


def estimate(question: Question) -> Estimate:
    """Answer a question.

    Raises:
        PromptlintError: a model, device, profile or lifetime is unknown, or a count makes no sense.
    """
    if question.prefix < 0 or question.new < 1:
        raise UsageError(
            "at least one token is new: the last one is always computed",
            "give --prefix 0 or more, --new 1 or more",
        )
    total = question.prefix + question.new
    if bad := [at for at in question.break_at if not 0 <= at < total]:
        raise UsageError(
            f"--break-at {bad[0]} is not inside the prompt of {counted(total, 'token')}", "give a token index"
        )
    said = list(question.said)
    shape, hosted = _model(question, said)
    profile = _profile(question, hosted, said)
    compute = compute_ledger(question.prefix, question.new, shape)
    memory = time = attention = None
    if shape is not None:
        flops, room = _device(question, said)
        memory = memory_ledger(question.prefix, shape, room, question.kv_bytes, question.weight_bytes)
        time = time_ledger(compute, flops, question.fixed_ms)
        attention = time_ledger(compute, flops, question.fixed_ms, attention=True)
        said.append(
            f"fixed part of the time to first token: {question.fixed_ms:g} ms (queue, network, sampling)"
        )
        said.append(f"{question.kv_bytes:g} bytes a KV number, {question.weight_bytes:g} a weight")
        said.append("time counts linear layers; the lines with attention add it (causal mask)")
    price = _price(question, profile, said)
    money = money_ledger(
        question.prefix,
        profile,
        price,
        question.ttl,
        max(MAX_USES, 1 + (question.reuses or 0)),
        question.interval,
    )
    said.append("every use after the first is a hit: an upper bound unless the cache gives a contract")
    return Estimate(
        shape,
        compute,
        money,
        memory,
        time,
        attention,
        breaks(question.prefix, question.new, question.break_at),
        question.reuses,
        tuple(said),
        question.open_holes,
    )


def _model(question: Question, said: list[str]) -> tuple[Shape | None, Profile | None]:
    """Return the model's shape if it is open, and its profile if a provider serves it."""
    name = question.model or DEFAULT_MODEL
    shape = find_shape(name)
    hosted = profile_for("", name, question.extra) if question.model else None
    if shape is None and hosted is None:
        if not question.profile:
            raise UsageError(
                f"unknown model {name!r}: neither an open shape nor a provider's model",
                f"give a config.json, --profile, or one of {', '.join(shapes())}",
            )
        said.append(f"model {name}: shape unknown, so no figures for memory and time")
    elif shape is None:
        said.append(f"model {name}: served by {hosted.provider if hosted else ''}, shape not public")
    else:
        chosen = "" if question.model else " (default; --model chooses)"
        mixture = f", {shape.active / 1e9:.3g}e9 at work a token" if shape.experts else ""
        said.append(
            f"model {shape.name}{chosen}: N = {shape.size / 1e9:.4g}e9 nominal ({shape.exact:,.0f} exact{mixture}), "
            f"{counted(shape.layers, 'layer')}, {counted(shape.kv_heads, 'KV head')} of {shape.head_dim}"
        )
        said.append("compute: 2N FLOPs a token in linear layers; attention's share is of the exact count")
    return shape, hosted


def _profile(question: Question, hosted: Profile | None, said: list[str]) -> Profile:
    """Return the paid profile for the money ledger."""
    if question.profile:
        profile = get_profile(question.profile, question.extra).for_model(question.model)
    elif hosted is not None and hosted.hosted:
        profile = hosted
    else:
        profile = get_profile(DEFAULT_PAID, question.extra)
        said.append(f"money: no provider named, shown for `{DEFAULT_PAID}` (--profile chooses)")
    if question.ttl and question.ttl not in profile.ttl_seconds:
        known = ", ".join(profile.ttl_seconds) or "none documented"
        raise UsageError(f"profile {profile.name!r} has no lifetime {question.ttl!r}", f"known: {known}")
    if not profile.hosted:
        said.append(
            f"profile {profile.name}: an engine of your own, a written token costs what any token costs"
        )
    for name in ("write_multiplier", "read_multiplier", "min_tokens"):
        if getattr(profile, name) not in (None, {}):
            said.append(f"{name.replace('_', ' ')}: {describe_source(profile.source_of(name))}")
    return profile


def _device(question: Question, said: list[str]) -> tuple[float, float | None]:
    """Return FLOP/s reached and bytes of memory."""
    if question.flops is not None and not question.device:
        said.append(f"{question.flops / 1e12:,.4g} TFLOP/s reached, as given")
        memory = question.memory
        if memory is None:
            memory = find_device(DEFAULT_DEVICE).memory
            said.append(f"memory of one {DEFAULT_DEVICE}: {memory / 1e9:g} GB (--memory chooses)")
        return question.flops, memory
    device = find_device(question.device or DEFAULT_DEVICE)
    share = efficiency() if question.efficiency is None else question.efficiency
    flops = device.flops * share if question.flops is None else question.flops
    how = (
        f"{share:.0%} of its peak of {device.flops / 1e12:g} TFLOP/s"
        if question.flops is None
        else "as given"
    )
    default = "" if question.device else " (default; --device or --flops chooses)"
    said.append(f"device {device.name}{default}: {flops / 1e12:,.4g} TFLOP/s, {how}")
    return flops, device.memory if question.memory is None else question.memory


def _price(question: Question, profile: Profile, said: list[str]) -> Price | None:
    price = _listed(question, profile, said)
    if not question.batch:
        return price
    share = profile.extras.get("batch_multiplier")
    if not isinstance(share, int | float):
        raise UsageError(f"profile {profile.name!r} carries no price for batches", "leave --batch out")
    source = describe_source(profile.source_of("batch_multiplier"))
    said.append(f"batch: {share:g} times all prices, on top of those of writes and reads: {source}")
    return price.scaled(share) if price is not None else None


def _listed(question: Question, profile: Profile, said: list[str]) -> Price | None:
    if question.usd is not None:
        read = 1.0 if profile.read_multiplier is None else profile.read_multiplier
        write = {ttl: question.usd * multiplier for ttl, multiplier in profile.write_multiplier.items()}
        return Price(question.model, question.usd, question.usd * read, write, "as given", date.today())
    price = None
    if profile.model and profile.hosted:
        price = price_for(profile, profile.model, prompt_tokens=question.prefix + question.new)
    if price is not None:
        said.append(f"${price.ordinary:g} a million input tokens on {price.on}: {price.source}")
    return price
