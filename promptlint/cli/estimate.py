"""``promptlint estimate``."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from promptlint.cli.common import read_config
from promptlint.cli.params import (
    Memory,
    Quantity,
    choice_option,
    config_option,
    format_option,
    isolated_option,
)
from promptlint.config import Config
from promptlint.errors import UsageError
from promptlint.words import counted

if TYPE_CHECKING:
    from promptlint.catalog.profile import Profile

_DTYPES = {"bf16": 2.0, "fp16": 2.0, "fp32": 4.0, "fp8": 1.0, "int8": 1.0, "int4": 0.5}


@click.command()
@click.argument("prompt", required=False)
@click.option("--prefix", type=click.IntRange(0), metavar="P", help="Reusable tokens at the front.")
@click.option("--new", type=click.IntRange(1), metavar="Q", help="Tokens that differ in each request.")
@click.option("--model", default="", metavar="NAME", help="Open model, config.json, or a provider's model.")
@click.option("--flops", type=Quantity(), metavar="N", help="FLOP/s that prefill reaches, as 400e12 or 400T.")
@click.option("--device", default="", metavar="NAME", help="Device, instead of --flops.")
@click.option(
    "--efficiency", type=click.FloatRange(0, 1, min_open=True), help="Part of the device's peak reached."
)
@click.option("--memory", type=Memory(), metavar="BYTES", help="Memory for weights and cache, as 80GB.")
@click.option("--fixed-ms", type=click.FloatRange(0), default=0.0, help="Time to first token beside prefill.")
@click.option("--profile", default="", metavar="NAME", help="Provider whose prices and lifetimes apply.")
@click.option("--ttl", default="", metavar="NAME", help="Lifetime of the mark, as the provider writes it.")
@click.option("--reuses", type=click.IntRange(0, 100_000), metavar="N", help="Expected reuses of one write.")
@click.option(
    "--interval", type=click.FloatRange(0, min_open=True), metavar="S", help="Seconds between requests."
)
@click.option("--batch", is_flag=True, help="Requests go through the provider's batch API.")
@click.option("--usd", type=click.FloatRange(0), metavar="X", help="Dollars a million input tokens.")
@choice_option("--kv-dtype", tuple(_DTYPES))
@choice_option("--weight-dtype", tuple(_DTYPES))
@click.option(
    "--break-at",
    type=click.IntRange(0),
    multiple=True,
    metavar="N",
    help="And if the first change stood here?",
)
@config_option
@isolated_option
@format_option("text", "json")
def command(
    prompt: str | None,
    prefix: int | None,
    new: int | None,
    model: str,
    flops: float | None,
    device: str,
    efficiency: float | None,
    memory: float | None,
    fixed_ms: float,
    profile: str,
    ttl: str,
    reuses: int | None,
    interval: float | None,
    batch: bool,
    usd: float | None,
    kv_dtype: str,
    weight_dtype: str,
    break_at: tuple[int, ...],
    config: Path | None,
    isolated: bool,
    format_: str,
) -> int:
    """Work out what a prompt costs in compute, memory, money and time, with and without a prefix cache.

    Give the tokens of the reusable --prefix and the --new ones behind it, or PROMPT: a file (or
    FILE.py:FUNCTION) whose longest prompt is taken. What all requests of a day share is its prefix; new is
    the rest of its fixed text and what its holes hold: --new tokens, or one each. Provider and model are
    those that the prompt is sent to, as `layout` shows them, unless --profile and --model name others.
    """
    from promptlint.catalog.locate import own_files
    from promptlint.estimate import Question, estimate
    from promptlint.estimate.render import text

    paths = (prompt.rpartition(":")[0] or prompt,) if prompt else ()
    settings = read_config(config, isolated, paths, profile=profile or None, model=model or None)
    said: tuple[str, ...] = ()
    open_holes = 0
    if prompt is not None:
        found = _counted(prompt, settings)
        said = (found.said,)
        if prefix is None and not break_at and found.reordered > found.prefix:
            break_at = (found.reordered,)  # what reordering would give
        prefix = found.prefix if prefix is None else prefix
        if not profile:
            profile, model = found.sent_to(model)
        open_holes = found.holes if new is None else 0
        new = max(1, found.fixed + (found.holes if new is None else new))
    if prefix is None or new is None:
        raise UsageError("no token counts", "give --prefix and --new, or the file of a prompt")
    answer = estimate(
        Question(
            prefix,
            new,
            model,
            device,
            flops,
            efficiency,
            memory,
            fixed_ms,
            profile,
            ttl,
            reuses,
            interval,
            usd,
            batch,
            _DTYPES[kv_dtype],
            _DTYPES[weight_dtype],
            break_at,
            own_files(settings.catalogs),
            said,
            open_holes,
        )
    )
    if format_ == "json":
        click.echo(json.dumps(answer.json(), indent=2, ensure_ascii=False))
    else:
        click.echo(text(answer))
    return 0


@dataclass(frozen=True, slots=True)
class _Counted:
    """Tokens of a prompt: its prefix, the fixed text behind it, its prefix with stable text first.

    ``profile`` and ``model`` are those that the prompt is measured for.
    """

    prefix: int
    fixed: int
    reordered: int
    holes: int
    profile: Profile
    model: str
    said: str

    def sent_to(self, model: str) -> tuple[str, str]:
        """Return profile and model to work with; a model that the prompt's provider does not serve has its own."""
        from promptlint.catalog.profiles import DEFAULT_PROFILE, profile_for

        if not model or self.profile.serves(model):
            return self.profile.name, model or self.model
        return ("" if profile_for("", model) else DEFAULT_PROFILE), model


def _counted(prompt: str, settings: Config) -> _Counted:
    """Count the longest prompt in a file, of those that `layout` shows."""
    from promptlint.engine.inspect import inspect, variants
    from promptlint.layout import LayoutKind, Scope

    shown = [group[0] for group in variants(inspect(prompt, settings, Path.cwd(), {}))]
    found = max(shown, key=lambda one: (one.measure.total, one.layout.kind is LayoutKind.REQUEST))
    measure = found.measure
    prefix = measure.prefix(Scope.DAY).tokens
    holes = sum(segment.is_hole for segment in measure.layout.segments)
    about = "about " if measure.estimated else ""
    said = (
        f"{measure.layout.name}: {about}{counted(measure.total, 'token')} of fixed text ({measure.counter.name}), "
        f"{counted(holes, 'hole')}, cache {measure.profile.name}"
    )
    return _Counted(
        prefix,
        measure.total - prefix,
        found.reordered.prefix(Scope.DAY).tokens,
        holes,
        measure.profile,
        found.model,
        said,
    )
