"""The sandbox renders what `transformers` renders.

``PROMPTLINT_CHAT_TEMPLATES`` may name a folder of chat templates, all of which are compared as well.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from promptlint.frontends.base import Delimiters
from promptlint.frontends.chat_template.conversations import NAMES, STYLES, conversation
from promptlint.frontends.chat_template.examine import TOKENS
from promptlint.frontends.chat_template.growth import values
from promptlint.frontends.chat_template.meter import Meter
from promptlint.frontends.chat_template.render import Renderer
from promptlint.frontends.chat_template.sandbox import RefusedError, RenderError
from promptlint.frontends.jinja.parse import parse_anew

OWN = {
    "json": "{% for m in messages %}{{ m | tojson }}{{ m.content | tojson(indent=2) }}\n{% endfor %}{{ tools | tojson }}",
    "whitespace": "  {% if tools %}\n  a\n  {% endif %}\n{%- for m in messages -%}\n {{ m.role }}\n{% endfor %}\n\n",
    "loop controls": "{% for m in messages %}{% if loop.index > 2 %}{% break %}{% endif %}{{ m.content }}{% endfor %}",
    "generation": "{% for m in messages %}{% generation %}{{ m.content }}{% endgeneration %}{% endfor %}",
    "macros": "{% macro f(x) %}<{{ x | trim }}>{% endmacro %}{% for m in messages %}{{ f(m.role) }}{% endfor %}",
    "namespace": "{% set ns = namespace(n=0) %}{% for m in messages if m.role == 'user' %}{% set ns.n = ns.n + 1 %}"
    + "{% endfor %}{{ ns.n }}{{ '%03d' | format(ns.n) }}{{ 'é' ~ '{}'.format(ns.n) }}{{ messages[-1].content[:4] }}",
    "failing": "{% for m in messages %}{{ m.content + 1 }}{% endfor %}",
    "refusing": "{{ raise_exception('no') }}",
    "tokens": "{{ bos_token }}{% for m in messages %}{{ m.content ~ eos_token }}{% endfor %}",
    "selection": "{{ messages | selectattr('role', 'equalto', 'user') | map(attribute='content') | join('|') }}"
    + "{{ (messages | rejectattr('role', 'equalto', 'user') | list) | length }}{{ {'b': 1, 'a': 2} | dictsort }}",
}


def templates() -> dict[str, str]:
    folder = os.environ.get("PROMPTLINT_CHAT_TEMPLATES")
    found = dict(OWN)
    if folder:
        found |= {
            str(path): path.read_text(encoding="utf-8") for path in sorted(Path(folder).rglob("*.jinja"))
        }
    return found


@pytest.mark.slow
@pytest.mark.torch
def test_renderings_are_equal() -> None:
    utils = pytest.importorskip("transformers.utils.chat_template_utils")
    compared = 0
    for name, text in templates().items():
        renderer = Renderer(parse_anew(text, "chat", Delimiters()).tree, Meter(work=10**10, seconds=600))
        theirs = utils._compile_jinja_template(text)
        theirs.globals["strftime_now"] = renderer.sandbox.clock.strftime
        compared += compare(name, renderer, theirs.render)
    assert compared > 1000


def compare(name: str, renderer: Renderer, theirs: Callable[..., str]) -> int:
    """Compare all conversations in all styles at all lengths; return how many renderings were compared."""
    count = 0
    for talk in (conversation(title, style) for title in NAMES for style in STYLES):
        for length in talk.lengths():
            for prompt in (False, True):
                given = values(talk, length, TOKENS) | {"add_generation_prompt": prompt}
                mine: str | None
                other: str | None
                try:
                    mine = renderer.render(copy.deepcopy(given))
                except (RefusedError, RenderError):
                    mine = None
                try:
                    other = theirs(**copy.deepcopy(given))
                except Exception:  # noqa: BLE001  # whatever it raises, both must fail
                    other = None
                assert mine == other, (name, talk.name, length)
                count += 1
    return count
