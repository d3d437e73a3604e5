"""Parameter types, and the options that several commands have in common, each written once."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])
_UNITS = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12, "p": 1e15}
_BINARY = {"k": 2.0**10, "m": 2.0**20, "g": 2.0**30, "t": 2.0**40}


class Words(click.ParamType[tuple[str, ...]]):
    """Words separated by commas."""

    name = "list"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, ...]:
        """Split the text."""
        if isinstance(value, tuple):
            return value
        return tuple(word.strip() for word in value.split(",") if word.strip())


class Numbers(click.ParamType[tuple[float, ...]]):
    """Numbers above 0, separated by commas."""

    name = "numbers"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[float, ...]:
        """Split the text."""
        if isinstance(value, tuple):
            return value
        try:
            found = tuple(float(word) for word in value.split(",") if word.strip())
        except ValueError:
            self.fail(f"{value!r} is no list of numbers", param, ctx)
        if any(not number > 0 for number in found):
            self.fail(f"{value!r}: numbers must be above 0", param, ctx)
        return found


class Quantity(click.ParamType[float]):
    """A number above 0 with an optional unit: ``400e12``, ``400T``, ``80GB``, ``24GiB``."""

    name = "quantity"
    example = "400e12, 400T or 80GB"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Turn the text into a number."""
        if isinstance(value, float):
            return value
        number = _quantity(str(value).strip().lower())
        if number is None:
            self.fail(f"{value!r} is not a quantity such as {self.example}", param, ctx)
        return number


class Memory(Quantity):
    """A number of bytes with an optional unit: ``512MiB``, ``4GB``."""

    name = "bytes"
    example = "512MiB or 4GB"


def _quantity(text: str) -> float | None:
    match = re.fullmatch(r"([\d_.]+(?:e[+-]?\d+)?)\s*([kmgtp]?)(ib|b|flops?|flop/s)?", text)
    if not match:
        return None
    factor = (_BINARY if match[3] == "ib" else _UNITS).get(match[2])
    try:
        return float(match[1].replace("_", "")) * factor or None if factor else None
    except ValueError:
        return None


class Sectioned(click.Command):
    """A command whose help puts its options under headings; those in no section come last."""

    def __init__(self, *arguments: Any, sections: Mapping[str, str], **more: Any) -> None:
        super().__init__(*arguments, **more)
        self._sections = {title: names.split() for title, names in sections.items()}

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options."""
        rows: dict[str, list[tuple[str, str]]] = {title: [] for title in (*self._sections, "Options")}
        for parameter in (one for one in self.get_params(ctx) if isinstance(one, click.Option)):
            titles = (title for title, names in self._sections.items() if parameter.name in names)
            if (record := parameter.get_help_record(ctx)) is not None:
                rows[next(titles, "Options")].append(record)
        for title, records in rows.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)


WORDS, NUMBERS = Words(), Numbers()
FORMATS = ("text", "concise", "json", "sarif", "github", "junit")
"""Of reports of findings."""

config_option = click.option(
    "--config", type=click.Path(path_type=Path), help="Read this configuration file."
)
isolated_option = click.option("--isolated", is_flag=True, help="Read no configuration file.")
force_exclude_option = click.option(
    "--force-exclude", is_flag=True, help="Apply excludes to named files too, as hooks need."
)
output_option = click.option(
    "--output-file", "-o", type=click.Path(path_type=Path), help="Write the report there."
)
exit_zero_option = click.option("--exit-zero", is_flag=True, help="Leave with 0 even if there are findings.")


def rule_options(function: F) -> F:
    """Add the options that choose rules: ``select``, ``ignore``, ``extend_select``."""
    for option in (
        click.option("--extend-select", type=WORDS, help="These rules as well."),
        click.option("--ignore", type=WORDS, help="Not these rules."),
        click.option("--select", type=WORDS, help="Only these rules: codes, prefixes or names, with commas."),
    ):
        function = option(function)
    return function


def format_option(*names: str) -> Callable[[F], F]:
    """Return the option ``--format`` with its choices, the first one the default."""
    return choice_option("--format", names, to="format_")


def quiet_option(more: str = "") -> Callable[[F], F]:
    """Return the option ``--quiet``; ``more`` says what else it leaves out."""
    return click.option("--quiet", "-q", is_flag=True, help=f"No progress{more}.")


def size_option(name: str, help_: str, *, least: int = 1, default: int | None = None) -> Callable[[F], F]:
    """Return an option that takes a whole number ``N`` of at least ``least``."""
    return click.option(
        name,
        type=click.IntRange(least),
        metavar="N",
        default=default,
        show_default=default is not None,
        help=help_,
    )


def list_option(
    name: str, sample: str, help_: str, *, to: str = "", default: tuple[str, ...] = ()
) -> Callable[[F], F]:
    """Return an option that takes words with commas between them; ``sample`` is how it is shown."""
    names = (name, to) if to else (name,)
    return click.option(*names, type=WORDS, default=default, metavar=sample, help=help_)


def choice_option(
    name: str, choices: Sequence[str], help_: str | None = None, *, to: str = ""
) -> Callable[[F], F]:
    """Return an option that takes one of a few words, the first one the default; ``to`` is its parameter."""
    names = (name, to) if to else (name,)
    return click.option(*names, type=click.Choice(choices), default=choices[0], show_default=True, help=help_)


color_option = choice_option("--color", ("auto", "always", "never"))
