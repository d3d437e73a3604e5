"""Random small programs: the layout, filled with the values of one run, is what that run sends.

A program has two modules. ``ask(alpha, beta, flag)`` builds texts and lists through assignments, branches,
loops over known lists, helpers, closures and classes of the other module, and sends one system prompt. The
test runs it with a stand-in for the client, and fills the layout's holes and conditions with the arguments.
"""

from __future__ import annotations

import sys
import types
from dataclasses import dataclass, field
from unittest import mock

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from promptlint.layout import Layout
from tests.frontends.python.build import run

# No letters: changing the case of a text must not change what stands in its holes.
ARGUMENTS = {"alpha": "<1>", "beta": "(2)"}

PARTS = """
from dataclasses import dataclass, field
from functools import partial

KNOWN = True
HEAD = {head!r}
TABLE = {{"k": {head!r} + "k", "j": "j{{}}"}}

def wrap(text, left="[", *, right="]"):
    return f"{{left}}{{text}}{{right}}"

def pick(text, kind, flag):
    if kind == 1:
        return "A" + text
    out = "{mid}"
    if flag:
        out += text
    else:
        out = text + out
    return out

def lines(*texts, end="."):
    out = []
    for text in texts:
        out.append(text + end)
    return out

def fill(target, text):
    target.append(text)
    target.extend(["x", text])

def numbered(texts):
    for index, text in enumerate(texts, 1):
        yield f"{{index}}. {{text}}"

def maker(prefix):
    def inner(text):
        return prefix + text
    return inner

tagged = partial(wrap, left="<{mid}>", right="</>")

class Base:
    prefix = "B{mid} "

    def __init__(self, name, tone="t"):
        self.name = name
        self.tone = tone

    def render(self, text):
        return f"{{self.prefix}}{{self.name}}:{{self.head()}}{{text}}"

    def head(self):
        return "{mid}h "

    @property
    def title(self):
        return self.tone + "/" + self.name

    @classmethod
    def quick(cls, text):
        return cls(text, tone="quick").render("q")

class Child(Base):
    prefix = "C "

    def head(self):
        return "child " + super().head()

@dataclass
class Data:
    name: str
    tone: str = "{mid}"
    items: list = field(default_factory=lambda: ["i"])

    def show(self):
        return f"{{self.name}} {{self.tone}} {{','.join(self.items)}}"
"""

WORDS = st.text("abcxyz .-", max_size=4)


