import pytest

from promptlint.catalog.clock import clock_scope, refine_clock
from promptlint.layout import Scope


@pytest.mark.parametrize(
    ("fmt", "scope"),
    [
        ("%Y-%m-%d", Scope.DAY),
        ("%A, %B %d, %Y", Scope.DAY),
        ("%-d %b", Scope.DAY),
        ("%x", Scope.DAY),
        ("%Y-%m-%d %H:%M:%S", Scope.REQUEST),
        ("%H", Scope.REQUEST),
        ("%I %p", Scope.REQUEST),
        ("%c", Scope.REQUEST),
        ("%s", Scope.REQUEST),
        ("%Y", Scope.RELEASE),
        ("%B %Y", Scope.RELEASE),
        ("100%%", Scope.RELEASE),
        ("YYYY-MM-DD", Scope.DAY),
        ("dddd, MMMM Do YYYY", Scope.DAY),
        ("YYYY-MM-DD HH:mm", Scope.REQUEST),
        ("YYYY", Scope.RELEASE),
        ("[Today is] dddd", Scope.DAY),
        ("LLLL", Scope.REQUEST),
        ("no format at all", Scope.REQUEST),
    ],
)
def test_how_often_a_format_changes(fmt: str, scope: Scope) -> None:
    assert clock_scope(fmt) is scope


@pytest.mark.parametrize(
    ("expression", "scope"),
    [
        ("datetime.now().strftime('%Y-%m-%d')", Scope.DAY),
        ("datetime.now().strftime('%H:%M')", Scope.REQUEST),
        ("datetime.now().date()", Scope.DAY),
        ("datetime.now().year", Scope.RELEASE),
        ("datetime.now()", Scope.REQUEST),
        ("datetime.now().isoformat()", Scope.REQUEST),
        ("datetime.now():%B %d", Scope.DAY),
        ("time.strftime('%Y-%m-%d', time.gmtime())", Scope.DAY),
        ("strftime_now('%d %b %Y')", Scope.DAY),
        ("moment().format('YYYY-MM-DD')", Scope.DAY),
        ("pendulum.now().to_date_string()", Scope.DAY),
    ],
)
def test_the_expression_around_a_clock(expression: str, scope: Scope) -> None:
    assert refine_clock(Scope.REQUEST, expression) is scope


def test_a_clock_never_becomes_finer() -> None:
    assert refine_clock(Scope.DAY, "date.today().strftime('%H:%M')") is Scope.DAY
