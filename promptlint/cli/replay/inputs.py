"""What to replay: prompts, logs, templates with contexts, and the prompts that `check` finds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from promptlint.cli.common import read_config
from promptlint.errors import InputError, NothingToCheckError

if TYPE_CHECKING:
    from promptlint.engine.inspect import Inspected
    from promptlint_runtime.prompts import Prompt

_LOGS = {".jsonl", ".ndjson", ".csv", ".har", ".gz", ".xz", ".zst"}


def read_all(paths: Sequence[str], options: dict[str, Any]) -> list[Prompt]:
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
    if options["context"] and not options["vary"] and not _is_python(path):
        return list(_rendered(path, options))
    return list(_of_layouts(path, options))


def _is_python(path: str) -> bool:
    return ".py" in Path(path.partition(":")[0]).suffixes or not Path(path).is_file()


def _of_log(path: str) -> Iterator[Prompt]:
    from promptlint.layout import Section
    from promptlint.trace.model import Request
    from promptlint.trace.readers import open_log
    from promptlint_runtime.prompts import Piece, Prompt, hashed_ids, message_pieces

    for entry in open_log(Path(path), path).entries:
        if not isinstance(entry, Request):
            ids = hashed_ids(entry.ids, entry.block_tokens, entry.length)
            salt = entry.namespace
            yield Prompt(path, (Piece("", path, entry.line),), f"line {entry.line}", ids=ids, salt=salt)
            continue
        messages: dict[int, tuple[str, str]] = {}  # 0: tools and system prompt, as one message
        for part in entry.parts:
            conversation = part.section is Section.MESSAGES
            number = part.index + 1 if conversation else 0
            role = part.role or "user" if conversation else "system"
            messages[number] = (role, messages.get(number, ("", ""))[1] + part.text)
        pieces = message_pieces(messages.values(), path, entry.line)
        body = {"messages": [{"role": r, "content": t} for r, t in messages.values()]}
        salt = "/".join(filter(None, (entry.tenant, entry.salt)))
        yield Prompt(path, pieces, f"line {entry.line}", salt=salt, body=body)


def _rendered(path: str, options: dict[str, Any]) -> Iterator[Prompt]:
    from promptlint.frontends.base import Delimiters
    from promptlint.source import read
    from promptlint_runtime.prompts import Prompt, read_contexts
    from promptlint_runtime.render import Renderer

    file = Path(path)
    settings = read_config(None, False, (path,))
    jinja = settings.jinja

    roots = [folder.resolve() for folder in (Path.cwd(), file.parent, settings.root)]

    def load(name: str) -> str | None:
        if name == path:
            return read(file, name, settings.max_file_size).text
        for place in (root / name for root in roots):
            # A template may include what lies beside it or in the project, and nothing else.
            if place.is_file() and any(place.resolve().is_relative_to(root) for root in roots):
                return read(place, name, settings.max_file_size).text
        return None

    renderer = Renderer(load, Delimiters(jinja.block, jinja.variable, jinja.comment), trim=jinja.trimmed)
    rows = read_contexts(read(options["context"], str(options["context"])))
    texts = [renderer.render(path, values) for values in rows]
    if len({str(values) for values in rows}) > 1 and len({"".join(p.text for p in t) for t in texts}) == 1:
        raise InputError(
            f"{path}: the values of --context change nothing in it",
            "name the variables of the template; where holes are written in another way than in Jinja, add --vary",
        )
    for number, pieces in enumerate(texts, 1):
        yield Prompt(path, pieces, f"context {number}")


def _of_layouts(path: str, options: dict[str, Any]) -> Iterator[Prompt]:
    from promptlint.engine.inspect import inspect
    from promptlint.source import SourceFile, read
    from promptlint_runtime.prompts import read_contexts
    from promptlint_runtime.vary import parse_scopes, vary

    settings = read_config(None, False, (path.rpartition(":")[0] or path,))
    context = options["context"]
    rows = read_contexts(read(context, str(context))) if context else [{}]
    scopes = parse_scopes(options["vary"] or "session,request")
    sources: dict[str, SourceFile] = {}
    for values in rows:
        for one in _sent(inspect(path, settings, Path.cwd(), values)):
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


def _sent(found: list[Inspected]) -> Iterator[Inspected]:
    """Yield what is sent: of a function that makes a request the requests, not the texts that they are made of as well."""
    from promptlint.engine.inspect import variants
    from promptlint.layout import LayoutKind

    for group in variants(found):
        requests = [one for one in group if one.layout.kind is LayoutKind.REQUEST]
        yield from requests or group[:1]
