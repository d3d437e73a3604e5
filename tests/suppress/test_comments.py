from __future__ import annotations

import pytest

from promptlint.source import SourceFile
from promptlint.suppress import parse


def covered(path: str, text: str) -> list[tuple[int, int, tuple[str, ...], str]]:
    return [(s.first, s.last, s.codes, s.reason) for s in parse(SourceFile(path, text))]


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("a.py", "x = 1  # promptlint: ignore[PL101] on purpose\n", (1, 1, ("PL101",), "on purpose")),
        ("a.py", "x = 1  # noqa  # promptlint: ignore\n", (1, 1, (), "")),
        ("a.py", "x = 1  # see promptlint: ignore\n", None),
        ("a.py", "x = '# promptlint: ignore'\n", None),
        ("a.py", "# promptlint: ignore-file[PL1, PL2]\n", (0, 0, ("PL1", "PL2"), "")),
        ("a.py", 'p = f"""a\n{b}\n"""  # promptlint: ignore[PL101]\n', (1, 3, ("PL101",), "")),
        ("a.py", "# promptlint: ignore-next-line\n\ncall(\n  a,\n)\n", (3, 5, (), "")),
        ("a.py", "# promptlint: ignored\n", None),
        (
            "a.py",
            "def f(:\n  x = 1  # promptlint: ignore[PL1] -- broken file\n",
            (2, 2, ("PL1",), "broken file"),
        ),
        ("a.j2", "{# promptlint: ignore[PL101] why #}{{ now() }}", (1, 1, ("PL101",), "why")),
        (
            "a.j2",
            "{#- promptlint: ignore-next-line\n  [PL101]\n why -#}\n{{ now() }}",
            (4, 4, ("PL101",), "why"),
        ),
        ("a.j2", "# promptlint: ignore", None),
        ("a.yaml", "a: 1 # promptlint: ignore[clock-before-stable]", (1, 1, ("clock-before-stable",), "")),
        ("a.yaml", "p: |  # promptlint: ignore\n  one\n  two\nq: 1\n", (1, 3, (), "")),
        ("a.yaml", "# promptlint: ignore-next-line\np: |\n  one\n\n  two\nq: 1\n", (2, 5, (), "")),
        ("a.yaml", "p: |\n  # promptlint: ignore\n  text\n", None),
        ("a.toml", 'p = """ # promptlint: ignore\nx\n"""\n', (1, 3, (), "")),
        ("a.md", "<!-- promptlint: ignore-next-line[PL103]: shown -->\n{x}\n", (2, 2, ("PL103",), "shown")),
        ("a.hbs", "{{!-- promptlint: ignore-file --}}", (0, 0, (), "")),
        ("a.json", '{"a": "# promptlint: ignore"}', None),
    ],
)
def test_hosts(path: str, text: str, expected: tuple[int, int, tuple[str, ...], str] | None) -> None:
    assert covered(path, text) == ([expected] if expected else [])


def test_other_jinja_comments() -> None:
    source = SourceFile("a.j2", "<# promptlint: ignore #>")
    assert parse(source) == []
    assert len(parse(source, ("<#", "#>"))) == 1


def test_reason_needs_no_codes() -> None:
    assert covered("a.py", "x  # promptlint: ignore because it is last\n") == [
        (1, 1, (), "because it is last")
    ]
