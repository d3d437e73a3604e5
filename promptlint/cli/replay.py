"""``promptlint replay``: the only command that imports the runtime."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

import click

from promptlint.cli.common import read_config, start_of, write_whole
from promptlint.errors import NothingToCheckError, UsageError

if TYPE_CHECKING:
    from promptlint_runtime.prompts import Prompt
    from promptlint_runtime.replay import Options
    from promptlint_runtime.report import Run
    from promptlint_runtime.selftest import Step

DEFAULT_MODEL = "random:smollm2-135m"
_LOGS = {".jsonl", ".ndjson", ".csv", ".har", ".gz", ".xz", ".zst"}


class Memory(click.ParamType[int]):
    """A number of bytes with an optional unit: ``512MiB``, ``4GiB``."""

    name = "bytes"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Turn the text into bytes."""
        if isinstance(value, int):
            return value
        match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmg]?)(?:i?b)?", str(value).strip().lower())
        if not match:
            self.fail(f"{value!r} is not a size such as 512MiB or 4GiB", param, ctx)
        return int(float(match[1]) * {"": 1, "k": 2**10, "m": 2**20, "g": 2**30}[match[2]])


@click.command()
@click.argument("paths", nargs=-1)
@click.option(
    "--context", type=click.Path(path_type=Path), metavar="FILE", help="Template variables, JSON lines."
)
@click.option("--vary", metavar="SCOPES", help="Make up requests: scopes whose values change, with commas.")
@click.option("--each", type=click.IntRange(1), default=2, show_default=True, help="Values of each scope.")
@click.option(
    "--hole-words", type=click.IntRange(1), default=12, show_default=True, help="Words of a made-up value."
)
@click.option(
    "--model",
    default=DEFAULT_MODEL,
    show_default=True,
    metavar="NAME",
    help="Folder, .gguf file, hub name, or random:SHAPE.",
)
@click.option(
    "--adapter",
    type=click.Choice(["auto", "transformers"]),
    default="auto",
    show_default=True,
    help="Our own decoder where it fits, or always transformers.",
)
@click.option("--device", default="auto", show_default=True, metavar="NAME", help="cpu, cuda, cuda:1, …")
@click.option(
    "--dtype",
    type=click.Choice(["auto", "float32", "bfloat16", "float16"]),
    default="auto",
    show_default=True,
)
@click.option(
    "--cache",
    type=click.Choice(["block", "radix", "off"]),
    default="block",
    show_default=True,
    help="Blocks as in vLLM, a radix tree as in SGLang, or none.",
)
@click.option("--block-size", type=click.IntRange(1), metavar="N", help="Tokens a block (16) or page (1).")
@click.option("--kv-memory", type=Memory(), metavar="SIZE", help="Memory for keys and values.")
@click.option(
    "--kv",
    "storage",
    type=click.Choice(["model", "int8", "fp8"]),
    default="model",
    show_default=True,
    help="How keys and values are kept.",
)
@click.option(
    "--concurrency", type=click.IntRange(1), default=1, show_default=True, help="Requests at a time."
)
@click.option(
    "--step-tokens", type=click.IntRange(1), default=8192, show_default=True, help="Tokens of one step."
)
@click.option(
    "--order", type=click.Choice(["given", "shuffled", "by-prefix"]), default="given", show_default=True
)
@click.option(
    "--passes", type=click.IntRange(1), default=1, show_default=True, help="Send the whole set so often."
)
@click.option(
    "--output-tokens", type=click.IntRange(1), default=1, show_default=True, help="Tokens to generate."
)
@click.option(
    "--timed", type=click.IntRange(0), default=3, show_default=True, help="Prompts to time cold and warm."
)
@click.option(
    "--repeats", type=click.IntRange(1), default=3, show_default=True, help="Repeats of each timing."
)
@click.option("--seed", type=int, default=0, show_default=True)
@click.option("--as-written", is_flag=True, help="With --reordered: show both side by side.")
@click.option("--reordered", is_flag=True, help="Put the lines that change behind the others.")
@click.option("--self-test", is_flag=True, help="Hit ratio, third call against first, changing lines moved.")
@click.option("--fetch-model", metavar="NAME", help="Tell how to get a small real model (smollm2).")
@click.option("--format", "format_", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option("--output-file", "-o", type=click.Path(path_type=Path), help="Write the report there.")
@click.option("--picture", type=click.Path(path_type=Path), help="Draw the report (.svg, .png, .pdf).")
@click.option("--all", "every", is_flag=True, help="Show every request.")
@click.option("--quiet", "-q", is_flag=True, help="No progress.")
def command(paths: tuple[str, ...], fetch_model: str | None, **options: Any) -> int:
    """Replay prompts on an engine and compare measured hits with predicted ones.

    PATHS are JSON lines of prompts (`prompt`, `tokens` or `messages`), request logs, templates (with
    --context), or any file that `check` reads: its prompts are then made up with --vary.
    Leaves with 1 if a measured hit is not the predicted one.
    """
    if fetch_model:
        from promptlint_runtime.fetch import steps

        click.echo(steps(fetch_model), nl=False)
        return 0
    if not paths:
        raise UsageError("nothing to replay", "name a file with prompts, a template or a request log")
    _need_torch()
    prompts = _prompts(paths, options)
    return _local(prompts, options)


def _need_torch() -> None:
    from importlib.util import find_spec

    if find_spec("torch") is None:
        raise UsageError("replay needs torch", "pip install 'promptlint-cache[runtime]'")


def _prompts(paths: Sequence[str], options: dict[str, Any]) -> list[Prompt]:
    """Read all inputs.

    Raises:
        NothingToCheckError: they hold no prompt.
    """
    found: list[Prompt] = []
    for path in paths:
        found += _of_path(path, options)
    if not found:
        raise NothingToCheckError(f"{', '.join(paths)}: no prompt to replay", "name another file")
    return found


def _of_path(path: str, options: dict[str, Any]) -> list[Prompt]:
    from promptlint.source import read
    from promptlint_runtime.prompts import is_prompt_line, read_prompts

    suffixes = Path(path).suffixes
    if set(suffixes) & _LOGS:
        if suffixes[-1] == ".jsonl":
            source = read(Path(path), path, 1 << 30)
            first = next((line for line in source.text.splitlines() if line.strip()), "")
            if is_prompt_line(first):
                return list(read_prompts(source))
        return list(_of_log(path))
    if options["context"] and not _is_python(path):
        return list(_rendered(path, options))
    return list(_of_layouts(path, options))


def _is_python(path: str) -> bool:
    return ".py" in Path(path.partition(":")[0]).suffixes or not Path(path).is_file()


def _of_log(path: str) -> Iterator[Prompt]:
    from promptlint.layout import Section
    from promptlint.trace.model import Request
    from promptlint.trace.readers import open_log
    from promptlint_runtime.prompts import Prompt, message_pieces

    for entry in open_log(Path(path), path).entries:
        if not isinstance(entry, Request):
            raise UsageError(
                f"{path}: a log of hashes has no text to replay", "simulate it: promptlint trace"
            )
        messages: dict[tuple[Section, int], tuple[str, str]] = {}
        for part in entry.parts:
            role = "system" if part.section is not Section.MESSAGES else part.role
            before = messages.get((part.section, part.index), ("", ""))[1]
            messages[part.section, part.index] = (role or "user", before + part.text)
        pieces = message_pieces(messages.values(), path, entry.line)
        body = {"messages": [{"role": r, "content": t} for r, t in messages.values()]}
        yield Prompt(path, pieces, f"line {entry.line}", salt=entry.salt, body=body)


def _rendered(path: str, options: dict[str, Any]) -> Iterator[Prompt]:
    from promptlint.frontends.base import Delimiters
    from promptlint.source import read
    from promptlint_runtime.prompts import Prompt, read_contexts
    from promptlint_runtime.render import Renderer

    file = Path(path)
    settings = read_config(None, False, start_of((path,)))
    jinja = settings.jinja

    def load(name: str) -> str | None:
        places = (Path(name), file.parent / name, settings.root / name)
        at = next((place for place in places if place.is_file()), None)
        return read(at, name, settings.max_file_size).text if at else None

    renderer = Renderer(load, Delimiters(jinja.block, jinja.variable, jinja.comment), trim=jinja.trimmed)
    for number, values in enumerate(read_contexts(read(options["context"], str(options["context"]))), 1):
        yield Prompt(path, renderer.render(path, values), f"context {number}")


def _of_layouts(path: str, options: dict[str, Any]) -> Iterator[Prompt]:
    from promptlint.engine.inspect import inspect
    from promptlint.source import SourceFile, read
    from promptlint_runtime.prompts import read_contexts
    from promptlint_runtime.vary import parse_scopes, vary

    settings = read_config(None, False, start_of((path.rpartition(":")[0] or path,)))
    context = options["context"]
    rows = read_contexts(read(context, str(context))) if context else [{}]
    scopes = parse_scopes(options["vary"] or "session,request")
    sources: dict[str, SourceFile] = {}
    for values in rows:
        for one in inspect(path, settings, Path.cwd(), values):
            for segment in one.layout.segments:
                name = segment.place.path
                if name not in sources:
                    sources[name] = read(Path.cwd() / name, name, settings.max_file_size)
            yield from vary(
                one.layout,
                sources,
                scopes,
                each=options["each"],
                words=options["hole_words"],
                seed=options["seed"],
            )


def _local(prompts: Sequence[Prompt], options: dict[str, Any]) -> int:
    from promptlint.tokens.choose import DEFAULT_ENCODING, load_encoding
    from promptlint_runtime.local import Local, Model, variants
    from promptlint_runtime.selftest import self_test

    model = Model(options["model"], options["device"], options["dtype"], options["adapter"])
    local = Local(model, options["seed"], lambda: load_encoding(DEFAULT_ENCODING))
    how = _how(options)
    steps: list[Step] = []
    with _progress(enabled=not options["quiet"]) as advance:
        if options["self_test"]:
            steps, runs = self_test(local, prompts, how, advance)
        else:
            chosen = variants(prompts, as_written=options["as_written"], reordered=options["reordered"])
            runs = local.replay(chosen, how, advance)
    _show(runs, steps, options)
    if any(run.partial for run in runs):
        return 130
    wrong = any(run.mismatches for run in runs) or any(not step.passed for step in steps)
    return 1 if wrong else 0


def _how(options: dict[str, Any]) -> Options:
    from promptlint_runtime.kv import Storage
    from promptlint_runtime.replay import Options
    from promptlint_runtime.scheduler import Limits

    default = 1 if options["cache"] == "radix" else 16
    return Options(
        cache=options["cache"],
        block_tokens=options["block_size"] or default,
        kv_memory=options["kv_memory"],
        storage=Storage(options["storage"]),
        limits=Limits(options["concurrency"], options["step_tokens"]),
        max_new=options["output_tokens"],
        order=options["order"],
        passes=options["passes"],
        repeats=options["repeats"],
        timed=options["timed"],
        seed=options["seed"],
    )


def _show(runs: Sequence[Run], steps: Sequence[Step], options: dict[str, Any]) -> None:
    from promptlint_runtime.text import render, render_steps

    if options["format_"] == "json":
        text = json.dumps(_json(runs, steps), indent=2, ensure_ascii=False) + "\n"
    else:
        text = render_steps(steps) + render(runs, every=options["every"])
    if options["output_file"]:
        write_whole(options["output_file"], text)
    else:
        click.echo(text, nl=False)
    if options["picture"]:
        from promptlint_runtime.picture import draw

        draw(runs, options["picture"])


def _json(runs: Sequence[Run], steps: Sequence[Step]) -> dict[str, Any]:
    """Return the first run's keys at the top, and all runs where there are several."""
    from dataclasses import asdict

    found = runs[0].to_json()
    if len(runs) > 1:
        found["runs"] = [run.to_json() for run in runs]
    if steps:
        found["self_test"] = [asdict(step) for step in steps]
    return found


@contextmanager
def _progress(*, enabled: bool) -> Iterator[Callable[[str, int, int], None]]:
    """Give a function that shows ``what done / total`` on a terminal, ten times a second at most."""
    stream, shown = sys.stderr, 0.0

    def advance(what: str, done: int, total: int) -> None:
        nonlocal shown
        now = monotonic()
        if now - shown > 0.1:
            shown = now
            bar = "#" * (20 * done // max(1, total))
            stream.write(f"\r\x1b[K{what} [{bar:<20}] {done:,} of {total:,}")
            stream.flush()

    active = enabled and stream.isatty()
    yield advance if active else lambda what, done, total: None
    if active and shown:
        stream.write("\r\x1b[K")
        stream.flush()
