"""The prompts of one file, annotated and measured, for `promptlint layout`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from promptlint.config import Config
from promptlint.discover import discover, project_listing
from promptlint.engine.judge import Judge
from promptlint.engine.samples import filled, unused
from promptlint.engine.settled import unshown
from promptlint.engine.units import layouts_of
from promptlint.engine.world import World
from promptlint.errors import NothingToCheckError, UsageError
from promptlint.filetypes import FileType, type_of
from promptlint.layout import Layout, LayoutKind
from promptlint.source import SourceFile, Span

if TYPE_CHECKING:
    from promptlint.prefix.measure import Measure


_SHARED = 0.8  # of the characters of a shorter prompt that make it a variant of a longer one


@dataclass(frozen=True, slots=True)
class Inspected:
    """One prompt with its measure, the measure it would have with stable text first, and the model of both.

    ``lines`` are those that the segments stand in, each of the file that it comes from.
    """

    layout: Layout
    measure: Measure
    reordered: Measure
    model: str
    lines: tuple[int, ...]


def inspect(
    target: str, config: Config, cwd: Path, values: Mapping[str, Any], tell: Callable[[str], object] = str
) -> list[Inspected]:
    """Return the prompts of a file, or of one function of it (``app.py:build`` or ``package.app:build``).

    ``values`` are samples of what holes hold, by name; ``{"user": {"name": "Ada"}}`` fills ``user.name``. Names that
    no part asks for are told to ``tell``.

    Raises:
        UsageError: there is no such file or function.
        NothingToCheckError: it holds no prompt.
        InputError: the file cannot be read.
    """
    path, function = _resolve(target, cwd)
    judge, world = Judge(config), World(config, cwd)
    layouts = _read(path, function, config, cwd, judge, world)
    if function:
        built = [one for one in layouts if _is_of(one.name, function)]
        if not built:
            layouts = _read(path, "", config, cwd, judge, world)
            built = [one for one in layouts if _is_of(one.name, function)]  # a class: all its methods
        if not built:
            known = sorted({one.name.rpartition(" in ")[2] for one in layouts})
            raise UsageError(f"{target}: no prompt is built in {function!r}", _known(function, known))
        layouts = built
    if not layouts:
        raise NothingToCheckError(f"{target}: holds no prompt", "name another file")
    shown = list(unshown(layouts))
    for name in unused(values, [segment for layout in shown for segment in layout.segments]):
        tell(f"no part of {target} asks for {name!r}")
    found = [_inspected(layout, judge, values, world) for layout in shown]
    # A message that is passed through has nothing to reuse; it is shown only where nothing else is.
    return [one for one in found if one.measure.total] or found


def variants(found: Sequence[Inspected]) -> list[list[Inspected]]:
    """Return prompts in groups of one function; the first is the longest, and holds most of the others' text.

    Where there is a request, it is the longest request: a message of it is part of what is sent.
    A function that is called from several places, or that adds to a prompt step by step, gives one prompt for
    each of them.
    """
    groups: list[list[Inspected]] = []
    for one in found:
        group = next((group for group in groups if _alike(group[0].layout, one.layout)), None)
        if group is None:
            groups.append([one])
        else:
            group.append(one)
            group.sort(key=_weight, reverse=True)
    # Of one function the requests first: a message beside them is a part of one, changed on its way.
    owners = [group[0].layout.name.rpartition(" in ")[2] for group in groups]
    return sorted(
        groups,
        key=lambda group: (
            owners.index(group[0].layout.name.rpartition(" in ")[2]),
            group[0].layout.kind is not LayoutKind.REQUEST,
        ),
    )


def _weight(one: Inspected) -> tuple[bool, int]:
    return one.layout.kind is LayoutKind.REQUEST, one.measure.total


def _alike(one: Layout, other: Layout) -> bool:
    """Tell whether most of the text of the shorter prompt stands in the longer one, of the same function."""
    if one.name.rpartition(" in ")[2] != other.name.rpartition(" in ")[2]:
        return False
    if one.kind is other.kind is LayoutKind.REQUEST and one.place != other.place:
        return False  # two requests, however much they share
    short, long = sorted((_texts(one), _texts(other)), key=lambda texts: sum(map(len, texts)))
    whole = "\n".join(long)
    shared = sum(len(text) for text in short if text in whole)
    return shared >= _SHARED * sum(map(len, short))


def _texts(layout: Layout) -> list[str]:
    return [text for segment in layout.segments if (text := (segment.text or "").strip())]


def _is_of(name: str, function: str) -> bool:
    """Tell whether a prompt named ``text in Class.method`` is one of ``Class``, ``method`` or ``Class.method``."""
    return any(f".{function}." in f".{word}." for word in re.split(r"[\s:]+", name))


def _known(function: str, known: list[str]) -> str:
    if not known:
        return "no function of that file builds one; name another file"
    shown = get_close_matches(function, known, 3) or known[:8]
    rest = f" and {len(known) - len(shown):,} more" if len(known) > len(shown) else ""
    return f"found there: {', '.join(shown)}{rest}"


def _resolve(target: str, cwd: Path) -> tuple[Path, str]:
    if (cwd / target).is_file():
        return cwd / target, ""
    if (cwd / target).is_dir():
        raise UsageError(
            f"{target}: is a folder, and `layout` shows one file",
            "give a file, file.py:function or module:function; `promptlint check` reads folders",
        )
    name, colon, function = target.rpartition(":")
    if colon:
        if (cwd / name).is_file():
            return cwd / name, function
        for root in (cwd, cwd / "src"):
            stem = root.joinpath(*name.split("."))
            for file in (stem.with_suffix(".py"), stem / "__init__.py"):
                if file.is_file():
                    return file, function
    raise UsageError(f"{target}: no such file", "give a file, file.py:function or module:function")


def _read(path: Path, function: str, config: Config, cwd: Path, judge: Judge, world: World) -> list[Layout]:
    (target,) = discover([str(path)], config, cwd).targets
    listing = project_listing(path.parent, config, cwd)
    if type_of(target.path) is not FileType.PYTHON:
        return layouts_of(world.read(target.path), target.type, world.context(listing), named=True) or []
    from promptlint.frontends import python

    world.read(target.path)
    files = list(dict.fromkeys([target.path, *(p for p in listing if p.endswith(".py"))]))
    paths = (target.path,)
    only = function.rpartition(".")[2]
    units = python.analyze(files, world.context(listing), judge.catalog, root=cwd, paths=paths, only=only)
    return [layout for unit in units for layout in unit.layouts]


def _inspected(layout: Layout, judge: Judge, values: Mapping[str, Any], world: World) -> Inspected:
    from promptlint.prefix.compare import best_order

    annotated = judge.annotate(layout)
    shown = filled(annotated, values, lambda path: world.read(path).text) if values else annotated
    order = tuple(shown.segments[index] for index in best_order(shown.segments))
    model = judge.model(shown)
    lines = tuple(_line(world.read(s.place.path), s.place.span) for s in shown.segments)
    reordered = judge.measure(shown.with_segments(order))
    return Inspected(shown, judge.measure(shown), reordered, model, lines)


def _line(file: SourceFile, span: Span) -> int:
    """Return the line in which a part begins, whitespace left out."""
    written = file.text[span.start : span.end]
    blank = len(written) - len(written.lstrip()) if written.strip() else 0
    return file.position(span.start + blank)[0]
