import pytest

from promptlint.catalog.patterns import DottedIndex


@pytest.fixture
def index() -> DottedIndex[str]:
    made: DottedIndex[str] = DottedIndex()
    for pattern in (
        "a.b.now",
        "pkg*.**.now",
        "pkg.sub.**.now",
        "*.now",
        "*.b.now",
        "Repo().head",
        "*.Repo().head",
    ):
        made.add(pattern, pattern)
    return made


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("a.b.now", "a.b.now"),
        ("x.b.now", "*.b.now"),
        ("b.now", "*.b.now"),  # the object of a program's own
        ("x.now", "*.now"),
        ("pkg_core.x.y.now", "pkg*.**.now"),
        ("pkg.now", "pkg*.**.now"),
        ("pkg.sub.x.now", "pkg.sub.**.now"),
        ("now", None),
        ("x.then", None),
        ("Repo().head", "Repo().head"),
        ("git.Repo().head", "*.Repo().head"),
    ],
)
def test_the_most_exact_pattern_wins(index: DottedIndex[str], path: str, expected: str | None) -> None:
    assert index.find(path) == expected


def test_a_later_equal_pattern_replaces_the_earlier(index: DottedIndex[str]) -> None:
    index.add("*.now", "new")
    assert index.find("x.now") == "new"
    assert sum(1 for entry in index if entry.pattern == "*.now") == 1


@pytest.mark.parametrize("pattern", ["", "*", "*.", "a.*", "a..b", "a b", "a.**"])
def test_other_forms_are_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match="dotted path"):
        DottedIndex[str]().add(pattern, "")
