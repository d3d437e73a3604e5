"""``promptlint profiles``."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from promptlint.cli.common import read_config
from promptlint.cli.params import config_option, format_option, isolated_option

if TYPE_CHECKING:
    from promptlint.catalog.profile import ModelRow, Profile

_OWN_LINES = frozenset(("name", "title", "source", "provenance", "uncertain", "extras", "models", "model"))


@click.command()
@click.argument("name", required=False)
@click.option("--model", default="", metavar="MODEL", help="Show the figures for one model.")
@config_option
@isolated_option
@format_option("text", "json")
def command(name: str | None, model: str, config: Path | None, isolated: bool, format_: str) -> int:
    """List the cache rules of providers and engines, or show all of one with source and date."""
    from promptlint.catalog.locate import own_files
    from promptlint.catalog.profiles import get_profile, load_profiles

    extra = own_files(read_config(config, isolated).catalogs)
    if name is None:
        profiles = load_profiles(extra)
        shown = _list_json(profiles.values()) if format_ == "json" else "\n".join(_list(profiles.values()))
    else:
        profile = get_profile(name, extra)
        profile = profile.for_model(model) if model else profile
        shown = _json(profile) if format_ == "json" else "\n".join(_show(profile))
    click.echo(shown)
    return 0


def _list(profiles: Any) -> Iterator[str]:
    yield f"{'name':<26}{'hits end':<18}{'least':>6}  {'lifetime':<16}{'write':>11}{'read':>7}  title"
    for p in profiles:
        step = f"every {p.block_tokens}" if p.granularity == "block" else p.granularity.replace("_", " ")
        least = "-" if p.min_tokens is None else f"{p.min_tokens:,}"
        lifetime = ", ".join(p.ttl_seconds) or p.ttl_kind.replace("_", " ")
        write = "/".join(f"{price:g}" for price in p.write_multiplier.values()) or "-"
        read = "-" if p.read_multiplier is None else f"{p.read_multiplier:g}"
        yield f"{p.name:<26}{step:<18}{least:>6}  {lifetime:<16.15}{write:>11}{read:>7}  {p.title}"
    yield ""
    yield "write and read: multiples of the ordinary input price. `promptlint profiles NAME` shows sources and dates."


def _list_json(profiles: Any) -> str:
    rows = [
        {"name": p.name, "provider": p.provider, "title": p.title, "granularity": p.granularity}
        for p in profiles
    ]
    return json.dumps(rows, indent=2, ensure_ascii=False)


def _fields(profile: Profile) -> Iterator[tuple[str, Any]]:
    """Yield each documented field with its value, in the order of the class, then the provider's own."""
    for entry in dataclasses.fields(profile):
        value = getattr(profile, entry.name)
        if entry.name not in _OWN_LINES and value not in (None, "", (), {}):
            yield entry.name, value
    yield from profile.extras.items()


def _show(profile: Profile) -> Iterator[str]:
    from promptlint.catalog.profile import plain_model
    from promptlint.catalog.profiles import describe_source

    yield f"{profile.name}: {profile.title}" + (f" ({profile.model})" if profile.model else "")
    yield ""
    for name, value in _fields(profile):
        yield f"{name:<28} {_value(value)}"
        yield f"{'':<28}   {describe_source(profile.source_of(name))}"
        if doubt := profile.uncertain.get(name):
            yield f"{'':<28}   sources disagree: {doubt}"
    listed = dict(_fields(profile))
    for name, doubt in profile.uncertain.items():
        if name not in listed:
            yield f"{name:<28} sources disagree: {doubt}"
    fitting = [row for row in profile.models if row.fits(plain_model(profile.model), date.today())]
    unfit = bool(profile.model) and not fitting
    if rows := fitting or profile.models:
        yield ""
        none = (
            f"no row fits {profile.model}: the figures above are those of the profile; its " if unfit else ""
        )
        yield f"{none}models (the first row that fits decides)"
        for row in rows:
            yield f"  {', '.join(row.match):<40} {_row(row)}"
            yield f"  {'':<40}   {describe_source(row.source)}"


def _value(value: Any) -> str:
    if isinstance(value, dict):
        return "; ".join(f"{key}: {_value(item)}" for key, item in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(_value, value)) or "nothing"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _row(row: ModelRow) -> str:
    said = []
    if row.min_tokens is not None:
        other = "".join(f" or {alt:,}" for alt in row.min_tokens_alt)
        said.append(f"least {row.min_tokens:,}{other}")
    if row.read_multiplier is not None:
        said.append(f"read {row.read_multiplier:g}")
    said += [f"write {price:g} ({ttl})" for ttl, price in row.write_multiplier.items()]
    if row.usd is not None:
        said.append(f"${row.usd:g} a million")
    if row.tier_above_prompt_tokens and row.tier_multiplier:
        said.append(f"{row.tier_multiplier:g} times above {row.tier_above_prompt_tokens:,} tokens")
    said += [f"from {row.valid_from}"] if row.valid_from else []
    said += [f"until {row.valid_until}"] if row.valid_until else []
    return ", ".join(said) + (f". {row.note}" if row.note else "")


def _json(profile: Profile) -> str:
    from promptlint.catalog.profiles import describe_source

    fields = {
        name: {
            "value": value,
            "source": profile.source_of(name),
            "where": describe_source(profile.source_of(name)),
        }
        | ({"uncertain": profile.uncertain[name]} if name in profile.uncertain else {})
        for name, value in _fields(profile)
    }
    shown = {
        "name": profile.name,
        "title": profile.title,
        "model": profile.model,
        "fields": fields,
        "uncertain": dict(profile.uncertain),
        "models": [
            {k: v for k, v in dataclasses.asdict(row).items() if v not in (None, "", (), {})}
            for row in profile.models
        ],
    }
    return json.dumps(
        shown,
        indent=2,
        ensure_ascii=False,
        default=lambda day: day.isoformat() if isinstance(day, date) else str(day),
    )
