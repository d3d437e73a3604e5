from __future__ import annotations

from promptlint.catalog import Catalog
from promptlint.config import Config
from promptlint.engine.judge import Judge


def test_checks_and_pages_speak_of_the_same_rules() -> None:
    pages = {code: (rule.name, rule.default) for code, rule in Catalog().rules.items()}
    assert Judge(Config()).rules == pages
