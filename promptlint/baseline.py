"""The baseline: findings that were there before promptlint, by content and not by line."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from promptlint.errors import InputError, UsageError
from promptlint.findings import Finding, Status
from promptlint.report import fingerprint
from promptlint.source import SourceFile

_VERSION = 1
Load = Callable[[str], SourceFile | None]
Covers = Callable[[str, str], bool]
"""Tells of a rule's code and a path whether a run looked for the one in the other."""


@dataclass(frozen=True, slots=True)
class Baseline:
    """Accepted findings: how many of each fingerprint."""

    counts: Counter[str]
    labels: dict[str, str]  # fingerprint to "code path", for people who read the file

    @classmethod
    def of(cls, findings: Iterable[Finding], load: Load) -> Baseline:
        """Accept what is active or already accepted."""
        counts: Counter[str] = Counter()
        labels: dict[str, str] = {}
        for finding in findings:
            if finding.status in (Status.ACTIVE, Status.BASELINED):
                mark = fingerprint(finding, load(finding.primary.path))
                counts[mark] += 1
                labels.setdefault(mark, f"{finding.code} {finding.primary.path}")
        return cls(counts, labels)

    @classmethod
    def read(cls, path: Path) -> Baseline:
        """Read a baseline.

        Raises:
            InputError: it cannot be read, or is none.
        """
        again = "write it again with --update-baseline"
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
            if data["version"] != _VERSION:
                raise InputError(f"{path}: baseline of version {data['version']}, not {_VERSION}", again)
            rows = data["findings"]
            counts = Counter({row["fingerprint"]: int(row["count"]) for row in rows})
            return cls(counts, {row["fingerprint"]: row["finding"] for row in rows})
        except OSError as error:
            raise InputError(f"{path}: {error.strerror or error}", "make it with --update-baseline") from None
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise InputError(f"{path}: not a promptlint baseline", again) from None

    def dump(self) -> str:
        """Return the file's text, the same for the same findings in any order."""
        rows = [
            {"finding": self.labels[mark], "fingerprint": mark, "count": count}
            for mark, count in sorted(self.counts.items(), key=lambda item: (self.labels[item[0]], item[0]))
        ]
        return json.dumps({"version": _VERSION, "findings": rows}, indent=1) + "\n"

    def apply(self, findings: Iterable[Finding], load: Load, covers: Covers) -> tuple[list[Finding], int]:
        """Mark accepted findings; also return how many accepted ones are gone of those the run looked for."""
        left = Counter(self.counts)
        marked: list[Finding] = []
        for finding in findings:
            if finding.status is Status.ACTIVE:
                mark = fingerprint(finding, load(finding.primary.path))
                if left[mark] > 0:
                    left[mark] -= 1
                    finding = replace(finding, status=Status.BASELINED)
            marked.append(finding)
        return marked, (left - self._beyond(covers)).total()

    def _beyond(self, covers: Covers) -> Counter[str]:
        """Return what a run over some files or rules could not have found."""
        return Counter({m: n for m, n in self.counts.items() if not covers(*self.labels[m].split(" ", 1))})

    def kept(self, before: Baseline, covers: Covers) -> Baseline:
        """Return this baseline with what stands in the earlier one and was not looked for."""
        beyond = before._beyond(covers)
        return Baseline(self.counts | beyond, {**{m: before.labels[m] for m in beyond}, **self.labels})

    def grown(self, before: Baseline) -> list[str]:
        """Return the labels of what this baseline accepts and the earlier one did not."""
        return [self.labels[mark] for mark in (self.counts - before.counts)]


def update(
    path: Path, findings: Iterable[Finding], load: Load, covers: Covers, *, allow_growth: bool
) -> Baseline:
    """Return the baseline to write to ``path``; entries that the run did not look for stay.

    Raises:
        UsageError: it would accept more than the one that is there, and growth is not allowed.
    """
    new = Baseline.of(findings, load)
    if path.exists():
        before = Baseline.read(path)
        new = new.kept(before, covers)
        grown = new.grown(before)
        if grown and not allow_growth:
            raise UsageError(
                f"{path}: the baseline would grow by {len(grown)}: {', '.join(sorted(grown)[:3])}"
                + (", …" if len(grown) > 3 else ""),
                "mend or suppress the new findings, or pass --allow-growth",
            )
    return new
