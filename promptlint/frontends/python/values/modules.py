"""The modules of a project: parsing, positions, and import names resolved to files.

A file is parsed when something asks for it. Files without a trigger word are read only when an
import leads there.
"""

from __future__ import annotations

import ast
import posixpath
import re
import sys
import warnings
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING

from promptlint.frontends.base import Context
from promptlint.frontends.mapped import MappedText
from promptlint.frontends.python.syntax.crowded import thinned
from promptlint.frontends.python.syntax.newer import lower
from promptlint.frontends.python.syntax.nodes import Definition, blocks, definitions, split, walk
from promptlint.frontends.python.syntax.strings import Field
from promptlint.frontends.python.values.pieces import Lit
from promptlint.frontends.python.values.values import Value
from promptlint.layout import Layout
from promptlint.source import Place, SourceFile, Span
from promptlint.words import shortened

if TYPE_CHECKING:
    from promptlint.frontends.documents.tree import Node

_WORDS = (
    *(
        "prompt",
        "Prompt",
        "PROMPT",
        "template",
        "instruction",
        "openai",
        "OpenAI",
        "LLM",
        '"role"',
        "'role'",
        "anthropic",
        "litellm",
    ),
    *(
        "langchain",
        "system_message",
        "systemmessage",
        "SystemMessage",
    ),
    *(
        "chat.completions",
        "chat/completions",
        "messages.create",
        "generate_content",
        "cache_read_input_tokens",
        "cached_tokens",
    ),
    *("crewai", "cohere", "agno", "mistral", "ollama", "bedrock", "llama_index", "haystack", "smolagents"),
    *(
        "autogen",
        "pydantic_ai",
        "text-generation",
        "text_generation",
        "sglang",
        "simpleaichat",
        "google.adk",
        "dspy",
        "You are ",
        "tiktoken",
    ),
)
_SHAPES = tuple(
    re.compile(shape)
    for shape in (
        r"messages\b",
        r"role\s*=\s*[\"']system",
        r"history\b",
        r"llm(?<!\wllm)",
        r"descri(?:be|ption)\w*\s*=",
        r"inputs\s*=",
        r"context\s*=",
    )
)

# What answers people: it hands what they say to a module that is named after what talks.
_PLATFORMS = ("slack_bolt", "discord", "telegram", "aiogram", "telebot", "twilio", "botbuilder")
_TALKS = re.compile(
    r"^(?:from|import) [.\w]*(?:agent|assist|chat|bot|rag|answer|repl[iy]|convers|\bai\b|gpt|service|engine|model)",
    re.IGNORECASE | re.MULTILINE,
)

# Whole files are searched for these: what begins with fixed characters is found ten times as fast.
_PAIRS = re.compile(r", [\w., \[\]'\"]+ = .*,")
_FILLS = (".append(", ".extend(")
_CLASS = re.compile(r"\nclass (\w+)\(([^()=]{1,200})\):")


def triggers(text: str) -> bool:
    """Tell whether a file may have to do with prompts at all.

    One word after another is many times quicker than one expression for all.
    """
    if any(word in text for word in _WORDS) or any(shape.search(text) for shape in _SHAPES):
        return True
    return any(word in text for word in _PLATFORMS) and _TALKS.search(text) is not None


Read = tuple[str, str | None]
"""Something that a result was made of: a name of a module, or with None the whole of a file."""


