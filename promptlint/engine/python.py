"""Python files: analysed as one program, kept file by file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

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

if TYPE_CHECKING:
    from promptlint.frontends import python

WORTH = 15  # files that pay for one more process


def check_python(
    targets: Iterable[Target],
    config: Config,
    cwd: Path,
    listing: tuple[str, ...],
    world: World | None = None,
    judge: Judge | None = None,
) -> Iterator[tuple[Target, Result]]:
    """Check Python files, one after the other as ``targets`` gives them.

    All Python files of the listing are linked; results are given for ``targets`` only. A process of
    its own makes its own ``world`` and ``judge``.
    """
    from promptlint.frontends import python

    world = world or World(config, cwd)
    judge = judge or Judge(config)
    files = tuple(path for path in listing if path.endswith(".py"))
    left, taken = iter(targets), list[Target]()

    def paths() -> Iterator[str]:
        for target in left:
            taken.append(target)
            yield target.path

    while True:
        units = python.analyze(files, world.context(listing), judge.catalog, root=cwd, paths=paths())
        try:
            for unit in units:
                *without, target = taken
                taken.clear()
                yield from ((one, _result(one, world)) for one in without)  # no prompt begins there
                yield target, _judged(unit, target, world, judge)
            break
        except PromptlintError:
            raise
        except Exception as error:
            if not taken:
                raise
            # Another analysis, that remembers nothing of this one, goes on behind the file that ended it.
            *without, target = taken
            taken.clear()
            yield from ((one, _result(one, world)) for one in without)
            yield target, Result(target.path, error=failure(target.path, error, named=target.named))
    yield from ((one, _result(one, world)) for one in taken)


def _judged(unit: python.Unit, target: Target, world: World, judge: Judge) -> Result:
    result = _result(target, world)
    if result.error is not None:
        return result
    try:
        findings = tuple(judge.findings(unit.layouts))
        ranges = settled(unit.path, unit.layouts)
        return replace(
            result,
            findings=findings,
            settled=ranges,
            dependencies=tuple(sorted({unit.path, *unit.dependencies})),
            names=_where_names_suffice(unit.names, findings, ranges),
            outlines=unit.outlines,
            listed=True,
        )
    except Exception as error:
        if isinstance(error, PromptlintError) and not isinstance(error, InputError):
            raise
        return Result(unit.path, error=failure(unit.path, error, named=target.named))


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
