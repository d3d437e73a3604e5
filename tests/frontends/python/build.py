"""Small programs in one line: what they send, as a text that a test can compare.

A layout is shown as the model reads it. Each message starts with ``<role>``, fixed text stands as it is,
a hole as ``{expression}`` with ``~kind/scope`` behind its expression where the catalogue or the program
says why it changes, and text under conditions as ``[condition? text]``::

    <system>Be brief. [user.is_admin? You may delete.]<user>{question ~request-input/request}
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from promptlint.catalog import Catalog
from promptlint.config import Config
from promptlint.engine.judge import Judge
from promptlint.findings import Finding
from promptlint.frontends import python
from promptlint.frontends.base import Context
from promptlint.layout import Guard, Layout, LayoutKind, Observation, Segment
from promptlint.source import SourceFile

# The analysis raises the limit; hypothesis wants it to stay as it is while a test runs.
sys.setrecursionlimit(max(sys.getrecursionlimit(), 6000))
# Text behind a value, so that something is lost when the value changes.
LONG = "You answer questions about ships, ports and the weather at sea. " * 12


@cache
def catalog() -> Catalog:
    return Catalog()


@cache
def judge() -> Judge:
    return Judge(Config(cache=False, min_lost_tokens=1))


def sources(files: dict[str, str]) -> dict[str, SourceFile]:
    return {path: SourceFile(path, textwrap.dedent(text).lstrip("\n")) for path, text in files.items()}


def analyze(files: dict[str, str], order: Iterable[str] = (), **options: object) -> list[python.Unit]:
    """Analyse programs given as ``{path: text}``; texts are dedented."""
    read = sources(files)
    paths = [path for path in (order or read) if path.endswith(".py")]
    context = Context(read.get, listing=tuple(read))
    return list(python.analyze(paths, context, catalog(), **options))  # type: ignore[arg-type]


def _condition(guard: Guard) -> str:
    branch = f"#{guard.branch}" if guard.branch else ""
    scope = f" ~{guard.cause.kind}/{guard.scope}" if guard.cause else ""
    word = "" if guard.kind == "if" else f"{guard.kind} "
    return f"{word}{guard.expression}{branch}{scope}"


def _piece(segment: Segment) -> str:
    if segment.text is not None:
        return segment.text
    cause = segment.cause
    why = f" ~{cause.kind}/{segment.scope}" if cause else ""
    return "{" + segment.origin.expression.strip(" ${}") + why + "}"


def show(layout: Layout) -> str:
    """Return a layout as one text."""
    out: list[str] = []
    at: tuple[str, str, int] | None = None
    open_: list[Guard] = []
    for segment in layout.segments:
        here = (segment.section, segment.role, segment.message)
        keep = 0
        while keep < min(len(open_), len(segment.guards)) and open_[keep] == segment.guards[keep]:
            keep += 1
        if here != at:
            keep = 0
        out += "]" * (len(open_) - keep)
        if here != at and (segment.role or segment.section != "messages"):
            out.append(f"<{segment.role or segment.section}>")
        elif here != at and at is not None:
            out.append("<>")
        at, open_ = here, list(segment.guards)
        out += [f"[{_condition(g)}? " for g in open_[keep:]]
        out.append(_piece(segment))
    return "".join(out) + "]" * len(open_)


@dataclass(frozen=True)
class Program:
    """What the analysis says of a program."""

    files: dict[str, SourceFile]
    layouts: list[Layout]

    @property
    def requests(self) -> list[Layout]:
        return [one for one in self.layouts if one.kind is LayoutKind.REQUEST]

    @property
    def request(self) -> Layout:
        (one,) = self.requests
        return one

    @property
    def text(self) -> str:
        """Return the only request as text."""
        return show(self.request)

    @property
    def texts(self) -> list[str]:
        return [show(one) for one in self.layouts]

    def named(self, name: str) -> str:
        """Return the only prompt whose name begins so."""
        (one,) = [one for one in self.layouts if one.name.startswith(name)]
        return show(one)

    @property
    def observations(self) -> list[Observation]:
        return [seen for one in self.layouts for seen in one.observations]

    @property
    def seen(self) -> list[str]:
        return sorted({seen.what for seen in self.observations})

    @property
    def findings(self) -> list[Finding]:
        return list(judge().findings(self.layouts))

    @property
    def codes(self) -> list[str]:
        return sorted({finding.code for finding in self.findings})

    def source(self, place: object) -> str:
        """Return what stands at a place."""
        span = place.span  # type: ignore[attr-defined]
        return self.files[place.path].text[span.start : span.end]  # type: ignore[attr-defined]

    def way(self, expression: str) -> list[str]:
        """Return where the value of a hole is made, and each place it came through."""
        (cause,) = {
            s.cause
            for s in self.request.segments
            if s.cause and s.origin.expression.strip(" {}") == expression
        }
        assert cause.place is not None
        return [self.source(cause.place), *(self.source(step.place) for step in cause.chain)]


def run(files: dict[str, str] | str, **options: object) -> Program:
    """Analyse a program; a lone text is ``app.py``."""
    given = {"app.py": files} if isinstance(files, str) else files
    units = analyze(given, **options)  # type: ignore[arg-type]
    layouts = [judge().annotate(layout) for unit in units for layout in unit.layouts]
    return Program(sources(given), layouts)


ASK = """
from openai import OpenAI
client = OpenAI()
"""


def send(system: str, head: str = "", body: str = "", arguments: str = "question") -> str:
    """Return a program whose function ``ask`` sends the expression ``system`` as its system prompt."""
    call = (
        f"    return client.chat.completions.create(model='gpt-4o', messages=[\n"
        f"        {{'role': 'system', 'content': {system}}}, {{'role': 'user', 'content': question}}])\n"
    )
    head, body = textwrap.dedent(head), textwrap.indent(textwrap.dedent(body).strip("\n"), "    ")
    return f"{ASK}{head}\ndef ask({arguments}):\n{body}\n{call}"


def system_prompt(
    expression: str,
    head: str = "",
    body: str = "",
    files: dict[str, str] | None = None,
    arguments: str = "question",
    path: str = "app.py",
) -> str:
    """Show the system prompt that an expression makes.

    ``head`` is code of the module, ``body`` code of the function, ``files`` the other files.
    """
    found = run({path: send(expression, head, body, arguments), **(files or {})}).text
    start, _, rest = found.partition("<user>")
    assert rest == "{question ~request-input/request}", found
    return start.removeprefix("<system>")
