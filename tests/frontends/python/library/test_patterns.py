"""Templates that a program fills with its own means."""

from __future__ import annotations

from collections.abc import Callable

import pytest

System = Callable[..., str]

FORMATTERS = """
import string
from string import Formatter
class Taken:
    def __init__(self, template):
        self.parsed = list(Formatter().parse(template))
    def fill(self, **values):
        out = []
        for literal, field, form, conversion in self.parsed:
            out.append(literal)
            if field is None:
                continue
            out.append(values[field] if field in values else "{" + field + "}")
        return "".join(out)
class Safe(string.Formatter):
    def get_value(self, key, args, kwargs): return kwargs.get(key, "")
"""


@pytest.mark.parametrize(
    "filled",
    [
        "Formatter().format('Be {how} to {who}.', how='kind', who='all')",
        "Formatter().vformat('Be {how} to {who}.', (), {'how': 'kind', 'who': 'all'})",
        "Safe().format('Be {how} to {who}.', how='kind', who='all')",
        "Taken('Be {how} to {who}.').fill(how='kind', who='all')",
    ],
)
def test_formatters(system: System, filled: str) -> None:
    assert system(filled, FORMATTERS) == "Be kind to all."


def test_what_is_not_given_stays_a_field(system: System) -> None:
    assert system("Taken('Be {how} to {who}.').fill(how='kind')", FORMATTERS) == "Be kind to {who}."


PATTERNS = """
import re
FIELD = re.compile(r"{{\\s*(\\w+)\\s*}}")
NAMED = r"<(?P<name>\\w+)>"
def fill(text, **values):
    return FIELD.sub(lambda found: str(values[found.group(1)]), text)
def named(text, values):
    def put(found):
        return values[found["name"]]
    return re.sub(NAMED, put, text)
"""


def test_a_function_in_place_of_each_match(system: System) -> None:
    assert system("fill('Be {{ how }} to {{who}}.', how='kind', who='all')", PATTERNS) == "Be kind to all."
    assert system("named('Be <how>.', {'how': 'kind'})", PATTERNS) == "Be kind."


def test_a_value_stands_where_the_match_was(system: System) -> None:
    head = "from datetime import datetime\n" + PATTERNS
    assert (
        system("fill('It is {{now}}.', now=datetime.now())", head)
        == "It is {values[found.group(1)] ~clock/request}."
    )


@pytest.mark.parametrize("pattern", [r"(a+)+b", r"{(a|aa)+}", r"{.*.*.*x", r"(", "x" * 200])
def test_patterns_that_are_not_run(system: System, pattern: str) -> None:
    assert system(f"re.sub({pattern!r}, lambda found: 'x', 'Be kind.')", "import re\n") == "Be kind."


def test_a_text_in_place_of_a_match_leaves_the_text(system: System) -> None:
    assert system("re.sub(r' +', ' ', 'Be kind.')", "import re\n") == "Be kind."


@pytest.mark.parametrize(
    "pattern",
    [r"{{(\w+)}}", r"{{ (\w+) }}", r"{{\s*([\w.]+)\s*}}", r"(?<!\$){{(.+?)}}", r"{{(?P<key>\w+)}}"],
)
def test_patterns_of_placeholders(system: System, pattern: str) -> None:
    text = "Be {{ how }}." if "s*" in pattern or " (" in pattern else "Be {{how}}."
    filled = f"re.sub(r'{pattern}', lambda found: {{'how': 'kind'}}[found.group(1)], '{text}')"
    assert system(filled, "import re\n") == "Be kind."


def test_a_text_with_very_many_marks_is_not_searched(system: System) -> None:
    filled = "re.sub(r'{(.+)x}', lambda found: 'x', '{a' * 4000 + 'Be kind.')"
    assert system(filled, "import re\n").endswith("{aBe kind.")
