import pytest

from promptlint.catalog.catalog import Catalog
from promptlint.layout import Kind

CATALOG = Catalog()


@pytest.mark.parametrize(
    ("text", "value", "kind"),
    [
        ("You help.\nCurrent time: 2026-11-03T09:15:27Z\n", "2026-11-03T09:15:27Z", Kind.CLOCK),
        ("Generated at 2026-11-03 09:15:27.123 UTC.", "2026-11-03 09:15:27.123 UTC", Kind.CLOCK),
        ("Unix time: 1762161327", "1762161327", Kind.CLOCK),
        (
            "Session ID: 3f2b8c1e-9a54-4d0e-8f6b-2a1c7e5d9b30 is yours",
            "3f2b8c1e-9a54-4d0e-8f6b-2a1c7e5d9b30",
            Kind.IDENTIFIER,
        ),
    ],
)
def test_a_value_behind_its_label(text: str, value: str, kind: Kind) -> None:
    [(start, end, found)] = CATALOG.literals(text)
    assert text[start:end] == value
    assert found.kind is kind


@pytest.mark.parametrize(
    "text",
    [
        "The treaty was signed on 2026-11-03T09:15:27Z.",
        "Knowledge cutoff: 2024-06",
        "Current date: 2026-11-03",
        'Example: {"timestamp": "2026-11-03T09:15:27Z"}',
        "For instance, current time: 2026-11-03T09:15:27Z",
        "Return the output as\n```\nsession_id: 3f2b8c1e-9a54-4d0e-8f6b-2a1c7e5d9b30\n```\n",
        "Use namespace 3f2b8c1e-9a54-4d0e-8f6b-2a1c7e5d9b30 for ids.",
        "Call +1 1762161327 for help",
        "Order number 1762161327 was shipped",
    ],
)
def test_fixed_values_stay_silent(text: str) -> None:
    assert not list(CATALOG.literals(text))
