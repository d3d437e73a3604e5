import pytest

from promptlint.checks import CHECKS, Thresholds
from promptlint.findings import Finding, Severity
from promptlint.layout import Confidence, Kind, Layout, Observation, Parameter, Scope
from tests.checks.build import SYSTEM, TOOLS, Words, cause, hole, layout, place, text


def run(made: Layout) -> list[Finding]:
    return [finding for check in CHECKS for finding in check.run(made, Words(made), Thresholds())]


@pytest.mark.parametrize(
    ("what", "code", "kind"),
    [
        ("history-cut", "PL311", Kind.HISTORY_REWRITE),
        ("history-rewritten", "PL312", Kind.HISTORY_REWRITE),
        ("history-inserted", "PL313", Kind.HISTORY_REWRITE),
        ("tools-changed", "PL303", Kind.TOOLS_ORDER),
        ("tools-unordered", "PL301", Kind.TOOLS_ORDER),
        ("dedent-after-interpolation", "PL501", Kind.WHITESPACE),
        ("template-clock", "PL401", Kind.CHAT_TEMPLATE),
        ("template-rewrites", "PL402", Kind.CHAT_TEMPLATE),
        ("template-moves-tools", "PL403", Kind.CHAT_TEMPLATE),
        ("replica-random", "PL701", Kind.ROUTING),
        ("template-answers", "PL404", Kind.CHAT_TEMPLATE),
        ("parameter-flips", "PL702", Kind.PARAMETER_CHANGE),
        ("parse-error", "PL901", Kind.OTHER),
    ],
)
def test_each_observation_has_one_rule(what: str, code: str, kind: Kind) -> None:
    seen = Observation(what, place(4), "the detail", confidence=Confidence.MEDIUM)
    [found] = run(layout(observations=(seen,)))
    assert (found.code, found.kind, found.primary, found.confidence) == (
        code,
        kind,
        place(4),
        Confidence.MEDIUM,
    )
    words = {"template-clock", "template-rewrites", "template-moves-tools", "template-answers", "parse-error"}
    assert found.message.endswith(": the detail" if what in words else ": `the detail`")
    assert found.fix is not None


def test_a_change_of_the_tools_costs_all_behind_them() -> None:
    seen = Observation("tools-changed", place(4))
    [found] = run(layout(text(10, section=TOOLS), text(100, section=SYSTEM), text(20), observations=(seen,)))
    assert found.cost is not None
    assert found.cost.tokens == 120
    assert found.severity is Severity.ERROR
    [found] = run(layout(text(100, section=SYSTEM), observations=(seen,)))
    assert found.cost is not None
    assert (found.cost.tokens, found.cost.blocks) == (100, 6)


def test_a_template_clock_costs_what_stands_behind_it() -> None:
    seen = Observation("template-clock", place(1000), cause=cause(Kind.CLOCK, Scope.DAY))
    [found] = run(layout(text(30), text(1), text(40), observations=(seen,)))
    assert found.cost is not None
    assert found.cost.tokens == 40
    assert found.scope is Scope.DAY


def test_parameters_that_change() -> None:
    flips = Parameter("thinking", place(5), choices=("on", "off"))
    assert [f.code for f in run(layout(parameters=(flips,), repeated=True))] == ["PL702"]
    assert not run(layout(parameters=(flips,)))
    drawn = Parameter("model", place(5), scope=Scope.REQUEST, cause=cause(Kind.RANDOM, Scope.REQUEST))
    [found] = run(layout(parameters=(drawn,)))
    assert "`model`" in found.message
    chosen = Parameter("model", place(5), scope=Scope.REQUEST, cause=cause(Kind.REQUEST_INPUT, Scope.REQUEST))
    assert not run(layout(parameters=(chosen,)))
    configured = Parameter("model", place(5), choices=("a", "b"))
    assert not run(layout(parameters=(configured,), repeated=True))
    steady = Parameter("model", place(5), "gpt", Scope.RELEASE)
    assert not run(layout(parameters=(steady,), repeated=True))


def test_a_chat_template_with_a_clock_is_reported_once() -> None:
    seen = Observation("template-clock", place(1), cause=cause(Kind.CLOCK, Scope.DAY))
    clock = hole(cause(Kind.CLOCK, Scope.DAY))
    asked = hole(cause(Kind.PER_USER, Scope.USER))
    both = [clock, text(60), asked, text(60)]
    assert [found.code for found in run(layout(*both))] == ["PL101", "PL104"]
    assert sorted(f.code for f in run(layout(*both, observations=(seen,)))) == ["PL104", "PL401"]
