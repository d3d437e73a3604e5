"""Text and data that a program loads from files of the project."""

from __future__ import annotations

import ast
import posixpath
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from promptlint.frontends.mapped import MappedText
from promptlint.frontends.python.evaluate.machine import Frame, Machine
from promptlint.frontends.python.values.pieces import Alt, Lit, TextSource
from promptlint.frontends.python.values.values import (
    MAX_CHOICE,
    Choice,
    Const,
    DictV,
    Item,
    ListV,
    Obj,
    Str,
    Unknown,
    Value,
    choice,
)
from promptlint.layout import Cause, Confidence, Guard, Kind, Scope
from promptlint.source import Place, SourceFile

if TYPE_CHECKING:
    from promptlint.frontends.documents import tree
    from promptlint.frontends.python.values.arguments import Arguments

FOLDER = "folder"  # of a path: what is in front of its name
_ROOT = "<root>"  # what the paths that are known from `__file__` begin with: the root of the project
MAX_DATA = 500_000  # characters of a data file: what is larger holds records, whatever is made of them
OWN = "<file>"  # the name of what a file of the program says that is not at hand: a prompt that is packed elsewhere
_OF_THE_PROGRAM = re.compile(r"prompt|template|instruction|persona", re.IGNORECASE)
# Folders that a run works in: what their files say, others write.
_OF_A_RUN = re.compile(
    r"(^|_)(workspace|workdir|work_?dir|working_?dir(ectory)?|cwd|pwd|home|sandbox)(_|\d|$)", re.IGNORECASE
)
_TAIL = re.compile(r"[\w.-]*(?:/[\w.-]+)*/[\w.-]*\w\.\w{1,8}")


def path_of(value: Value | None) -> str | None:
    """Return a path as text: ``<root>/x`` is a file of the project."""
    if isinstance(value, Obj) and value.kind == "path":
        return value.name
    if isinstance(value, Str):
        return value.plain()
    return None


def end_of(value: Value | None) -> str | None:
    """Return the part of a path that is known behind one that is not: ``f"{folder}/prompts/plan.txt"``."""
    last = value.parts[-1] if isinstance(value, Str) and value.parts else None
    found = _TAIL.fullmatch(last.text) if isinstance(last, Lit) else None
    return found.group().lstrip("/") if found else None


def either(values: Sequence[Value], make: Callable[[Sequence[Value]], Value | None]) -> Value | None:
    """Return what is made of the parts of a path; of one that a condition chooses, each: ``f"{folder}/{kind}.md"``."""
    for at, value in enumerate(values):
        if (chosen := _chosen(value)) is None:
            continue
        guard, ways = chosen
        made = [either([*values[:at], way, *values[at + 1 :]], make) for way in ways]
        found = [one for one in made if one is not None]
        return choice(guard, found) if found else None
    return make(values)


def _chosen(value: Value) -> tuple[Guard, Sequence[Value]] | None:
    """Return the values of which a condition chooses one, and that condition: texts, or what differs within one."""
    if isinstance(value, Choice):
        return value.guard, value.values
    parts = value.parts if isinstance(value, Str) else ()
    chosen = [(at, part) for at, part in enumerate(parts) if isinstance(part, Alt)]
    if len(chosen) != 1 or len(chosen[0][1].branches) > MAX_CHOICE:
        return None
    at, alt = chosen[0]
    return alt.guard, [Str((*parts[:at], *branch, *parts[at + 1 :])) for branch in alt.branches]


def path_value(path: str, folder: Value | None = None) -> Obj:
    """Return a path object; one below a folder that differs from run to run keeps what is known of that."""
    out = Obj(kind="path", name=path)
    if folder is not None:
        out.attrs[FOLDER] = folder
    return out


def folder_of(value: Value | None) -> Value | None:
    """Return the folder that a path begins with, if that changes: ``Path.cwd()``, ``tempfile.mkdtemp()``, ``workspace``."""
    if isinstance(value, Obj):
        return value.attrs.get(FOLDER) if value.kind == "path" else None
    known = isinstance(value, Unknown) and (value.cause is not None or _OF_A_RUN.search(value.name))
    return value if known else None


def text_of_file(m: Machine, path: str | None, frame: Frame) -> Str | None:
    """Return the text of a file of the project; None where it is not found."""
    found = find(m, path, frame)
    source = m.project.context.load(found) if found else None
    if source is None or found is None:
        return None
    m.project.reads.add((found, None))
    mapped = MappedText.of(source)
    return Str((Lit(source.text, TextSource(found, lambda: mapped)),)) if source.text else Str(())


