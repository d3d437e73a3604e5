"""``promptlint trace``."""

from __future__ import annotations

import json
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from promptlint.cli.common import wants_color, write_whole
from promptlint.cli.params import (
    NUMBERS,
    Sectioned,
    choice_option,
    color_option,
    exit_zero_option,
    format_option,
    isolated_option,
    list_option,
    output_option,
    quiet_option,
    size_option,
)
from promptlint.errors import NothingToCheckError, UsageError
from promptlint.words import counted

if TYPE_CHECKING:
    from promptlint.trace.analyze import Analysis
    from promptlint.trace.options import Options

_NAMESPACES = ("model", "tenant", "salt", "replica")


_SECTIONS = {
    "Cache and tokens": "profile model tokenizer unit block_size kv_bytes_per_token",
    "Curves and what-ifs": "capacity ttl cache_per namespace sample engines policies replicas",
    "Causes": "source min_lost_tokens max_findings show_text",
    "Report": "format_ output_file color quiet exit_zero",
    "Sharing": "write_as salt",
    "Run": "isolated order jobs ray",
}


@click.command(cls=Sectioned, sections=_SECTIONS)
@click.argument("logs", nargs=-1, required=True, type=click.Path())
@isolated_option
@click.option(
    "--profile", default="", metavar="NAME", help="Cache rules for all requests; see `promptlint profiles`."
)
@click.option(
    "--model", default="", metavar="NAME", help="Model for tokens, rules and GiB: a name or a config.json."
)
@click.option(
    "--tokenizer", default="", metavar="NAME", help="Encoding or tokenizer.json instead of the model's own."
)
@choice_option("--unit", ("tokens", "bytes"), "What blocks count.")
@size_option("--block-size", "Tokens a block; default: the profile's, else 16.")
@list_option("--capacity", "N,8GiB", "Capacities to show: blocks, or bytes with --model.")
@size_option("--kv-bytes-per-token", "Bytes of keys and values a token takes.")
@click.option(
    "--ttl", type=NUMBERS, default=(), metavar="S,S", help="Lifetimes of the lifetime curve, in seconds."
)
@choice_option("--order", ("time", "log"), "Order of the requests.")
@choice_option("--cache-per", ("all", "namespace", "session"), "One cache for all requests, or one for each.")
@list_option(
    "--namespace",
    "LIST",
    "What keeps entries apart: model, tenant, salt, replica.",
    default=("model", "tenant", "salt"),
)
@click.option(
    "--sample",
    type=click.FloatRange(0, 1, min_open=True),
    metavar="RATE",
    help="Estimate the curve from a share of the blocks.",
)
@list_option("--engine", "LIST", "Run vllm, sglang over the log too.", to="engines")
@list_option("--policy", "LIST", "Run lru, fifo, belady over the log too.", to="policies")
@list_option("--replicas", "N,N", "What if the log were spread over N replicas.")
@click.option("--jobs", "-j", type=click.IntRange(0), default=0, metavar="N", help="Processes; 0 chooses.")
@click.option(
    "--ray", metavar="ADDRESS", help="Count hashed logs in Parquet on a Ray cluster; `local` starts one here."
)
@click.option(
    "--source",
    type=click.Path(exists=True, path_type=Path),
    metavar="DIR",
    help="Join causes with findings in this code.",
)
@size_option("--min-lost-tokens", "Losses below this are no miss.", default=32)
@size_option("--max-findings", "Findings listed; all are counted.", least=0, default=10_000)
@click.option("--show-text", is_flag=True, help="Show differing texts as they are; without it, their shape.")
@click.option(
    "--write",
    "write_as",
    type=click.Choice(["mooncake", "bailian", "weka", "parquet"]),
    help="Write hashes only, to --output-file.",
)
@click.option(
    "--salt", default="", help="Secret that enters the hashes of --write; default: a new random one."
)
@format_option("text", "json", "html-data", "parquet")
@output_option
@exit_zero_option
@color_option
@quiet_option()
def command(
    logs: tuple[str, ...], format_: str, output_file: Path | None, exit_zero: bool, **given: Any
) -> int:
    """Simulate a request log, explain its misses.

    LOGS are files in any known format, plain or packed with gzip, xz or zstandard; a folder stands
    for all files in it, and `-` for standard input. The format is found by the content.
    """
    from importlib.util import find_spec

    if find_spec("numpy") is None:
        raise UsageError("trace needs numpy", "pip install 'promptlint-cache[trace]'")
    from promptlint.trace.analyze import analyze

    started = time.monotonic()
    options = _options(given, rows=format_ == "parquet")
    if (format_ == "parquet" or given["write_as"]) and output_file is None:
        raise UsageError("no place to write to", "give --output-file FILE")
    if given["ray"]:
        data = _on_ray(logs, given["ray"], options, started)
        _write(data, [], format_, output_file, given["color"])
        return 0
    with _progress(enabled=not given["quiet"]) as advance:
        analysis = analyze(*_files(logs), options, advance)
    if given["write_as"]:
        assert output_file is not None
        return _share(analysis, given["write_as"], given["salt"], output_file)
    if given["source"]:
        _join(analysis, given["source"], given["isolated"])
    from promptlint.trace.report.data import report_data

    data = report_data(analysis, options, time.monotonic() - started)
    _write(data, analysis.rows, format_, output_file, given["color"])
    for error in analysis.errors:
        click.secho(f"{error}", fg="red", err=True)
        click.echo(f"  next: {error.next_step}", err=True)
    if analysis.interrupted:
        return 130
    if analysis.errors:
        return 2
    return 1 if analysis.findings and not exit_zero else 0


