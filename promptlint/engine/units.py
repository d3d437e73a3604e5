"""One file that is not Python: from its text to findings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from promptlint.config import Config
from promptlint.discover import Target
from promptlint.engine.judge import Judge
from promptlint.engine.world import World
from promptlint.errors import InputError, PromptlintError
from promptlint.filetypes import FileType
from promptlint.findings import Finding
from promptlint.frontends.base import Context
from promptlint.layout import Layout, OriginKind
from promptlint.report import FileError
from promptlint.source import Place, SourceFile
from promptlint.suppress import Suppression, parse

WORTH = 200  # files that pay for one more process


@dataclass(frozen=True, slots=True)
class Result:
    """What is known of one file.

    ``read`` is False for a document that holds no prompt. ``dependencies`` are the shown paths that
    were looked at, whether or not there was a file; of those in ``names`` only these names of the module
    matter, and ``outlines`` are the tables by which that is told later. ``listed`` says that the result also
    depends on which files there are. ``settled`` are ranges of templates whose values this file's code decides.
    """

    path: str
    findings: tuple[Finding, ...] = ()
    suppressions: tuple[Suppression, ...] = ()
    dependencies: tuple[str, ...] = ()
    listed: bool = False
    read: bool = True
    settled: tuple[Place, ...] = ()
    error: FileError | None = None
    names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    outlines: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


def failure(path: str, error: Exception, *, named: bool) -> FileError:
    """Turn an exception in one file into the line that the user sees."""
    if isinstance(error, InputError):
        message = str(error).removeprefix(f"{path}: ")
        return FileError(path, message, error.next_step, named=named)
    where = _innermost(error)
    return FileError(
        path,
        f"internal error: {type(error).__name__}: {error} ({where})",
        "please report it with the file; the other files were checked",
        internal=True,
        named=named,
    )


def _innermost(error: Exception) -> str:
    trace, last = error.__traceback__, "unknown place"
    while trace is not None:
        code = trace.tb_frame.f_code
        if "promptlint" in code.co_filename:
            last = f"{code.co_filename.rpartition('promptlint/')[2]}:{trace.tb_lineno}"
        trace = trace.tb_next
    return last


def layouts_of(source: SourceFile, kind: FileType, context: Context, *, named: bool) -> list[Layout] | None:
    """Read one file that is not Python; None for a document that holds no prompt."""
    if kind is FileType.JINJA and "add_generation_prompt" in source.text:
        kind = FileType.CHAT_TEMPLATE
    if kind is FileType.CHAT_TEMPLATE and "messages" not in source.text and not source.path.endswith(".json"):
        kind = FileType.JINJA
    if kind is FileType.CHAT_TEMPLATE:
        from promptlint.frontends import chat_template

        return chat_template.read(source, context)
    if kind is FileType.JINJA:
        from promptlint.frontends import jinja

        return jinja.read(source, context) if named or not jinja.is_page(source) else None
    from promptlint.frontends import documents

    if not named and not documents.claims(source.path, source.text[: documents.HEAD]):
        return None
    return documents.read(source, context, named=named)


def check_file(
    target: Target,
    world: World,
    judge: Judge,
    listing: Callable[[], tuple[str, ...]],
    config: Config,
) -> Result:
    """Check one file that is not Python.

    The frontend first sees no listing: it costs a walk over the project, and most files include
    nothing. Where the answer may depend on it, the file is read again with it.
    """
    path = target.path
    try:
        with world.recording() as seen:
            source = world.read(path)
            layouts = layouts_of(source, target.type, world.context(()), named=target.named)
            listed = layouts is not None and (len(seen) > 0 or any(map(_looks_elsewhere, layouts)))
            if listed:
                layouts = layouts_of(source, target.type, world.context(listing()), named=target.named)
            findings = tuple(judge.findings(layouts or ()))
    except PromptlintError as error:
        if not isinstance(error, InputError):
            raise  # a fault of the catalogue or configuration ends the run
        return Result(path, error=failure(path, error, named=target.named))
    except Exception as error:
        return Result(path, error=failure(path, error, named=target.named))
    finally:
        world.forget(path)
    return Result(
        path,
        findings,
        tuple(parse(source, config.jinja.comment)) if layouts is not None else (),
        tuple(sorted({path, *seen})),
        listed,
        read=layouts is not None,
    )


def check_texts(
    targets: Iterable[Target], config: Config, cwd: Path, listing: tuple[str, ...]
) -> Iterator[tuple[Target, Result]]:
    """Check files that are not Python, in a process of its own."""
    world, judge = World(config, cwd), Judge(config)
    for target in targets:
        yield target, check_file(target, world, judge, lambda: listing, config)


def _looks_elsewhere(layout: Layout) -> bool:
    """Tell whether a layout would look for other files if it knew of any."""
    return not layout.complete or any(s.origin.kind is OriginKind.INCLUDE for s in layout.segments)
