from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptlint.findings import Edit, Finding, Fix, Severity, Status
from promptlint.layout import Step
from promptlint.report import FileError, Report
from promptlint.reporters import FORMATS, Options, render
from promptlint.reporters.mask import mask
from promptlint.source import SourceFile

SCHEMA = Path(__file__).parent.parent / "data" / "sarif-schema-2.1.0.json"
"""The schema of the OASIS SARIF TC, errata 01, without its prose."""

TEMPLATE = SourceFile("t/a b.j2", "Du bist höflich.\nHeute: {{ now() }} <ok>, 50% & more\nEnde\n")
CODE = SourceFile("app.py", "stamp = now\nrender(stamp)\n")
Make = Callable[..., Finding]


@pytest.fixture
def report(make_finding: Make) -> Report:
    at = TEMPLATE.text.index("{{")
    finding = make_finding(
        TEMPLATE,
        at,
        at + len("{{ now() }}"),
        message="`now()` differs, <each> time: 5%",
        origin=CODE.place(8, 11),
        related=(Step(CODE.place(12, 25), "passed to the template"),),
        fix=Fix("move it to the end", (Edit(TEMPLATE.place(at, at + 11), "x"),), safe=True),
    )
    sources = {s.path: s for s in (TEMPLATE, CODE)}
    statuses = [Status.SUPPRESSED, Status.BASELINED, Status.BELOW_THRESHOLD]
    others = [replace(finding, status=status, reason="known") for status in statuses]
    gone = make_finding(SourceFile("gone.j2", ""), 0, 5, cost=None, severity=Severity.INFO)
    return Report(
        (finding, gone, *others),
        sources.get,
        errors=(FileError("bad.j2", "binary file", "exclude it"),),
        files=2,
    )


def test_text(report: Report) -> None:
    assert render(report, "text") == (
        "t/a b.j2:2:8: PL101 warning: `now()` differs, <each> time: 5%\n"
        "     2 | Heute: {{ now() }} <ok>, 50% & more\n"
        "       |        ^^^^^^^^^^^\n"
        "     through  app.py:2: passed to the template\n"
        "     made at  app.py:1\n"
        "        lost  1,204 tokens, 75 blocks (vllm)\n"
        "     instead  move it to the end\n"
        "        rule  clock-before-stable, high confidence\n"
        "\n"
        "gone.j2:1:1: PL101 info: `now()` before stable text\n"
        "        rule  clock-before-stable, high confidence\n"
        "\n"
        "2 findings (1 warning, 1 info) in 2 files; 1 suppressed; 1 in the baseline; 1 below the threshold; "
        "1 file not checked\n"
    )


def test_where_a_value_is_made_is_not_said_of_its_own_line(report: Report) -> None:
    first = report.findings[0]
    near = replace(
        first,
        origin=replace(first.primary, span=replace(first.primary.span, end=first.primary.span.start + 5)),
    )
    assert "made at" in render(report, "text")
    assert "made at" not in render(replace(report, findings=(near,)), "text")


def test_nothing_counted_is_not_said_to_be_lost(report: Report) -> None:
    first = report.findings[0]
    assert first.cost is not None
    none = replace(report, findings=(replace(first, cost=replace(first.cost, tokens=0, blocks=0)),))
    assert "lost" not in render(none, "text")
    assert "[" not in render(none, "concise").splitlines()[0]


def test_text_can_show_everything(report: Report) -> None:
    text = render(report, "text", Options(all=True))
    assert "[suppressed]" in text
    assert "      reason  known" in text


def test_carets_stand_under_wide_characters(make_finding: Make) -> None:
    source = SourceFile("a.j2", "你好 {{ now() }}\n")
    report = Report((make_finding(source, 3, 14),), {"a.j2": source}.get)
    assert "       |      ^^^^^^^^^^^\n" in render(report, "text")  # 2 + 2 + 1 columns before


def test_long_lines_are_cut_around_the_finding(make_finding: Make) -> None:
    source = SourceFile("a.j2", "x" * 5000 + "{{ now() }}" + "y" * 5000)
    report = Report((make_finding(source, 5000, 5011),), {"a.j2": source}.get)
    line, carets = render(report, "text").splitlines()[1:3]
    assert len(line) <= 110
    assert line[carets.index("^") : carets.rindex("^") + 1] == "{{ now() }}"


def test_the_end_of_a_long_line_is_whole(make_finding: Make) -> None:
    source = SourceFile("a.j2", "x" * 500 + "{{ now() }}.")
    report = Report((make_finding(source, 500, 511),), {"a.j2": source}.get)
    assert render(report, "text").splitlines()[1].endswith("x{{ now() }}.")


def test_no_name_or_message_steers_a_terminal(make_finding: Make) -> None:
    source = SourceFile("a\x1b[2J\n.j2", "{{ now() }}\x1b]0;title\x07")
    finding = make_finding(source, 0, 11, message="odd \x1b[31m\n name")
    report = Report((finding,), {source.path: source}.get)
    for format_ in ("text", "concise"):
        out = render(report, format_)
        assert "\x1b" not in out
        assert "\x07" not in out
        assert out.startswith("a\\x1b[2J\\n.j2:1:1: PL101 warning: odd \\x1b[31m\\n name")


