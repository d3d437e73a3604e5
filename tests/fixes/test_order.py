from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from promptlint.config import Config
from promptlint.engine import Request, check
from promptlint.findings import Finding, Fix
from promptlint.fixes.apply import plan
from promptlint.fixes.order import with_order
from promptlint.source import SourceFile

Make = Callable[..., Finding]


def mended(make: Make, code: str, text: str, part: str) -> str | None:
    source = SourceFile("a.py", text)
    start = text.index(part)
    finding = replace(make(source, start, start + len(part)), code=code, fix=Fix("sort it"))
    made = plan([with_order(finding, source)], {"a.py": source}.get)
    return made.texts.get("a.py")


@pytest.mark.parametrize(
    ("code", "text", "part", "expected"),
    [
        ("PL201", 'x = ", ".join(tags)', '", ".join(tags)', 'x = ", ".join(sorted(tags))'),
        (
            "PL201",
            "x = f\"é {', '.join(tags)}!\"",
            "', '.join(tags)",
            "x = f\"é {', '.join(sorted(tags))}!\"",
        ),
        (
            "PL201",
            'x = "é".join(t for t in s)',
            '"é".join(t for t in s)',
            'x = "é".join(sorted(t for t in s))',
        ),
        (
            "PL201",
            'x = "".join(\n    {a, b}\n)',
            '"".join(\n    {a, b}\n)',
            'x = "".join(\n    sorted({a, b})\n)',
        ),
        ("PL201", 'x = "".join(sorted(s))', '"".join(sorted(s))', None),
        ("PL201", "x = f'{\", \".join(tags)}'", '{", ".join(tags)}', "x = f'{\", \".join(sorted(tags))}'"),
        ("PL201", "x = str(tags)", "tags", None),
        ("PL202", 'x = os.listdir("d")', 'os.listdir("d")', 'x = sorted(os.listdir("d"))'),
        (
            "PL202",
            "for p in Path('d').iterdir():\n    pass\n",
            "Path('d').iterdir()",
            "for p in sorted(Path('d').iterdir()):\n    pass\n",
        ),
        (
            "PL301",
            "tools = [load(p) for p in d.glob('*.json')]",
            "d.glob('*.json')",
            "tools = [load(p) for p in sorted(d.glob('*.json'))]",
        ),
        ("PL301", "tools = list(set(tools))", "set(tools)", None),  # definitions have no order
        ("PL202", "for e in os.scandir(d):\n    pass\n", "os.scandir(d)", None),
        ("PL101", 'x = ", ".join(tags)', '", ".join(tags)', None),
    ],
)
def test_edits(make_finding: Make, code: str, text: str, part: str, expected: str | None) -> None:
    assert mended(make_finding, code, text, part) == expected


RETURNED = """
from openai import OpenAI
TOPICS = {"food", "room", "noise"}
GUIDE = "Sort a review into one topic and one mood, and quote the passage that shows the topic. " * 4
def prompt():
    return f"Topics: {', '.join(TOPICS)}\\n{GUIDE}"
def ask(review):
    return OpenAI().chat.completions.create(model="gpt-4o", messages=[
        {"role": "system", "content": prompt()}, {"role": "user", "content": review}])
"""


def test_what_is_joined_where_it_enters_the_prompt(tmp_path: Path) -> None:
    """The steps of such a finding are calls that only return the text."""
    (tmp_path / "a.py").write_text(RETURNED)
    report = check(Request(("a.py",), Config(root=tmp_path, cache=False), tmp_path))
    made = plan(report.active, report.load)
    assert made.texts["a.py"] == RETURNED.replace("join(TOPICS)", "join(sorted(TOPICS))")


def test_overlapping_fixes_wait_for_the_next_run(make_finding: Make) -> None:
    source = SourceFile("a.py", 'x = ", ".join(tags)')
    one = with_order(replace(make_finding(source, 4, 19), code="PL201", fix=Fix("sort")), source)
    assert one.fix is not None
    wider = replace(
        one, fix=replace(one.fix, edits=(replace(one.fix.edits[0], place=source.place(4, 19), text="y"),))
    )
    made = plan([one, wider], {"a.py": source}.get)
    assert made.applied == (one,)
    assert made.left == (wider,)


def test_a_fix_that_breaks_the_file_is_left(make_finding: Make) -> None:
    source = SourceFile("a.py", "x = tags")
    finding = with_order(replace(make_finding(source, 4, 8), code="PL201", fix=Fix("sort")), source)
    assert finding.fix is not None
    assert finding.fix.edits == ()


PROGRAM = """
from openai import OpenAI

client = OpenAI()
TOPICS = {"billing", "shipping", "product"}
RULES = "You sort tickets into topics. Answer with one word only, and never with a sentence. " * 4


def listed(tags):
    return ", ".join(tags)


def ask(question):
    system = EXPRESSION
    messages = [{"role": "system", "content": system}, {"role": "user", "content": question}]
    return client.chat.completions.create(model="gpt-4o", messages=messages)
"""


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ('"Topics: " + ", ".join(TOPICS) + RULES', '", ".join(sorted(TOPICS)) + RULES'),
        (
            '"\\n".join(["x", ", ".join(TOPICS), RULES])',
            '"\\n".join(["x", ", ".join(sorted(TOPICS)), RULES])',
        ),
        ('"Topics: {} {}".format(", ".join(TOPICS), RULES)', '.format(", ".join(sorted(TOPICS)), RULES)'),
        ('"Topics: " + listed(TOPICS) + RULES', 'return ", ".join(sorted(tags))'),
        ('"\\n".join(["x", str(TOPICS), RULES])', None),  # the order of these parts is meant
    ],
)
def test_the_join_that_makes_the_text(tmp_path: Path, expression: str, expected: str | None) -> None:
    (tmp_path / "a.py").write_text(PROGRAM.replace("EXPRESSION", expression))
    report = check(Request(("a.py",), Config(root=tmp_path, cache=False), tmp_path))
    assert [finding.code for finding in report.active] == ["PL201"]
    texts = list(plan(report.active, report.load).texts.values())
    assert len(texts) == (0 if expected is None else 1)
    assert expected is None or expected in texts[0]


@pytest.mark.parametrize(
    "expression",
    [
        '"Topics:\\n" + "\\n".join(f"- {topic}" for topic in TOPICS) + RULES',
        '"Topics:\\n" + "\\n".join([f"- {topic}" for topic in TOPICS | {"returns", "repairs"}]) + RULES',
        '"Documents:\\n" + "\\n".join(TOPICS) + RULES',
        '"Documents:\\n" + "\\n".join(str(path) for path in Path("docs").glob("*.md")) + RULES',
        '"Documents:\\n" + "\\n".join(path.name for path in Path(folder).iterdir()) + RULES',
        '"Documents:\\n" + "\\n".join(os.listdir(folder)) + RULES',
    ],
)
def test_what_is_sorted_has_no_other_finding(tmp_path: Path, expression: str) -> None:
    program = PROGRAM.replace("ask(question)", "ask(question, folder)").replace("EXPRESSION", expression)
    request = Request(("a.py",), Config(root=tmp_path, cache=False), tmp_path)
    (tmp_path / "a.py").write_text(f"import os\nfrom pathlib import Path\n{program}")
    report = check(request)
    assert [finding.code for finding in report.active] in (["PL201"], ["PL202"])
    (mended,) = plan(report.active, report.load).texts.values()
    assert "sorted(" in mended
    (tmp_path / "a.py").write_text(mended)
    assert check(request).active == ()
