"""``promptlint replay``: the only command that imports the runtime."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from promptlint.cli.params import (
    Memory,
    Sectioned,
    choice_option,
    format_option,
    output_option,
    quiet_option,
    size_option,
)
from promptlint.cli.replay.inputs import read_all
from promptlint.cli.replay.remote import in_vllm, on_server
from promptlint.cli.replay.show import check_outputs, progress, show
from promptlint.errors import InputError, UsageError

if TYPE_CHECKING:
    from promptlint_runtime.prompts import Prompt
    from promptlint_runtime.replay import Options
    from promptlint_runtime.report import Advance, Run, Step

DEFAULT_MODEL = "random:smollm2-135m"


_SECTIONS = {
    "Prompts": "context vary each hole_words order passes reordered as_written seed",
    "Model": "model adapter device dtype fetch_model",
    "Cache": "cache block_size kv_memory storage",
    "Run": "concurrency step_tokens output_tokens timed repeats self_test modules",
    "Other engines": "endpoint surface tokenizer api_key_env timeout max_tokens_spent engine engine_option",
    "Report": "format_ output_file picture every quiet",
}


@click.command(cls=Sectioned, sections=_SECTIONS)
@click.argument("paths", nargs=-1)
@click.option(
    "--context", type=click.Path(path_type=Path), metavar="FILE", help="Template variables, JSON lines."
)
@click.option("--vary", metavar="SCOPES", help="Make up requests: scopes whose values change, with commas.")
@size_option("--each", "Values of each scope.", default=2)
@size_option("--hole-words", "Words of a made-up value.", default=12)
@click.option(
    "--model",
    metavar="NAME",
    help=f"Folder, .gguf file, hub name, or random:SHAPE ({DEFAULT_MODEL}); with --endpoint the server's name.",
)
@choice_option(
    "--adapter", ("auto", "transformers"), "Our own decoder where it fits, or always transformers."
)
@click.option("--device", default="auto", show_default=True, metavar="NAME", help="cpu, cuda, cuda:1, …")
@choice_option("--dtype", ("auto", "float32", "bfloat16", "float16"))
@choice_option("--cache", ("block", "radix", "off"), "Blocks as in vLLM, a radix tree as in SGLang, or none.")
@size_option("--block-size", "Tokens a block (16) or page (1).")
@click.option("--kv-memory", type=Memory(), metavar="SIZE", help="Memory for keys and values.")
@choice_option("--kv", ("model", "int8", "fp8"), "How keys and values are kept.", to="storage")
@size_option("--concurrency", "Requests at a time.", default=1)
@size_option("--step-tokens", "Tokens of one step.", default=8192)
@choice_option("--order", ("given", "shuffled", "by-prefix"), "Order of the requests.")
@size_option("--passes", "Send the whole set so often.", default=1)
@size_option("--output-tokens", "Tokens to generate.", default=1)
@size_option("--timed", "Prompts to time cold and warm (1; 0 where a server may charge).", least=0)
@size_option("--repeats", "Repeats of each timing (3; 1 where a prompt takes over 2 s).")
@click.option(
    "--seed", type=int, default=0, show_default=True, help="Of made-up values, shuffles and weights."
)
@click.option("--as-written", is_flag=True, help="With --reordered: show both side by side.")
@click.option("--reordered", is_flag=True, help="Put the lines that change behind the others.")
@click.option("--self-test", is_flag=True, help="Hit ratio, third call against first, changing lines moved.")
@click.option("--modules", is_flag=True, help="Compare with reuse of fixed text at any place (approximate).")
@click.option(
    "--endpoint", metavar="URL", help="Send to this server instead; keys come from the environment."
)
@choice_option("--surface", ("completions", "chat", "responses", "messages"), "API of the endpoint.")
@click.option(
    "--tokenizer", metavar="FOLDER", help="Tokenizer of the endpoint's model, if it has no /tokenize."
)
@click.option("--api-key-env", metavar="NAME", help="Environment variable with the key.")
@click.option(
    "--timeout",
    type=click.FloatRange(0, min_open=True),
    default=600.0,
    show_default=True,
    metavar="SECONDS",
    help="How long an endpoint may stay silent.",
)
@size_option("--max-tokens-spent", "Send so many tokens without asking.", least=0)
@choice_option("--engine", ("promptlint", "vllm"), "The bundled runtime, or vLLM in this process.")
@click.option(
    "--engine-option",
    multiple=True,
    metavar="NAME=VALUE",
    help="Option for vLLM, such as tensor_parallel_size=2.",
)
@click.option("--fetch-model", metavar="NAME", help="Tell how to get a small real model (smollm2).")
@format_option("text", "json")
@output_option
@click.option("--picture", type=click.Path(path_type=Path), help="Draw the report (.svg, .png, .pdf).")
@click.option("--all", "every", is_flag=True, help="Show every request.")
@quiet_option()
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
    _check_applying(options)
    check_outputs(options)
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
    stopped = [run.stopped for run in runs if run.stopped]
    if stopped:
        raise InputError(stopped[0], "the report covers what was done before")
    wrong = any(run.mismatches for run in runs) or any(not step.passed for step in verdicts)
    return 1 if wrong else 0


_OWN = ("adapter", "device", "dtype", "cache", "kv_memory", "storage", "step_tokens", "self_test", "modules")
_SERVERS = ("surface", "tokenizer", "api_key_env", "timeout", "max_tokens_spent")


def _check_applying(options: dict[str, Any]) -> None:
    """Refuse options that were given and would have no effect.

    Raises:
        UsageError: there is one.
    """
    idle: tuple[str, ...]
    if options["endpoint"]:
        what, idle = "--endpoint", (*_OWN, "engine", "engine_option")
    elif options["engine"] == "vllm":
        what, idle = "--engine vllm", (*_OWN, *_SERVERS, "concurrency")
    else:
        what, idle = "the bundled runtime", (*_SERVERS, "engine_option")
    context = click.get_current_context()
    for parameter in context.command.params:
        given = context.get_parameter_source(parameter.name or "") is ParameterSource.COMMANDLINE
        if given and parameter.name in idle:
            raise UsageError(f"{parameter.opts[0]} has no effect with {what}", "leave one out")


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
    if not name.startswith("random:") and not Path(name).exists() and not options["quiet"]:
        click.echo(f"{name} is no folder or file here: the Hugging Face hub is asked for it", err=True)
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
    memory = options["kv_memory"]
    return Options(
        cache=options["cache"],
        block_tokens=options["block_size"] or default,
        kv_memory=int(memory) if memory else None,
        storage=Storage(options["storage"]),
        limits=Limits(options["concurrency"], options["step_tokens"]),
        max_new=options["output_tokens"],
        order=options["order"],
        passes=options["passes"],
        repeats=options["repeats"],
        timed=1 if options["timed"] is None else options["timed"],
        seed=options["seed"],
    )
