"""``promptlint replay``: the only command that imports the runtime."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from promptlint.cli.replay.inputs import read_all
from promptlint.cli.replay.remote import in_vllm, on_server
from promptlint.cli.replay.show import progress, show
from promptlint.errors import UsageError

if TYPE_CHECKING:
    from promptlint_runtime.prompts import Prompt
    from promptlint_runtime.replay import Options
    from promptlint_runtime.report import Advance, Run, Step

DEFAULT_MODEL = "random:smollm2-135m"


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
    metavar="NAME",
    help=f"Folder, .gguf file, hub name, or random:SHAPE ({DEFAULT_MODEL}); with --endpoint the server's name.",
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
@click.option("--modules", is_flag=True, help="Compare with reuse of fixed text at any place (approximate).")
@click.option(
    "--endpoint", metavar="URL", help="Send to this server instead; keys come from the environment."
)
@click.option(
    "--surface",
    type=click.Choice(["completions", "chat", "responses", "messages"]),
    default="completions",
    show_default=True,
    help="API of the endpoint.",
)
@click.option(
    "--tokenizer", metavar="FOLDER", help="Tokenizer of the endpoint's model, if it has no /tokenize."
)
@click.option("--api-key-env", metavar="NAME", help="Environment variable with the key.")
@click.option(
    "--max-tokens-spent", type=click.IntRange(0), metavar="N", help="Send so many tokens without asking."
)
@click.option(
    "--engine",
    type=click.Choice(["promptlint", "vllm"]),
    default="promptlint",
    show_default=True,
    help="The bundled runtime, or vLLM in this process.",
)
@click.option(
    "--engine-option",
    multiple=True,
    metavar="NAME=VALUE",
    help="Option for vLLM, such as tensor_parallel_size=2.",
)
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
    if not options["endpoint"]:
        _need_torch()
    prompts = read_all(paths, options)
    verdicts: list[Step] = []
    with progress(enabled=not options["quiet"]) as advance:
        if options["endpoint"]:
            runs = on_server(prompts, options, advance)
        elif options["engine"] == "vllm":
            runs = in_vllm(prompts, options, advance)
        else:
            runs, verdicts = _local(prompts, options, advance)
    show(runs, verdicts, options)
    if any(run.partial for run in runs):
        return 130
    wrong = any(run.mismatches for run in runs) or any(not step.passed for step in verdicts)
    return 1 if wrong else 0


def _need_torch() -> None:
    from importlib.util import find_spec

    if find_spec("torch") is None:
        raise UsageError("replay needs torch", "pip install 'promptlint-cache[runtime]'")


def _local(
    prompts: Sequence[Prompt], options: dict[str, Any], advance: Advance
) -> tuple[list[Run], list[Step]]:
    from promptlint.tokens.choose import DEFAULT_ENCODING, load_encoding
    from promptlint_runtime.local import Local, Model
    from promptlint_runtime.selftest import self_test
    from promptlint_runtime.variants import variants

    name = options["model"] or DEFAULT_MODEL
    model = Model(name, options["device"], options["dtype"], options["adapter"])
    local = Local(model, options["seed"], lambda: load_encoding(DEFAULT_ENCODING))
    how = _how(options)
    if options["modules"]:
        return local.compare_reuse(prompts, how, advance), []
    if options["self_test"]:
        steps, runs = self_test(local, prompts, how, advance)
        return runs, steps
    chosen = variants(prompts, as_written=options["as_written"], reordered=options["reordered"])
    return local.replay(chosen, how, advance), []


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