@dataclass
class Builder:
    """Writes a program, and knows which names hold a text and which a list without conditions."""

    draw: st.DrawFn
    texts: list[str] = field(default_factory=lambda: ["a", "b"])
    lists: list[str] = field(default_factory=list)
    joined: list[str] = field(default_factory=list)
    code: list[str] = field(default_factory=list)
    count: int = 0

    def fresh(self) -> str:
        self.count += 1
        return f"v{self.count}"

    def pick(self, *options: str) -> str:
        return self.draw(st.sampled_from(options))

    def word(self) -> str:
        return self.draw(WORDS)

    def text(self, depth: int = 0) -> str:
        """Return an expression that gives a text."""
        kinds = ["literal", "name", "name"]
        if depth < 2:
            kinds += [
                "fstring",
                "format",
                "percent",
                "concat",
                "helper",
                "method",
                "object",
                "ifexp",
                "table",
                "strip",
            ]
            kinds += ["join"] * 2 if self.lists else []
        kind = self.pick(*kinds)
        if kind == "literal":
            return repr(self.word())
        if kind == "name":
            return self.draw(st.sampled_from(self.texts))
        one = self.text(depth + 1)
        if kind == "fstring":
            name = self.draw(st.sampled_from(self.texts))
            return f"f'{self.word()}{{{name}}}{{{{{self.word()}' '{self.word()}'"
        if kind == "format":
            return self.pick(
                f"'{self.word()}{{}}{{k}}{self.word()}'.format({one}, k={self.text(depth + 1)})",
                f"'{{0}}{self.word()}{{0}}'.format({one})",
                f"parts.TABLE['j'].format({one})",
            )
        if kind == "percent":
            return f"'{self.word()}%s%%%s' % ({one}, {self.text(depth + 1)})"
        if kind == "concat":
            return f"({one} + {self.text(depth + 1)})"
        if kind == "helper":
            return self.pick(
                f"wrap({one})",
                f"parts.wrap({one}, right={self.word()!r})",
                f"parts.pick({one}, {self.pick('1', '2')}, flag)",
                f"parts.tagged({one})",
                f"maker({self.word()!r})({one})",
                f"(lambda t: t + {self.word()!r})({one})",
                f"'|'.join(parts.lines({one}, 'x', end='!'))",
                f"'|'.join(parts.numbered([{one}, 'x']))",
            )
        if kind == "object":
            return self.pick(
                f"Child({one}).render('r')",
                f"parts.Base({one}, tone='z').title",
                f"Child.quick({one})",
                f"parts.Data({one}).show()",
                f"parts.Data(name='n', items=[{one}, 'z']).show()",
            )
        if kind == "method":
            return f"({one}){self.pick('.upper()', '.lower()', '.swapcase()')}"
        if kind == "strip":
            replacing = ".replace('a', 'qq')"
            return f"({one}){self.pick('.strip()', '.lstrip()', '.rstrip()', replacing)}"
        if kind == "ifexp":
            return f"({one} if {self.pick('flag', 'parts.KNOWN', 'not flag')} else {self.text(depth + 1)})"
        if kind == "table":
            return self.pick("parts.TABLE['k']", "HEAD", "parts.HEAD")
        separator = self.pick("'|'", "''", "', '")
        return f"{separator}.join({self.listed()})"

    def listed(self) -> str:
        """Return an expression that gives a list of texts."""
        name = self.draw(st.sampled_from(self.lists))
        return self.pick(
            name,
            f"[f'-{{x}}' for x in {name}]",
            f"{name}[:2]",
            f"{name}[::-1]",
            f"reversed({name})",
            f"[*{name}, 'e']",
        )

    def statement(self, depth: int, indent: str) -> None:
        """Append a statement."""
        kinds = ["text", "text", "grow", "list", "if"] if depth < 2 else ["text", "grow"]
        if self.lists:
            kinds += ["append", "append"] + (["for"] if depth == 0 else [])
        kind = self.pick(*kinds)
        add = self.code.append
        if kind == "text" or (kind == "grow" and len(self.texts) < 3):
            # A name bound in one branch only may not be there behind it.
            name = (
                self.fresh()
                if depth == 0 or len(self.texts) < 3
                else self.draw(st.sampled_from(self.texts[2:]))
            )
            if depth and name not in self.texts:
                return add(f"{indent}pass")
            add(f"{indent}{name} = {self.text()}")
            self.texts += [name] if name not in self.texts else []
        elif kind == "grow":
            name = self.draw(st.sampled_from(self.texts[2:]))
            add(indent + self.pick(f"{name} += {self.text()}", f"{name} = {self.text(1)} + {name}"))
        elif kind == "list":
            if depth:
                return add(f"{indent}pass")
            name = self.fresh()
            elements = ", ".join(self.text(1) for _ in range(self.draw(st.integers(0, 3))))
            add(f"{indent}{name} = [{elements}]")
            self.lists.append(name)
        elif kind == "append":
            name, value = self.draw(st.sampled_from(self.lists)), self.text(1)
            grow = [f"{name}.append({value})"]
            if depth == 0:
                grow += [
                    f"{name}.extend([{value}, 'x'])",
                    f"{name}.insert(0, {value})",
                    f"{name} += [{value}]",
                    f"parts.fill({name}, {value})",
                ]
            add(indent + self.pick(*grow))
            if depth:
                # Its elements are no longer known for sure, but they can still be joined.
                self.lists.remove(name)
                self.joined.append(name)
        elif kind == "for":
            name = self.fresh()
            add(f"{indent}{name} = {self.word()!r}")
            add(f"{indent}for x in {self.draw(st.sampled_from(self.lists))}:")
            add(f"{indent}    {name} += x + {self.word()!r}")
            self.texts.append(name)
        else:
            test = self.pick("flag", "not flag", "parts.KNOWN", "not parts.KNOWN")
            add(f"{indent}if {test}:")
            self.block(depth + 1, indent + "    ")
            if self.pick("yes", "no") == "yes":
                add(f"{indent}else:")
                self.block(depth + 1, indent + "    ")
        return None

    def block(self, depth: int, indent: str) -> None:
        for _ in range(self.draw(st.integers(1, 2))):
            self.statement(depth, indent)