def _options(given: dict[str, Any], *, rows: bool) -> Options:
    from promptlint.trace.options import Options, kv_bytes_of
    from promptlint.trace.simulate.policies import POLICIES

    for name, known in (("engines", ("vllm", "sglang")), ("policies", tuple(POLICIES))):
        for word in given[name]:
            if word not in known:
                raise UsageError(f"{word}: unknown", f"choose from {', '.join(known)}")
    for word in given["namespace"]:
        if word not in _NAMESPACES:
            raise UsageError(f"--namespace {word}", f"choose from {', '.join(_NAMESPACES)}")
    if given["sample"] is not None and given["cache_per"] != "all":
        raise UsageError("--sample is for one cache", "leave --cache-per out, or take the exact curve")
    replicas = []
    for word in given["replicas"]:
        if not word.isdigit() or int(word) < 1:
            raise UsageError(f"--replicas {word}", "give whole numbers of at least 1")
        replicas.append(int(word))
    caches = {"all": "shared"}.get(given["cache_per"], given["cache_per"])
    model = given["model"]
    return Options(
        profile=given["profile"],
        model="" if Path(model).exists() else model,
        tokenizer=given["tokenizer"],
        unit=given["unit"],
        block=given["block_size"],
        capacities=given["capacity"],
        lifetimes=given["ttl"],
        kv_bytes=given["kv_bytes_per_token"] or kv_bytes_of(model),
        order=given["order"],
        caches=caches,
        namespaces=given["namespace"],
        sample=given["sample"],
        engines=given["engines"],
        policies=given["policies"],
        replicas=tuple(replicas),
        min_lost=given["min_lost_tokens"],
        max_findings=given["max_findings"],
        show_text=given["show_text"],
        rows=rows,
        jobs=given["jobs"],
    )


def _files(logs: tuple[str, ...]) -> tuple[list[Path], list[Path]]:
    """Return the files named one by one, and those found in folders."""
    named, found = [], []
    for name in logs:
        path = Path("/dev/stdin" if name == "-" else name)
        if not path.exists():
            raise UsageError(f"{name}: does not exist", "check the spelling")
        if path.is_dir():
            found += sorted(p for p in path.rglob("*") if p.is_file() and not p.name.startswith("."))
        else:
            named.append(path)
    if not named and not found:
        raise NothingToCheckError(f"{', '.join(logs)}: no files", "name a log, or a folder with logs")
    return named, found