def test_many_lines_are_shown_by_their_ends(make_finding: Make) -> None:
    source = SourceFile("a.j2", "".join(f"line {n}\n" for n in range(1, 9)))
    report = Report((make_finding(source, 0, len(source.text)),), {"a.j2": source}.get)
    shown = render(report, "text")
    assert "     8 | line 8" in shown
    assert "line 4" not in shown


def test_json(report: Report) -> None:
    data = json.loads(render(report, "json"))
    first = data["findings"][0]
    assert (first["line"], first["column"], first["end_line"], first["end_column"]) == (2, 8, 2, 19)
    assert first["origin"] == {"file": "app.py", "line": 1}
    assert first["chain"] == [{"file": "app.py", "line": 2, "note": "passed to the template"}]
    assert [f["status"] for f in data["findings"]] == [
        *("active", "active", "suppressed", "baselined", "below-threshold")
    ]
    assert data["summary"]["active"] == 2
    assert data["summary"]["lost_tokens"] == 1204
    assert data["errors"][0]["file"] == "bad.j2"


def test_sarif_follows_the_schema(report: Report) -> None:
    log = json.loads(render(report, "sarif"))
    jsonschema.Draft4Validator(json.loads(SCHEMA.read_text())).validate(log)
    (run,) = log["runs"]
    assert [r["ruleId"] for r in run["results"]] == ["PL101"] * 4  # what is below the threshold is left out
    location = run["results"][0]["locations"][0]["physicalLocation"]
    assert location["artifactLocation"]["uri"] == "t/a%20b.j2"
    assert location["region"]["startColumn"] == 8
    assert run["results"][2]["suppressions"][0]["kind"] == "inSource"
    marks = [r["partialFingerprints"]["promptlint/v1"] for r in run["results"]]
    assert len(set(marks)) == 4


def test_empty_sarif_follows_the_schema() -> None:
    log = json.loads(render(Report((), {}.get), "sarif"))
    jsonschema.Draft4Validator(json.loads(SCHEMA.read_text())).validate(log)


def test_github(report: Report) -> None:
    lines = render(report, "github").splitlines()
    assert lines[0] == (
        "::warning file=t/a b.j2,line=2,endLine=2,col=8,endColumn=19,title=PL101 clock-before-stable::"
        "`now()` differs, <each> time: 5%25%0Alost: 1,204 tokens, 75 blocks (vllm)%0Ainstead: move it to the end"
    )
    assert lines[-1] == "::error file=bad.j2,title=not checked::binary file"


def test_junit_is_xml(report: Report) -> None:
    suite = ElementTree.fromstring(render(report, "junit").encode())
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("3", "2", "1")
    failure = suite.find(".//failure")
    assert failure is not None
    assert failure.get("message") == "`now()` differs, <each> time: 5%"


@pytest.mark.parametrize("format_", FORMATS)
@given(text=st.text(max_size=60), start=st.integers(0, 60), length=st.integers(0, 60))
def test_no_text_breaks_a_reporter(
    make_finding: Make, format_: str, text: str, start: int, length: int
) -> None:
    source = SourceFile("a.j2", text.replace("\r", "\n"))
    finding = make_finding(source, start, start + length, message=text or "m")
    out = render(Report((finding,), {"a.j2": source}.get, files=1), format_)
    if format_ in ("json", "sarif"):
        json.loads(out)
    if format_ == "junit":
        ElementTree.fromstring(out.encode("utf-8", "replace"))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("key = sk-abcdefghijklmnopqrstuvwx", "key = sk-a" + "*" * 23),
        ('api_key: "a1b2c3d4e5f6a7b8c9"', 'api_key: "a1b2' + "*" * 14 + '"'),
        ("Authorization: Bearer 0123456789abcdef01", "Authorization: Bearer 0123" + "*" * 14),
        ("ghp_0123456789012345678901234567890123456789", "ghp_" + "*" * 40),
        ("You answer with one token at a time.", "You answer with one token at a time."),
        ("token limit: internationalization", "token limit: internationalization"),
        ("get('https://u:hunter2@host/')", "get('https://u:*******@host/')"),
        ("login(password='hunter2')", "login(password='*******')"),
        ("passwords expire in 30 days", "passwords expire in 30 days"),
    ],
)
def test_mask(text: str, shown: str) -> None:
    assert mask(text) == shown


def test_no_reporter_shows_a_key(make_finding: Make) -> None:
    key = "sk-proj-Abcdefghijklmnopqrstuvwxyz012345"
    source = SourceFile("a.j2", f"secret line {key}\nnext {key} {{{{ now() }}}}\n")
    at = source.text.index("{{")
    finding = make_finding(source, at, at + 11, message=f"uses {key}", fix=Fix(f"drop {key}"))
    report = Report((finding,), {"a.j2": source}.get, files=1)
    for format_ in FORMATS:
        out = render(report, format_)
        assert key not in out
        assert "secret line" not in out  # a line that is not the finding's
