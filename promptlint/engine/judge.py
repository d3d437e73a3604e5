"""From layouts to findings: scopes, prefix, checks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from promptlint.config import Config
from promptlint.engine.settled import unshown
from promptlint.findings import Finding
from promptlint.layout import Layout, Scope
from promptlint.suppress import UNUSED_CODE, UNUSED_NAME

if TYPE_CHECKING:
    from promptlint.catalog.catalog import Catalog
    from promptlint.catalog.profile import Profile
    from promptlint.prefix.measure import Measure
    from promptlint.tokens.cached import CachedCounter


class Judge:
    """Everything that stays the same over a run: catalogue, profiles, tokenizers, thresholds.

    The parts are made when they are first needed; a run that finds all results in its cache needs none.
    """

    def __init__(self, config: Config) -> None:
        self._config = config
        self._counters: dict[str, CachedCounter] = {}

    @cached_property
    def catalog(self) -> Catalog:
        """Return the catalogue with the project's own files and scopes."""
        from promptlint.catalog.catalog import Catalog

        return Catalog(self._config.catalogs, self._config.scopes)

    @property
    def rules(self) -> dict[str, tuple[str, bool]]:
        """Return name and default of every rule that can be found, by code."""
        from promptlint.checks import CHECKS

        known = {check.code: (check.name, check.default) for check in CHECKS}
        return {**known, UNUSED_CODE: (UNUSED_NAME, True)}

    def profile(self, layout: Layout) -> Profile:
        """Return the cache rules for a prompt: those asked for, else its provider's, else the default."""
        from promptlint.catalog.locate import own_files
        from promptlint.catalog.profiles import DEFAULT_PROFILE, get_profile, profile_for

        extra = own_files(self._config.catalogs)
        model = self.model(layout)
        if self._config.profile:
            chosen = get_profile(self._config.profile, extra)
            return chosen.for_model(model) if model else chosen
        found = profile_for(layout.provider, model, extra) if layout.provider or model else None
        return found or get_profile(DEFAULT_PROFILE, extra)

    def model(self, layout: Layout) -> str:
        """Return the model whose tokens and rules count: the one asked for, unless its provider cannot serve it."""
        asked = self._config.model
        if not asked or not layout.provider:
            return asked or layout.model
        from promptlint.catalog.locate import own_files
        from promptlint.catalog.profiles import profile_for

        extra = own_files(self._config.catalogs)
        home, rules = profile_for("", asked, extra), profile_for(layout.provider, asked, extra)
        foreign = home and rules and home.provider != rules.provider and not rules.serves(asked)
        return layout.model if foreign else asked

    @property
    def unknown_model(self) -> str:
        """Return the model that was asked for, if nothing is known of it."""
        model = self._config.model
        if not model:
            return ""  # a warm run imports neither of these
        from promptlint.catalog.profiles import profile_for
        from promptlint.catalog.tokenizers import choose

        return "" if choose(model) or profile_for("", model) else model

    def measure(self, layout: Layout) -> Measure:
        """Return the prefix of an annotated layout, in tokens and blocks."""
        from promptlint.prefix.measure import Measure

        return Measure(layout, self.profile(layout), self.counter(self.model(layout)))

    def counter(self, model: str) -> CachedCounter:
        """Return what counts a model's tokens."""
        from promptlint.tokens.choose import open_counter

        if model not in self._counters:
            self._counters[model] = open_counter(model, self._config.tokenizer, self._config.cache_folder)
        return self._counters[model]

    def annotate(self, layout: Layout) -> Layout:
        """Return the layout with the scope and cause of each segment."""
        from promptlint.volatility import annotate

        return annotate(layout, self.catalog)

    def findings(self, layouts: Iterable[Layout]) -> Iterator[Finding]:
        """Yield what the checks say of each layout."""
        from promptlint.checks import CHECKS, Thresholds
        from promptlint.checks.beside import together

        thresholds = Thresholds(self._config.min_lost_tokens)
        for layout in unshown(tuple(layouts)):
            annotated = self.annotate(layout)
            measure = self.measure(annotated)
            found = (finding for check in CHECKS for finding in check.run(annotated, measure, thresholds))
            for finding in together(found):
                yield _priced(finding, measure)


def _priced(finding: Finding, measure: Measure) -> Finding:
    """Add what the lost tokens cost, where they are paid for, could be cached, and have a listed price.

    As for a layout, the 1,000 requests are those of one day: what changes by the day or less often costs them
    no more than the first one.
    """
    cost, profile = finding.cost, measure.profile
    if cost is None or not cost.tokens or not profile.hosted:
        return finding
    if profile.min_tokens and measure.total < profile.min_tokens:
        return replace(
            finding, cost=replace(cost, below_minimum=profile.min_tokens, fixed_tokens=measure.total)
        )
    if not profile.model or (
        finding.scope is not Scope.UNKNOWN and not finding.scope.narrower_than(Scope.DAY)
    ):
        return finding
    from promptlint.catalog.prices import per_thousand

    usd = per_thousand(cost.tokens, profile, cost.price)
    return replace(finding, cost=replace(cost, usd_per_thousand=usd))