def find(m: Machine, path: str | None, frame: Frame) -> str | None:
    """Return the project file that a path in code means."""
    if not path:
        return None
    if path.startswith(_ROOT):
        return m.project.file(path[len(_ROOT) :].lstrip("/"), "")
    return m.project.file(path, frame.module.path)


def read(m: Machine, value: Value, node: ast.Call, frame: Frame) -> Value:
    """Return what ``open(...).read()`` or ``Path(...).read_text()`` gives."""
    found = text_of_file(m, path_of(value), frame)
    if found is not None:
        return found
    place = frame.module.place(node)
    cause = inside(value.cause) if not _is_temporary(value) else None
    cause = cause or _of_a_run(folder_of(value), place, frame.module.text(node))
    return Unknown(place, name=_named(value, frame), path="read()", cause=cause, text=frame.module.text(node))


def _of_a_run(folder: Value | None, place: Place, text: str) -> Cause | None:
    """Return why what a file of a folder says differs: others work in another one, and write other files there."""
    known = folder is not None and inside(folder.cause)
    if folder is None or (folder.cause is not None and not known):
        return None
    return Cause(Kind.ENVIRONMENT, Scope.SESSION, text, Confidence.LOW, place)


def _named(value: Value, frame: Frame) -> str:
    """Return `OWN` for a file that is the program's: beside a module, in a folder of prompts, or read at import."""
    path = path_of(value) if isinstance(value, Obj) else None
    if not path or folder_of(value) is not None:
        return ""
    own = frame.func is None or path.startswith(_ROOT) or _OF_THE_PROGRAM.search(path)
    return OWN if own else ""


def inside(cause: Cause | None) -> Cause | None:
    """Return why what a file says changes; that its path was made a whole one says nothing of it."""
    return None if cause is not None and cause.variant == "whole-path" else cause


def attribute(m: Machine, obj: Obj, attr: str) -> Value | None:
    """Return an attribute of a path object."""
    if attr == "parent":
        parent = posixpath.dirname(obj.name)
        return path_value(parent or ".", folder_of(obj))
    if attr in ("name", "stem", "suffix"):
        return Unknown(None, name=attr)
    return None


def method(m: Machine, obj: Obj, name: str, given: Arguments, node: ast.Call, frame: Frame) -> Value | None:
    """Return the result of a method of a path or file object."""
    if name in ("read_text", "read", "read_bytes", "readlines"):
        return read(m, obj, node, frame)
    if name in ("joinpath", "with_name", "with_suffix"):

        def beside(values: Sequence[Value]) -> Value | None:
            other = path_of(values[0]) if values else None
            if other is None:
                return Unknown(frame.module.place(node), name="path")
            if name == "with_suffix":
                return path_value(posixpath.splitext(obj.name)[0] + other, folder_of(obj))
            base = obj.name if name == "joinpath" else posixpath.dirname(obj.name)
            parts = (p for p in map(path_of, values) if p)
            return path_value(posixpath.join(base, *parts), folder_of(obj))

        return either(given.args, beside)
    if name in ("resolve", "absolute", "expanduser", "open", "__enter__", "as_posix", "decode"):
        return obj
    return None


def joined(left: Value, right: Value) -> Value | None:
    """Return ``path / other``."""
    return either((left, right), _below)


def _below(values: Sequence[Value]) -> Obj | None:
    left, right = values
    base, tail = path_of(left), path_of(right)
    if not tail:
        return None
    if isinstance(left, Obj) and left.kind == "path":
        return path_value(posixpath.join(base or "", tail), folder_of(left))
    folder = folder_of(left)
    return (
        path_value(tail, folder)
        if isinstance(left, Unknown) and (folder is not None or "." in tail)
        else None
    )


def _path(m: Machine, given: Arguments, node: ast.Call, frame: Frame) -> Value | None:
    return either(given.args, _together)


def _together(values: Sequence[Value]) -> Value | None:
    parts = [path_of(value) for value in values]
    if not parts:
        return path_value(".")
    if parts == [None]:
        return folder_of(values[0])
    known = [p for p in parts if p]
    return path_value(posixpath.join(*known), folder_of(values[0])) if known and parts[-1] else None


def _dirname(m: Machine, given: Arguments, node: ast.Call, frame: Frame) -> Value | None:
    path = path_of(given.args[0]) if given.args else None
    return path_value(posixpath.dirname(path), folder_of(given.args[0])) if path else None


def _same_path(m: Machine, given: Arguments, node: ast.Call, frame: Frame) -> Value | None:
    return either(given.args[:1], _alone)


def _alone(values: Sequence[Value]) -> Obj | None:
    path = path_of(values[0]) if values else None
    return path_value(path, folder_of(values[0])) if path else None


