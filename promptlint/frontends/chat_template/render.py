"""Compile a chat template once and render it many times."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from jinja2 import Template, TemplateError, nodes

from promptlint.frontends.chat_template.instrument import instrumented
from promptlint.frontends.chat_template.meter import Meter, TooExpensiveError
from promptlint.frontends.chat_template.sandbox import Event, RefusedError, RenderError, Sandbox

#: What a template can do wrong with its values.
_TEMPLATE_FAULTS = (
    TemplateError,
    TypeError,
    ValueError,
    LookupError,
    AttributeError,
    ArithmeticError,
    AssertionError,
    NameError,
    RuntimeError,
)


class Renderer:
    """One compiled chat template."""

    def __init__(self, tree: nodes.Template, meter: Meter) -> None:
        """Compile a tree of the caller's own; it is changed.

        Raises:
            RenderError: it cannot be compiled.
            TooExpensiveError: time is up.
        """
        self.sandbox = Sandbox(meter, datetime(2031, 3, 4, 5, 6, 7))
        meter.spend(1)
        try:
            tree = instrumented(tree)
            tree.set_environment(self.sandbox)
            code = self.sandbox.compile(tree)
        except (TemplateError, SyntaxError, RecursionError, MemoryError, ValueError, AssertionError) as error:
            raise RenderError(f"it cannot be compiled: {str(error)[:200]}") from None
        meter.spend(1)
        self.template = Template.from_code(self.sandbox, code, self.sandbox.make_globals(None))

    def render(self, values: Mapping[str, object], events: list[Event] | None = None) -> str:
        """Render with variables; ``events`` receives what happened, in order.

        Raises:
            RefusedError: the template refuses the conversation.
            RenderError: it fails with these values.
            TooExpensiveError: a limit is reached.
        """
        self.sandbox.events = events
        self.sandbox.asked_at = []
        try:
            context = self.template.new_context(dict(values))
            text = "".join(self.template.root_render_func(context))
        except (RefusedError, TooExpensiveError, RenderError):
            raise
        except RecursionError:
            raise TooExpensiveError("it calls itself too deeply") from None
        except MemoryError:
            raise TooExpensiveError("it needs too much memory") from None
        except _TEMPLATE_FAULTS as error:
            raise RenderError(f"{type(error).__name__}: {str(error)[:200]}") from None
        finally:
            self.sandbox.events = None
        self.sandbox.meter.spend(len(text))
        return text
