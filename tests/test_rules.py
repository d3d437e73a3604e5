"""Every rule file is a test: its bad examples are reported at the marked lines, its good ones are not.

They run through the whole engine, as `promptlint check FILE --extend-select CODE` would.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from promptlint.catalog import Catalog
from promptlint.catalog.locate import rules_root
from promptlint.catalog.model import Example, Rule
from promptlint.catalog.rules import SEVERITIES, parse_rule
from promptlint.checks import CHECKS
from promptlint.config import Config
from promptlint.engine.run import Request, check
from promptlint.errors import CatalogError
from promptlint.findings import Finding, Status

RULES = Catalog().rules
SUFFIX = {
    "jinja": "j2",
    "python": "py",
    "yaml": "yaml",
    "json": "json",
    "markdown": "md",
    "text": "txt",
    "toml": "toml",
}
HEADINGS = ("Why", "Fix safety", "References")
# Rules that the engine itself applies, to comments and to what a run was given.
BY_ENGINE = {"PL902"}


def examples() -> Iterator[object]:
    for rule in RULES.values():
        for number, example in enumerate(rule.examples, 1):
            name = f"{rule.code}-{'good' if example.good else 'bad'}-{number}"
            yield pytest.param(rule, example, id=name)


def findings(rule: Rule, example: Example, folder: Path) -> tuple[list[Finding], str]:
    name = example.filename or f"example.{SUFFIX[example.language]}"
    (folder / name).write_text(example.text, encoding="utf-8")
    options = {key.replace("-", "_"): value for key, value in example.options.items()}
    config = Config(root=folder, extend_select=(rule.code,), cache=False, **options)  # type: ignore[arg-type]
    report = check(Request((name,), config, folder))
    assert not report.errors, report.errors
    return [f for f in report.findings if f.code == rule.code and f.status is Status.ACTIVE], name


@pytest.mark.parametrize(("rule", "example"), list(examples()))
def test_example(rule: Rule, example: Example, tmp_path: Path) -> None:
    found, name = findings(rule, example, tmp_path)
    lines = {example.text.count("\n", 0, f.primary.span.start) + 1 for f in found if f.primary.path == name}
    if example.good:
        assert not found, [f.message for f in found]
    elif example.marks:
        assert lines == set(example.marks), [f.message for f in found]
    else:
        assert found


@pytest.mark.parametrize("rule", list(RULES.values()), ids=lambda rule: rule.code)
def test_a_rule_file_says_all_that_a_reader_needs(rule: Rule) -> None:
    for heading in HEADINGS:
        assert re.search(rf"^# {heading}$", rule.body, re.MULTILINE), heading
    assert rule.summary.endswith(".")
    assert "<-" not in rule.body
    if rule.code not in BY_ENGINE:
        assert {example.good for example in rule.examples} == {True, False}
    references = rule.body.partition("# References")[2]
    assert "](" in references


def test_every_check_has_a_file_and_every_file_a_check() -> None:
    assert {check.code for check in CHECKS} | BY_ENGINE == set(RULES)
    for one in CHECKS:
        rule = RULES[one.code]
        assert (one.name, one.default) == (rule.name, rule.default)
    codes = [check.code for check in CHECKS]
    assert len(codes) == len(set(codes))


def test_all_files_are_read() -> None:
    assert len(RULES) == len(list(rules_root().glob("PL*.md")))
    assert all(rule.severity in SEVERITIES for rule in RULES.values())


HEAD = "---\ncode: PL999\nname: a-rule\nkind: other\nsummary: S.\ndefault: on\nseverity: info\n---\n"


def test_marks_are_read_and_taken_out() -> None:
    body = "# Why\n```jinja bad file=x.j2 profile=vllm\none\ntwo {# <- PL999 #}\nthree {# <- PL101 #}\n```\n"
    [example] = parse_rule(HEAD + body, "PL999-a-rule.md").examples
    assert example == Example(False, "jinja", "one\ntwo\nthree\n", "x.j2", (2,), {"profile": "vllm"})


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("no front matter", "no front matter"),
        (HEAD.replace("kind: other", "kind: odd"), "`kind` is 'odd'"),
        (HEAD.replace("summary: S.\n", ""), "`summary` is missing"),
        (HEAD.replace("default: on", "default: yes"), "`default` is 'yes'"),
        (HEAD.replace("severity: info", "severity: bad"), "`severity` is 'bad'"),
        (HEAD.replace("name: a-rule", "name: other"), "rename the file"),
        (HEAD.replace("name: a-rule", "nane: a-rule"), "nane: a-rule"),
        (HEAD + "```jinja bad marks=x\n1\n```\n", "`marks`"),
        (HEAD + "```jinja good marks=1\n1\n```\n", "good example has marks"),
    ],
)
def test_a_broken_rule_file_is_named(text: str, named: str) -> None:
    with pytest.raises(CatalogError) as caught:
        parse_rule(text, "PL999-a-rule.md")
    assert "PL999-a-rule.md" in str(caught.value)
    assert named in f"{caught.value} {caught.value.next_step}"