def _open(m: Machine, given: Arguments, node: ast.Call, frame: Frame) -> Value | None:
    value = given.get(0, "file")
    if value is not None and _is_temporary(value):
        return Unknown(frame.module.place(node), path="open()")
    return either((value,), _opened) if value is not None else None


def _is_temporary(path: Value) -> bool:
    """Tell whether a path is that of a temporary file: what it says was just written there, whatever it is called."""
    return path.cause is not None and path.cause.what.startswith("tempfile.")


def _opened(values: Sequence[Value]) -> Obj | None:
    path = path_of(values[0]) or end_of(values[0])
    return path_value(path, folder_of(values[0])) if path else None


def _resources(m: Machine, given: Arguments, node: ast.Call, frame: Frame) -> Value:
    """Return the folder of a package, named as a text, or of the file's own."""
    package = given.get(0, "anchor", "package")
    named = package.plain() if isinstance(package, Str) else None
    own = posixpath.join(_ROOT, posixpath.dirname(frame.module.path))
    return path_value(named.replace(".", "/") if named else own)


def _resource(m: Machine, given: Arguments, node: ast.Call, frame: Frame) -> Value | None:
    """Return the text of a file in a package: ``read_text("app.prompts", "plan.md")``."""
    folder, name = _resources(m, given, node, frame), path_of(given.get(1, "resource"))
    if not (isinstance(folder, Obj) and name):
        return None
    return read(m, path_value(posixpath.join(folder.name, name)), node, frame)


def _loads(m: Machine, given: Arguments, node: ast.Call, frame: Frame) -> Value | None:
    """Parse text or an open file of the project as the data that it is."""
    value = given.args[0] if given.args else None
    path = None
    if isinstance(value, Obj) and value.kind == "path":
        path = find(m, value.name, frame)
    elif (
        isinstance(value, Str)
        and len(value.parts) == 1
        and isinstance(value.parts[0], Lit)
        and not value.parts[0].at
    ):
        path = value.parts[0].source.path
        source = m.project.context.load(path)
        if source is None or source.text != value.parts[0].text:
            path = None
    from promptlint.frontends.documents import tree

    source = m.project.context.load(path) if path else None
    if source is None or path is None or tree.format_of(path) is None:
        return None
    m.project.reads.add((path, None))
    root = parsed(m, source)
    return None if root is None else data(root)


def parsed(m: Machine, source: SourceFile) -> tree.Node | None:
    """Return the tree of a data file, parsed once however many functions load it; None if it is malformed or large."""
    from promptlint.frontends.documents import tree

    known = m.project.trees.get(source.path)
    if known is None or known[0] is not source:
        try:
            known = source, tree.load(source) if len(source.text) <= MAX_DATA else None
        except (tree.DataError, ValueError, RecursionError):
            known = source, None
        m.project.trees[source.path] = known
    return known[1]


def data(node: tree.Node, depth: int = 0) -> Value:
    """Turn a data file's tree into values that keep their places."""
    from promptlint.frontends.documents import tree

    if isinstance(node, MappedText):
        return Str((Lit(node.text, TextSource(node.path, lambda: node)),)) if node.text else Str(())
    if isinstance(node, tree.ListNode):
        return ListV([Item(data(i, depth + 1)) for i in node.items[:2000]])
    if isinstance(node, tree.DictNode):
        out = DictV(0, node.place)
        for entry in node.distinct():
            out.entries[entry.name] = Item(data(entry.value, depth + 1))
        return out
    return Const(node.value)


def here(frame: Frame) -> Str:
    """Return the value of ``__file__``."""
    return Str((written(f"{_ROOT}/{frame.module.path}"),))


def written(path: str) -> Lit:
    """Return a path as text that stands in no file."""
    mapped = MappedText("", path, ((0, 0),), 0)
    return Lit(mapped.text, TextSource("", lambda: mapped), whole=True)


HANDLERS: dict[str, Callable[..., Value | None]] = {
    "pathlib.Path": _path,
    "pathlib.PurePath": _path,
    "pathlib.PosixPath": _path,
    "os.path.join": _path,
    "os.path.dirname": _dirname,
    "os.path.abspath": _same_path,
    "os.path.realpath": _same_path,
    "os.path.normpath": _same_path,
    "builtins.open": _open,
    "io.open": _open,
    "codecs.open": _open,
    "aiofiles.open": _open,
    "json.load": _loads,
    "json.loads": _loads,
    "yaml.safe_load": _loads,
    "yaml.load": _loads,
    "yaml.full_load": _loads,
    "tomllib.load": _loads,
    "tomllib.loads": _loads,
    "toml.load": _loads,
    "importlib.resources.files": _resources,
    "importlib_resources.files": _resources,
    "importlib.resources.read_text": _resource,
    "pkgutil.get_data": _resource,
}