class Module:
    """One parsed file: its tree, and the names that its body defines."""

    def __init__(self, source: SourceFile, tree: ast.Module | None, error: tuple[int, str] | None) -> None:
        self.source = source
        self.path = source.path
        self.tree = tree
        self.error = error
        self.names: dict[str, Value] = {}
        self.stars: list[str] = []
        self.origins: dict[str, frozenset[Read]] = {}  # what is behind each imported name
        self.state = "new"  # "new", "running", "done"
        self.registered = False  # what others hand to it while they are imported is there
        self.layouts: list[Layout] = []  # recorded while the body ran
        self.reads: set[Read] = set()  # consulted in other files while the body ran
        self.pieces: dict[int, list[MappedText | Field]] = {}
        self.literals: dict[int, Lit] = {}  # of the pieces above, by their identity
        self._fields: dict[int, ast.expr | None] = {}
        self._ascii = source.text.isascii()
        self._keys: dict[str, Read] = {}
        self._starts: list[int] = []

    @cached_property
    def filled(self) -> frozenset[str]:
        """Return the names to which something in the file, inside a function or loop, appends."""
        before = (part for word in _FILLS for part in self.source.text.split(word)[:-1])
        lines = (part.rpartition("\n")[2] for part in before)
        return frozenset(
            line.lstrip() for line in lines if line[:1].isspace() and line.lstrip().isidentifier()
        )

    @cached_property
    def reruns(self) -> bool:
        """Tell whether the file is a page that Streamlit runs anew for each input: its body makes widgets."""
        if self.tree is None or "streamlit" not in self.source.text:
            return False
        bound = {
            alias.asname or alias.name
            for node in self.tree.body
            if isinstance(node, ast.Import)
            for alias in node.names
            if alias.name == "streamlit"
        }
        made = (
            node for node in self.tree.body if not isinstance(node, ast.Import | ast.ImportFrom | Definition)
        )
        return bool(bound) and any(
            isinstance(n, ast.Name) and n.id in bound for node in made for n in walk(node)
        )

    @cached_property
    def rebound(self) -> dict[str, list[ast.stmt]]:
        """Return the names that functions declare ``global`` and set, each with the statements that set it."""
        out: dict[str, list[ast.stmt]] = {}
        if self.tree is None or "global " not in self.source.text:
            return out
        for function in definitions(self.tree):
            inside = blocks(function)
            shared = {name for node in inside if isinstance(node, ast.Global) for name in node.names}
            for node in inside if shared else ():
                if isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign):
                    for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                        if isinstance(target, ast.Name) and target.id in shared:
                            out.setdefault(target.id, []).append(node)
        return out

    def key(self, name: str) -> Read:
        """Return what stands for the use of a name of this module."""
        known = self._keys.get(name)
        if known is None:
            known = self._keys[name] = (self.path, name)
        return known

    def owner(self, node: ast.AST) -> Read:
        """Return what stands for the use of a function or class: the name of its outermost one."""
        known: Read | None = getattr(node, "_owner", None)
        if known is None:
            known = node._owner = self._owner(node)  # type: ignore[attr-defined]
        return known

    def _owner(self, node: ast.AST) -> Read:
        body = self.tree.body if self.tree is not None else []
        self._starts = self._starts or [first_line(statement) for statement in body]
        at = bisect_right(self._starts, getattr(node, "lineno", 0)) - 1
        top = body[at] if at >= 0 else None
        if isinstance(top, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            return self.path, top.name
        return self.path, None

    def lines(self, statement: ast.stmt) -> str:
        """Return the lines on which a statement stands, its decorators included."""
        starts = self.source.line_starts
        last = min(statement.end_lineno or statement.lineno, len(starts))
        end = starts[last] if last < len(starts) else len(self.source.text)
        return self.source.text[starts[first_line(statement) - 1] : end]

    def offset(self, line: int, column: int) -> int:
        """Turn ast's 1-based line and UTF-8 byte column into a character offset."""
        starts = self.source.line_starts
        if line > len(starts):
            return len(self.source.text)
        start = starts[line - 1]
        if self._ascii:
            return start + column
        text = self.source.line_text(line)
        return start + (column if text.isascii() else len(text.encode()[:column].decode(errors="ignore")))

    def place(self, node: ast.AST) -> Place:
        """Return where a node stands; remembered on the node, since nodes are evaluated many times."""
        known: Place | None = getattr(node, "_place", None)
        if known is None:
            start = self.offset(node.lineno, node.col_offset)  # type: ignore[attr-defined]
            end = self.offset(node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]
            known = node._place = Place(self.path, Span(start, max(start, end)))  # type: ignore[attr-defined]
        return known

    def text(self, node: ast.AST, limit: int = 60) -> str:
        """Return a node as written, on one line and not longer than ``limit``."""
        known: str | None = getattr(node, "_text", None)
        if known is None:
            known = node._text = self._text(node, 60)  # type: ignore[attr-defined]
        return known if len(known) <= limit else known[: limit - 1] + "…"

    def _text(self, node: ast.AST, limit: int) -> str:
        span = self.place(node).span
        return shortened(self.source.text[span.start : min(span.end, span.start + 4 * limit)], limit)

    def expression(self, field: Field) -> ast.expr | None:
        """Parse the expression of an f-string field, with positions in the file."""
        if field.start not in self._fields:
            self._fields[field.start] = self._expression(field)
        return self._fields[field.start]

    def _expression(self, field: Field) -> ast.expr | None:
        try:
            body = _parsed(f"({self.source.text[field.start : field.end]}\n)").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None
        if len(body) != 1 or not isinstance(body[0], ast.Expr):
            return None
        tree = body[0].value
        line, column = self.source.position(field.start)
        shift = column - 2
        if not self._ascii:
            shift = len(self.source.text[field.start - column + 1 : field.start].encode()) - 1
        for node in walk(tree):
            if isinstance(node, ast.expr | ast.keyword | ast.arg):
                if node.lineno == 1:
                    node.col_offset += shift
                if node.end_lineno == 1 and node.end_col_offset is not None:
                    node.end_col_offset += shift
                node.lineno += line - 1
                node.end_lineno = (node.end_lineno or 1) + line - 1
        return tree


def first_line(statement: ast.stmt) -> int:
    """Return the line on which a statement, or its first decorator, begins."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return min([statement.lineno, *(d.lineno for d in statement.decorator_list)])
    return statement.lineno


def parse(source: SourceFile) -> Module:
    """Parse one file."""
    try:
        return Module(source, _parsed(source.text), None)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = getattr(error, "lineno", None) or 1
        return Module(source, None, (line, getattr(error, "msg", None) or str(error)))


def _parsed(text: str) -> ast.Module:
    """Parse a text; syntax that this interpreter does not know is lowered first."""
    try:
        return _tree(text)
    except SyntaxError as error:
        lowered = None if "too many" in str(error) else lower(text)
        if lowered is None:
            raise
        try:
            return _tree(lowered)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            raise error from None  # what it says stands in the file


def _tree(text: str) -> ast.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = ast.parse(thinned(text))
        return split(tree) if _PAIRS.search(text) else tree


class Reading:
    """Notes elsewhere what of a project is consulted, while something is run."""

    __slots__ = ("into", "project", "saved")

    def __init__(self, project: Project, into: set[Read]) -> None:
        self.project = project
        self.into = into
        self.saved = into

    def __enter__(self) -> None:
        self.saved, self.project.reads = self.project.reads, self.into

    def __exit__(self, *error: object) -> None:
        self.project.reads = self.saved


class Project:
    """All Python files of a run, by path and by import name."""

    def __init__(self, files: Iterable[str], context: Context) -> None:
        self.context = context
        self.files = frozenset(files)
        self.modules: dict[str, Module | None] = {}
        self.reads: set[Read] = set()  # all that was consulted since the last `reading`
        self.trees: dict[str, tuple[SourceFile, Node | None]] = {}  # data files, None for malformed ones
        self._parsed: list[Module] = []
        self._packages = {posixpath.dirname(f) for f in self.files if f.endswith("/__init__.py")}
        self._tails: dict[str, list[str]] = defaultdict(list)
        self._resolved: dict[tuple[str, str], str | None] = {}
        for path in sorted(self.files):
            stem = path.removesuffix(".pyi").removesuffix(".py").removesuffix("/__init__")
            self._tails[posixpath.basename(stem)].append(path)

    def reading(self, into: set[Read]) -> Reading:
        """Note what is consulted meanwhile in ``into``."""
        return Reading(self, into)

    def closure(self, reads: Iterable[Read]) -> set[Read]:
        """Return what was consulted, and all that the bodies of the modules there consulted in turn."""
        out: set[Read] = set()
        seen: set[str] = set()
        todo = list(reads)
        while todo:
            read = todo.pop()
            out.add(read)
            if read[0] not in seen:
                seen.add(read[0])
                module = self.modules.get(read[0])
                if module is not None:
                    # Its own names count by what is written, see `outline`.
                    todo.extend(r for r in module.reads if r[0] != module.path or r[1] is None)
        return out

    def parsed(self) -> list[Module]:
        """Return the modules that were parsed since this was last asked for."""
        out, self._parsed = self._parsed, []
        return out

    def load(self, path: str) -> Module | None:
        """Return a module, parsed on first use; None when there is no such readable file."""
        if path not in self.modules:
            source = self.context.load(path) if path in self.files else None
            module = self.modules[path] = parse(source) if source else None
            if module is not None:
                self._parsed.append(module)
        module = self.modules[path]
        if module is None or module.tree is None:
            self.reads.add((path, None))
        return module

    def resolve(self, dotted: str, importer: str, level: int = 0) -> str | None:
        """Return the file of a module name as seen from ``importer``; None outside the project."""
        if level:
            base = posixpath.dirname(importer)
            for _ in range(level - 1):
                base = posixpath.dirname(base)
            return self._at(posixpath.join(base, *dotted.split(".")) if dotted else base)
        key = (dotted, posixpath.dirname(importer))
        if key not in self._resolved:
            self._resolved[key] = self._absolute(dotted, key[1])
        return self._resolved[key]

    def _at(self, stem: str) -> str | None:
        for path in (f"{stem}.py", f"{stem}/__init__.py", f"{stem}.pyi"):
            if path in self.files:
                return path
        return None

    def _absolute(self, dotted: str, directory: str) -> str | None:
        parts = dotted.split(".")
        if parts[0] in sys.stdlib_module_names:
            return None
        tail = "/".join(parts)
        found = []
        for path in self._tails.get(parts[-1], ()):
            stem = path.removesuffix(".pyi").removesuffix(".py").removesuffix("/__init__")
            if stem != tail and not stem.endswith("/" + tail):
                continue
            root = stem[: -len(tail)].rstrip("/")
            if root == directory or root not in self._packages:
                found.append((-len(posixpath.commonprefix([root + "/", directory + "/"])), len(root), path))
        if not found:
            return None
        best = min(found)
        # A lone name far from the importer is more likely an installed package of that name.
        root = best[2].removesuffix(".py").removesuffix("/__init__")[: -len(tail)].rstrip("/")
        near = (
            not root or directory == root or directory.startswith(root + "/") or root in _sources(directory)
        )
        return best[2] if near or len(parts) > 1 else None

    def file(self, tail: str, importer: str) -> str | None:
        """Return a data file named in code: beside the importer, from the root, or by a unique tail."""
        tail = posixpath.normpath(tail.replace("\\", "/"))
        if tail.startswith(("/", "~")) or tail in (".", ""):
            tail = tail.lstrip("/~")
        base = posixpath.dirname(importer)
        listing = self.listing
        while True:
            candidate = posixpath.normpath(posixpath.join(base, tail)) if base else tail
            if candidate in listing:
                return candidate
            if not base or base == posixpath.dirname(base):
                break
            base = posixpath.dirname(base)
        tail = re.sub(r"^(\.\./)+", "", tail)
        ends = [
            p for p in self._by_name.get(posixpath.basename(tail), ()) if p == tail or p.endswith("/" + tail)
        ]
        return ends[0] if len(ends) == 1 else None

    @cached_property
    def subclasses(self) -> dict[str, list[tuple[str, str]]]:
        """Return, by the last name of a base, the classes written below it: their files and names.

        One search of all texts: parsing them all would take many times as long.
        """
        found: dict[str, list[tuple[str, str]]] = defaultdict(list)
        for path in sorted(self.files):
            source = self.context.load(path)
            if source is None:
                continue
            for match in _CLASS.finditer(f"\n{source.text}"):
                for base in match.group(2).split(","):
                    name = base.split("[")[0].rpartition(".")[2].strip()
                    if name.isidentifier():
                        found[name].append((path, match.group(1)))
        return found

    @property
    def listing(self) -> frozenset[str]:
        """Return every file name of the project."""
        if not hasattr(self, "_listing"):
            self._listing = frozenset(self.context.listing) | self.files
            names: dict[str, list[str]] = defaultdict(list)
            for path in self._listing:
                names[posixpath.basename(path)].append(path)
            self._names = names
        return self._listing

    @property
    def _by_name(self) -> dict[str, list[str]]:
        _ = self.listing
        return self._names


def _sources(directory: str) -> set[str]:
    """Return ``src``-like folders beside each ancestor of a directory."""
    out, base = set(), directory
    while True:
        out |= {
            posixpath.join(base, name) if base else name
            for name in ("src", "lib", "python", "app", "backend")
        }
        if not base or base == posixpath.dirname(base):
            return out
        base = posixpath.dirname(base)
