"""Replay on engines that are not ours: servers, and vLLM in this process."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from promptlint.errors import UsageError
from promptlint.words import counted

if TYPE_CHECKING:
    from promptlint_runtime.encode import Encoder
    from promptlint_runtime.prompts import Prompt
    from promptlint_runtime.report import Advance, Run
    from promptlint_runtime.shapes import Shape


def on_server(prompts: Sequence[Prompt], options: dict[str, Any], advance: Advance) -> list[Run]:
    """Replay on ``--endpoint``.

    Raises:
        UsageError: an option does not apply, or the tokens are more than may be spent.
    """
    from promptlint_runtime.endpoint.client import Endpoint, Target
    from promptlint_runtime.endpoint.http import Http
    from promptlint_runtime.variants import variants

    target = Target(
        options["endpoint"],
        options["surface"],
        options["model"] or "",
        options["api_key_env"] or "",
        options["block_size"],
        options["output_tokens"],
        options["concurrency"],
        repeats=options["repeats"],
        shape=_shape(options["tokenizer"]),
        timeout=options["timeout"],
    )
    # Timing sends prompts again and again: not to somebody who may charge for them unless it is asked for.
    local = Http(target.url, {}).is_local
    target = replace(target, timed=options["timed"] if options["timed"] is not None else int(local))
    runs: list[Run] = []
    with Endpoint(target, _encoder(options["tokenizer"])) as endpoint:
        chosen = variants(prompts, as_written=options["as_written"], reordered=options["reordered"])
        how = options["passes"], options["order"], options["seed"]
        arranged = [(title, endpoint.prepare(some, *how)) for title, some in chosen]
        tokens = sum(endpoint.tokens_of(sent) for _, sent in arranged)
        allow(endpoint.http.host, tokens, options["max_tokens_spent"], free=endpoint.http.is_local)
        for title, sent in arranged:
            runs.append(endpoint.run(title, sent, advance))
            if runs[-1].partial or runs[-1].stopped:
                break
    return runs


def in_vllm(prompts: Sequence[Prompt], options: dict[str, Any], advance: Advance) -> list[Run]:
    """Replay on ``--engine vllm``.

    Raises:
        UsageError: an option does not apply, or vLLM is not installed.
    """
    from promptlint_runtime.inprocess import Vllm, parse_options
    from promptlint_runtime.rows import arrange
    from promptlint_runtime.variants import variants

    if not options["model"]:
        raise UsageError("--engine vllm needs a model", "give --model")
    more = parse_options(options["engine_option"])
    timed = 1 if options["timed"] is None else options["timed"]
    engine = Vllm(
        options["model"], options["block_size"], options["output_tokens"], more, timed, options["repeats"]
    )
    chosen = variants(prompts, as_written=options["as_written"], reordered=options["reordered"])
    runs: list[Run] = []
    with closing(engine):
        for title, some in chosen:
            ids = [engine.encode(prompt) for prompt in some]
            sent = arrange(some, ids, options["order"], options["passes"], options["seed"])
            runs.append(engine.run(title, sent, advance))
            if runs[-1].partial or runs[-1].stopped:
                break
    return runs


def _shape(folder: str | None) -> Shape | None:
    """Return the sizes of the model whose folder holds the tokenizer, where its configuration is there too."""
    import json

    from promptlint_runtime.shapes import from_config

    try:
        config = json.loads((Path(folder or "") / "config.json").read_text("utf-8"))
    except (OSError, ValueError):
        return None
    return from_config(config, str(folder)) if isinstance(config, dict) else None


def _encoder(folder: str | None) -> Encoder | None:
    if folder is None:
        return None
    from promptlint_runtime.encode import ModelEncoder
    from promptlint_runtime.tokenizer import load_tokenizer

    tokenizer = load_tokenizer(Path(folder))
    if tokenizer is None:
        raise UsageError(f"{folder}: no tokenizer in it", "give the folder of a Hugging Face model")
    return ModelEncoder(tokenizer, len(tokenizer))


def allow(host: str, tokens: int, limit: int | None, *, free: bool) -> None:
    """Ask before tokens are sent to somebody who may charge for them.

    Raises:
        UsageError: they are more than the limit, or nobody agreed.
    """
    if limit is not None and tokens > limit:
        raise UsageError(
            f"up to {counted(tokens, 'token')} would be sent to {host}, over the limit of {limit:,}",
            "raise --max-tokens-spent, or send fewer prompts",
        )
    if free or limit is not None:
        return
    try:
        question = f"Send up to {counted(tokens, 'token')} to {host}? It may charge for them."
        agreed = click.confirm(question, err=True)
    except click.Abort:
        if sys.stdin.isatty():
            raise
        agreed = False  # there is nobody to ask
    if not agreed:
        raise UsageError("nothing was sent", "agree, or give --max-tokens-spent")
