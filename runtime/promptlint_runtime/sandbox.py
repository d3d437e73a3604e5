"""A Jinja sandbox with limits on turns, on what is multiplied and joined, and on memory.

Filters and methods can make large values in many ways (``indent``, ``center``, ``format``, a list in itself
thirty times). They are not told apart: where the system lets a process limit itself, rendering gets only
so much memory, and what asks for more is an error of the template.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from types import CodeType
from typing import Any

from jinja2 import nodes
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.visitor import NodeTransformer

MAX_CHARACTERS = 8_000_000
MAX_TURNS = 1_000_000  # of all loops in one rendering; a call counts as `_CALL` of them
MAX_MEMORY = 256 << 20  # bytes that a rendering may take beyond what the process has
_CALL = 10
_MAX_BITS = 1 << 16  # of a whole number


class Bounded(ImmutableSandboxedEnvironment):
    """The sandbox; ``turns`` is set to 0 before each rendering."""

    intercepted_binops = frozenset({"*", "**"})

    def __init__(self, **options: Any) -> None:
        super().__init__(finalize=self.weighed, **options)
        self.turns = 0
        self.globals = {"range": range, "dict": dict, "namespace": self.globals["namespace"]}

    def compile(self, source: Any, name: Any = None, filename: Any = None, *args: Any, **named: Any) -> Any:
        """Compile a template so that loops and ``~`` report here."""
        if isinstance(source, str):
            source = _Reports().visit(self.parse(source, name, filename))
        code: str | CodeType = super().compile(source, name, filename, *args, **named)
        return code

    def counted(self, items: Any) -> Any:
        """Return what a loop runs over; its turns are counted."""
        if not hasattr(items, "__len__"):
            return self._counting(items)
        self._spend(len(items))
        return items

    def _counting(self, items: Any) -> Iterator[Any]:
        for item in items:
            self._spend(1)
            yield item

    def _spend(self, turns: int) -> None:
        self.turns += turns
        if self.turns > MAX_TURNS:
            raise ValueError(f"loops of over {MAX_TURNS:,} turns")

    def weighed(self, value: Any) -> Any:
        """Return what is printed; a list that holds itself again and again is not even turned into text."""
        waiting, items = [value], 0
        while waiting:
            item = waiting.pop()
            if isinstance(item, list | tuple | dict):
                items += len(item)
                if items > MAX_TURNS:
                    raise ValueError(f"a list of over {MAX_TURNS:,} items, with those in it")
                waiting += item.values() if isinstance(item, dict) else item
        return value

    def joined(self, *values: Any) -> str:
        """Return ``a ~ b ~ …``."""
        texts = [str(self.weighed(value)) for value in values]
        if sum(map(len, texts)) > MAX_CHARACTERS:
            raise ValueError(f"a text of over {MAX_CHARACTERS:,} characters")
        return "".join(texts)

    def getattr(self, obj: Any, attribute: str) -> Any:
        """Return an attribute; a text that writes a date or time has those of a `datetime`, as JSON has none."""
        if isinstance(obj, str) and not hasattr(obj, attribute):
            with suppress(ValueError):
                obj = datetime.fromisoformat(obj)
        return super().getattr(obj, attribute)

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """Refuse products that would fill the memory."""
        whole = [x.bit_length() for x in (left, right) if isinstance(x, int)]
        if operator == "**":
            large = len(whole) == 2 and abs(right) * whole[0] > _MAX_BITS
        elif len(whole) == 2:
            large = sum(whole) > _MAX_BITS
        else:
            sized = [x for x in (left, right) if isinstance(x, str | list | tuple)]
            times = [x for x in (left, right) if isinstance(x, int)]
            large = bool(sized and times) and len(sized[0]) * times[0] > MAX_CHARACTERS
        if large:
            raise ValueError("a product over the limit")
        return super().call_binop(context, operator, left, right)

    def call(self, context: Context, function: Any, /, *args: Any, **named: Any) -> Any:
        """Call a function; sample data in its place is its answer, as ``now`` for ``{{ now() }}``."""
        if getattr(function, "__self__", None) is self:
            return function(*args)  # a report of compiled code
        self._spend(_CALL)
        if isinstance(function, str | int | float | list | dict):
            return function
        return super().call(context, function, *args, **named)


class _Reports(NodeTransformer):
    """Puts calls of the environment around what loops run over, and in the place of ``~``."""

    def visit_For(self, node: nodes.For) -> nodes.Node:
        self.generic_visit(node)
        node.iter = _report("counted", [node.iter], node.lineno)
        return node

    def visit_Concat(self, node: nodes.Concat) -> nodes.Node:
        self.generic_visit(node)
        return _report("joined", node.nodes, node.lineno)


def _report(name: str, values: list[Any], line: int) -> nodes.Call:
    return nodes.Call(nodes.EnvironmentAttribute(name), values, [], None, None, lineno=line)


@contextmanager
def memory_limit(more: int = MAX_MEMORY) -> Iterator[None]:
    """Let this process take ``more`` bytes of addresses at most; beyond, `MemoryError` is raised.

    Without effect where the system cannot do it (Windows), or does not say what is taken (macOS).
    """
    try:
        import resource

        taken = int(Path("/proc/self/statm").read_text("ascii").split()[0]) * resource.getpagesize()
    except (ImportError, OSError):
        yield
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    limit = taken + more
    if soft != resource.RLIM_INFINITY and soft <= limit:  # a limit of the user's own is closer
        yield
        return
    resource.setrlimit(resource.RLIMIT_AS, (limit, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