@st.composite
def programs(draw: st.DrawFn) -> dict[str, str]:
    builder = Builder(draw)
    for _ in range(draw(st.integers(1, 7))):
        builder.statement(0, "    ")
    final = [builder.text(1) for _ in range(draw(st.integers(1, 2)))]
    tested = [f"'~'.join(['+', *{name}])" for name in (builder.lists + builder.joined)[-2:]]
    body = "\n".join(builder.code)
    app = (
        "from openai import OpenAI\nimport parts\nfrom parts import HEAD, Child, maker, wrap\n\n\n"
        "def ask(alpha, beta, flag):\n    a, b = f'{alpha}', f'{beta}'\n"
        f"{body}\n"
        f"    system = {' + '.join(final + tested)}\n"
        "    OpenAI().chat.completions.create(messages=[{'role': 'system', 'content': 'S:' + system}])\n"
    )
    head, mid = draw(WORDS), draw(st.text("abc ", max_size=3))
    return {"app.py": app, "parts.py": PARTS.format(head=head, mid=mid)}


def sent(files: dict[str, str], flag: bool) -> str:
    """Run a program, and return the system prompt that it sends."""
    out: list[str] = []

    def create(messages: list[dict[str, str]]) -> None:
        out.extend(message["content"] for message in messages)

    completions = types.SimpleNamespace(create=create)
    client = types.SimpleNamespace(chat=types.SimpleNamespace(completions=completions))
    openai, parts = types.ModuleType("openai"), types.ModuleType("parts")
    openai.OpenAI = lambda: client  # type: ignore[attr-defined]
    app: dict[str, object] = {}
    with mock.patch.dict(sys.modules, {"openai": openai, "parts": parts}):
        exec(compile(files["parts.py"], "parts.py", "exec"), vars(parts))  # noqa: S102
        exec(compile(files["app.py"], "app.py", "exec"), app)  # noqa: S102
        app["ask"](**ARGUMENTS, flag=flag)  # type: ignore[operator]
    return "".join(out)


def filled(layout: Layout, flag: bool) -> str:
    """Return a layout as text, its holes and conditions decided by the arguments."""
    out = []
    for segment in layout.segments:
        for guard in segment.guards:
            assert guard.expression in ("flag", "not flag"), guard
        if all((guard.expression == "flag") is (flag is (guard.branch == 0)) for guard in segment.guards):
            out.append(ARGUMENTS[segment.origin.name] if segment.text is None else segment.text)
    return "".join(out)


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(programs())
def test_the_layout_is_what_the_program_sends(files: dict[str, str]) -> None:
    _compare(files)


@pytest.mark.slow
@settings(max_examples=3000, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(programs())
def test_the_layout_is_what_many_programs_send(files: dict[str, str]) -> None:
    _compare(files)


def _compare(files: dict[str, str]) -> None:
    layout = run(files).request
    for flag in (True, False):
        assert filled(layout, flag) == sent(files, flag), files["app.py"]
