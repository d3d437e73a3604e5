"""Python files: analysed as one program, kept file by file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from promptlint.config import Config
from promptlint.discover import Target
from promptlint.engine.judge import Judge
from promptlint.engine.settled import settled
from promptlint.engine.units import Result, failure
from promptlint.engine.world import World
from promptlint.errors import InputError, PromptlintError
from promptlint.findings import Finding
from promptlint.source import Place
from promptlint.suppress import parse

WORTH = 60  # files that pay for one more process


def check_python(
    targets: Sequence[Target],
    config: Config,
    cwd: Path,
    listing: tuple[str, ...],
    world: World | None = None,
    judge: Judge | None = None,
) -> Iterator[tuple[Target, Result]]:
    """Check Python files.

    All Python files of the listing are linked; results are given for ``targets`` only. A process of
    its own makes its own ``world`` and ``judge``.
    """
    from promptlint.frontends import python

    world = world or World(config, cwd)
    judge = judge or Judge(config)
    wanted = {target.path: target for target in targets}
    files = [path for path in dict.fromkeys([*wanted, *listing]) if path.endswith(".py")]
    skip = frozenset(files) - wanted.keys()
    try:
        units = python.analyze(files, world.context(listing), judge.catalog, root=cwd, skip=skip)
        for unit in units:
            target = wanted.pop(unit.path, None)
            if target is None:
                continue
            result = _result(target, world)
            if result.error is None:
                dependencies = tuple(sorted({unit.path, *unit.dependencies}))
                result = replace(result, dependencies=dependencies, listed=True, outlines=unit.outlines)
                try:
                    findings = tuple(judge.findings(unit.layouts))
                    ranges = settled(unit.path, unit.layouts)
                    names = _where_names_suffice(unit.names, findings, ranges)
                    result = replace(result, findings=findings, settled=ranges, names=names)
                except Exception as error:
                    if isinstance(error, PromptlintError) and not isinstance(error, InputError):
                        raise
                    result = Result(unit.path, error=failure(unit.path, error, named=target.named))
            yield target, result
    except PromptlintError:
        raise
    except Exception as error:
        left = list(wanted.values())
        if len(left) == 1:
            yield left[0], Result(left[0].path, error=failure(left[0].path, error, named=left[0].named))
            return
        # One of them did it, and the analysis does not say which: halve until it stands alone.
        for half in (left[: len(left) // 2], left[len(left) // 2 :]):
            yield from check_python(half, config, cwd, listing, world, judge)
        return
    for target in wanted.values():  # nothing in them: no prompt begins there
        yield target, _result(target, world)


def _where_names_suffice(
    names: Mapping[str, tuple[str, ...]], findings: Iterable[Finding], ranges: Iterable[Place]
) -> dict[str, tuple[str, ...]]:
    """Leave out the files that a result points into: its places move with any change there."""
    shown = {place.path for finding in findings for place in finding.places()} | {p.path for p in ranges}
    return {path: found for path, found in names.items() if path not in shown}


def _result(target: Target, world: World) -> Result:
    """Return the empty result of a readable file, or its error."""
    try:
        source = world.read(target.path)
    except InputError as error:
        return Result(target.path, error=failure(target.path, error, named=target.named))
    return Result(target.path, (), tuple(parse(source)), (target.path,))