def _share(analysis: Analysis, form: str, salt: str, path: Path) -> int:
    """Write the log as hashes."""
    from promptlint.trace.writers import write_trace

    if analysis.columns is None:
        raise NothingToCheckError("no request has text or hashes", "give a log with request bodies")
    count = write_trace(analysis.columns, form, salt, path)
    click.echo(f"{counted(count, 'request')} written to {path}: hashes and lengths, no text")
    return 0


def _join(analysis: Analysis, source: Path, isolated: bool) -> None:
    """Run `check` over the code and hand its findings to the causes."""
    from promptlint.cli.common import read_config
    from promptlint.engine.run import Request, check
    from promptlint.trace.explain.source import join

    paths = (str(source),)
    config = read_config(None, isolated, paths, min_lost_tokens=1)
    try:
        report = check(Request(paths, config, Path.cwd()))
    except NothingToCheckError as error:
        click.echo(f"note: --source: {error}", err=True)
        return
    join(analysis.groups, report)


def _on_ray(logs: tuple[str, ...], address: str, options: Options, started: float) -> dict[str, Any]:
    """Count a log in Parquet on a cluster."""
    from promptlint.trace.arrow import read_group, row_groups
    from promptlint.trace.cluster import on_ray
    from promptlint.trace.report.data import cluster_data
    from promptlint.trace.simulation import from_cluster

    if len(logs) != 1:
        raise UsageError("--ray takes one log", "give a .parquet file, a folder of such files, or a URI")
    first = read_group(row_groups(logs[0])[0])
    block = int(first["block_tokens"][0].as_py())
    curve = on_ray(logs[0], address)
    return cluster_data(logs[0], from_cluster(curve, block, options), time.monotonic() - started)


def _write(
    data: dict[str, Any], rows: list[dict[str, Any]], format_: str, output: Path | None, color: str
) -> None:
    if format_ == "parquet":
        from promptlint.trace.report.table import write_parquet

        assert output is not None
        write_parquet(rows, output)
        return
    if format_ == "json":
        text = json.dumps(data, indent=2, ensure_ascii=False) + "\n"
    elif format_ == "html-data":
        from promptlint.trace.report.page import render as page

        text = page(data)
    else:
        from promptlint.trace.report.text import render

        colored = output is None and wants_color(color, sys.stdout)
        plain = (sys.stdout.encoding or "").lower().replace("-", "") != "utf8"
        style = click.style if colored else lambda text, **_: text
        text = render(data, style, shutil.get_terminal_size().columns, ascii_=plain)
    if output is not None:
        write_whole(output, text)
    else:
        click.echo(text, nl=False, color=True if format_ == "text" and color == "always" else None)


@contextmanager
def _progress(*, enabled: bool) -> Iterator[Callable[[int, int, int], None] | None]:
    """Show on a terminal what share has been read and how long the rest will take."""
    stream = sys.stderr
    if not enabled or not stream.isatty():
        yield None
        return
    begun, shown = time.monotonic(), 0.0

    def advance(done: int, total: int, requests: int) -> None:
        nonlocal shown
        now = time.monotonic()
        if now - begun > 1.0 and now - shown > 0.2:
            shown = now
            share = min(1.0, done / total) if total else 0.0
            left = (now - begun) * (1 - share) / share if share > 0.01 else None
            rest = f", {left:,.0f} s left" if left is not None else ""
            stream.write(f"\r{share * 100:3.0f} %, {counted(requests, 'request')}{rest} \x1b[K")
            stream.flush()

    try:
        yield advance
    finally:
        if shown:
            stream.write("\r\x1b[K")
            stream.flush()


if __name__ == "__main__":
    sys.exit(command.main(standalone_mode=False))
