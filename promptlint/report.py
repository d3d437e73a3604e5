"""What a run found, ready for a reporter."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import blake2b

from promptlint.findings import Finding, Severity, Status
from promptlint.source import SourceFile


@dataclass(frozen=True, slots=True)
class FileError:
    """A file that was not checked. ``internal`` marks a fault of promptlint's own."""

    path: str
    message: str
    next_step: str = ""
    internal: bool = False
    named: bool = False  # the user asked for this very file


@dataclass(frozen=True)
class Report:
    """All findings of one run, of every status, sorted by place, and the files not read.

    ``load`` gives the text behind a finding's path, or None where it is gone.
    """

    findings: tuple[Finding, ...]
    load: Callable[[str], SourceFile | None]
    errors: tuple[FileError, ...] = ()
    files: int = 0
    notes: tuple[str, ...] = ()
    seconds: float = 0.0
    root: str = ""
    accepted: str = "in the baseline"  # what the accepted findings are called
    covers: Callable[[str, str], bool] = lambda code, path: True  # did the run look for a rule in a file?

    @property
    def active(self) -> tuple[Finding, ...]:
        """Return the findings that count."""
        return tuple(f for f in self.findings if f.status is Status.ACTIVE)

    def count(self, status: Status) -> int:
        """Return how many findings have a status."""
        return sum(f.status is status for f in self.findings)

    def count_severity(self, severity: Severity) -> int:
        """Return how many active findings have a severity."""
        return sum(f.severity is severity for f in self.active)

    @property
    def exit_code(self) -> int:
        """Return 4 after a fault of promptlint, 2 for a named file it could not read, 1 for findings."""
        if any(e.internal for e in self.errors):
            return 4
        if any(e.named for e in self.errors):
            return 2
        return 1 if self.active else 0


def fingerprint(finding: Finding, source: SourceFile | None) -> str:
    """Return a hash of rule, prompt and the text of the finding's lines, blanks aside.

    It holds while lines move and files are renamed, and changes with the text itself.
    """
    text = ""
    if source is not None:
        span = finding.primary.span
        first, last = source.position(span.start)[0], source.position(max(span.start, span.end - 1))[0]
        text = " ".join(" ".join(source.line_text(n) for n in range(first, last + 1)).split())
    prompt = finding.prompt.rpartition("/")[2]
    return blake2b(
        f"{finding.code}\0{prompt}\0{text}".encode(errors="surrogatepass"), digest_size=10
    ).hexdigest()
