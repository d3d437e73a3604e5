"""One run: logs in, outcomes, totals and columns out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from promptlint.catalog.profile import Granularity, Profile
from promptlint.errors import InputError, NothingToCheckError
from promptlint.trace.explain.causes import Explainer
from promptlint.trace.explain.findings import finding_of
from promptlint.trace.explain.group import Group, Groups
from promptlint.trace.explain.outcome import Outcome
from promptlint.trace.explain.price import price_of
from promptlint.trace.explain.rollout import Rollouts
from promptlint.trace.intake import Intake
from promptlint.trace.model import Hashed, Mark, Part, Request
from promptlint.trace.options import DEFAULT_BLOCK, Options
from promptlint.trace.readers import Entry, Log, open_log
from promptlint.trace.readers.requests import build
from promptlint.trace.readers.stream import Skipped
from promptlint.trace.report.table import row_of
from promptlint.trace.simulate.hosted import HostedSimulation
from promptlint.trace.tally import Tally

if TYPE_CHECKING:
    from promptlint.trace.columns import Builder, Columns
    from promptlint.trace.encode import Encoder, Tokens

Progress = Callable[[int, int, int], None]  # bytes done, bytes in all, requests


@dataclass(slots=True)
class Analysis:
    """Everything a report needs. ``columns`` is None if no request had blocks."""

    formats: dict[str, str] = field(default_factory=dict)
    tally: Tally = field(default_factory=Tally)
    groups: list[Group] = field(default_factory=list)
    findings: list[dict[str, Any]] = field(default_factory=list)
    findings_left_out: int = 0
    columns: Columns | None = None
    block: int = DEFAULT_BLOCK
    unit: str = "tokens"
    counter: str = ""
    skipped: Skipped = field(default_factory=Skipped)
    intake: Intake = field(default_factory=Intake)
    interrupted: bool = False
    errors: list[InputError | NothingToCheckError] = field(default_factory=list)
    profiles: set[str] = field(default_factory=set)
    hosted: HostedSimulation = field(default_factory=HostedSimulation)
    rows: list[dict[str, Any]] = field(default_factory=list)  # one a request, if asked for


def analyze(
    named: Sequence[Path], found: Sequence[Path], options: Options, progress: Progress | None = None
) -> Analysis:
    """Read logs and explain what is in them. An interrupt ends the reading and keeps what is done.

    A named file that is no log is an error; a file found in a folder is only counted as skipped.

    Raises:
        InputError: no log could be read, and one not even opened.
        NothingToCheckError: no file holds a request.
        CatalogError: an unknown profile.
    """
    result = Analysis()
    logs: list[Log] = []
    tables: list[Columns] = []
    for path in (*named, *found):
        try:
            if is_parquet(path):
                from promptlint.trace.arrow import read_columns

                tables.append(read_columns(str(path)))
                result.formats[str(path)] = "parquet"
                continue
            logs.append(open_log(path))
        except (InputError, NothingToCheckError) as error:
            if path in found:
                result.skipped.add(str(path), 0, str(error).removeprefix(f"{path}: "))
            else:
                result.errors.append(error)
    if not logs and not tables:
        # A file that cannot be opened is an error of the call, one without requests is nothing to do.
        raise min(
            result.errors or [NothingToCheckError("no log in the folder", "name a log file")],
            key=lambda error: error.exit_code,
        )
    result.formats |= {log.name: log.format for log in logs}
    total = sum(path.stat().st_size for path in (log.path for log in logs))
    run = _Run(options, result)

    def texts() -> Iterator[Request]:
        for log in logs:
            try:
                for entry in run.entries(log):
                    if isinstance(entry, Hashed):
                        run.take_hashed(entry, log.name)
                    else:
                        yield entry
                    if progress:
                        progress(sum(log.progress[0] for log in logs), total, run.requests)
            finally:
                result.skipped.merge(log.skipped)

    try:
        for request in result.intake.ordered(texts(), options.order == "time"):
            run.take(request)
    except KeyboardInterrupt:
        result.interrupted = True
    run.finish(tables)
    return result


def is_parquet(path: Path) -> bool:
    """Tell whether a file is Parquet, by its first bytes."""
    if not path.is_file():  # of a pipe nothing may be read ahead
        return False
    try:
        with path.open("rb") as file:
            return file.read(4) == b"PAR1"
    except OSError:
        return False


class _Run:
    """The state of one run."""

    def __init__(self, options: Options, result: Analysis) -> None:
        self.options, self.result = options, result
        self.requests = 0
        self._explainers: dict[str, Explainer] = {}
        self._profiles: dict[tuple[str, str, date | None], Profile | None] = {}
        self._groups = Groups()
        self._rollouts = Rollouts()
        self._faults = 0
        self._found: list[tuple[int, dict[str, Any]]] = []  # with their places among all faults
        self._known: WeakValueDictionary[tuple[bytes, int, Mark | None], Part] = WeakValueDictionary()
        self._builder: Builder | None = None
        self._encoder: Encoder | None = None

    def entries(self, log: Log) -> Iterator[Entry]:
        """Return the entries of a log, read by several processes where that helps."""
        from promptlint.trace.parallel import processes, read_apart

        jobs = processes(log, self.options.jobs)
        if jobs < 2:
            return log.entries
        made = (build(value, log.name, 1) for value in log.head if isinstance(value, dict))
        first = next((request for request in made if request and request.parts), None)
        return log.entries if first is None else read_apart(log, self.tokens(first), jobs)

    def take_hashed(self, entry: Hashed, name: str) -> None:
        """Take one request of which only hashes are known."""
        from promptlint.trace.columns import Builder

        if self._builder is None:
            self._builder = Builder(self.options.block or entry.block_tokens)
            self.result.block = self._builder.block_tokens
        if entry.block_tokens != self._builder.block_tokens:
            self.result.skipped.add(name, entry.line, f"blocks of {entry.block_tokens} tokens among others")
            return
        self._builder.add(
            entry.ids,
            time=entry.time,
            order=entry.order,
            length=entry.length,
            output=entry.output,
            namespace=entry.namespace,
            session=entry.session,
            line=entry.line,
        )
        self.requests += 1

    def take(self, request: Request) -> None:
        """Explain one request and add its blocks."""
        self.requests += 1
        profile = self._profile(request)
        key = profile.name if profile else ""
        self.result.profiles.add(key or "none")
        request = self._encoded(request)
        explainer = self._explainers.get(f"{key}/{request.model}")
        if explainer is None:
            explainer = Explainer(profile, self.options.min_lost)
            self._explainers[f"{key}/{request.model}"] = explainer
        outcome = explainer.explain(request)
        self._rollouts.see(request)
        self.result.tally.add(outcome)
        if profile and profile.hosted:
            self.result.hosted.send(request, profile, outcome.sizes)
        usd = price_of(outcome, profile) if outcome.is_fault else None
        if self.options.rows:
            self.result.rows.append(row_of(outcome, usd))
        if outcome.is_fault:
            self._faults += 1
            if not self._rollouts.holds(outcome, self._faults):
                self._report(outcome, profile, usd, self._faults)

    def _report(self, outcome: Outcome, profile: Profile | None, usd: float | None, place: int) -> None:
        self._groups.add(outcome, usd)
        if len(self._found) < self.options.max_findings:
            grain = (profile.block_tokens if profile else None) or self.result.block
            self._found.append((place, finding_of(outcome, usd, grain, self.options.show_text)))
        else:
            self.result.findings_left_out += 1

    def _profile(self, request: Request) -> Profile | None:
        from promptlint.catalog.profiles import DEFAULT_PROFILE, get_profile, profile_for

        model = self.options.model or request.model
        day = datetime.fromtimestamp(request.time, UTC).date() if request.time else None
        key = (request.provider, model, day)
        if key not in self._profiles:
            if self.options.profile:
                found: Profile | None = get_profile(self.options.profile)
                found = found.for_model(model, day) if found and model else found
            elif request.provider or model:
                found = profile_for(request.provider, model, on=day)
            else:
                found = get_profile(DEFAULT_PROFILE)
            self._profiles[key] = found
        return self._profiles[key]

    def _encoded(self, request: Request) -> Request:
        """Add the request's blocks; give its parts exact sizes where the log has no counts."""
        if not request.parts:
            return request

        if self._builder is None:
            self._start(request)
        assert self._encoder is not None
        assert self._builder is not None
        encoded = request.encoded
        if encoded is None or encoded.by != self._encoder.name:
            encoded = self._encoder.encoded(request)
        names = {
            "model": request.model,
            "tenant": request.tenant,
            "salt": request.salt,
            "replica": request.replica,
        }
        self._builder.add(
            encoded.keys,
            time=request.time or 0.0,
            length=encoded.length,
            output=request.usage.output if request.usage else 0,
            namespace="/".join(names[name] for name in self.options.namespaces),
            session=request.session,
            line=request.line,
        )
        if not encoded.sizes:
            return request
        parts = map(self._sized, request.parts, encoded.sizes)
        return replace(request, parts=tuple(parts), encoded=None)

    def _sized(self, part: Part, size: int) -> Part:
        """Return a part with its size: the same object for each request that has it there and is still remembered."""
        if part.tokens is not None:
            return part
        key = (part.digest, part.index, part.mark)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = replace(part, tokens=size)
        return known

    def tokens(self, request: Request) -> Tokens:
        """Return what blocks are made of if this is the first request with text."""
        options, profile = self.options, self._profile(request)
        block = options.block
        if block is None and profile and profile.granularity is Granularity.BLOCK:
            block = profile.block_tokens
        from promptlint.trace.encode import Tokens

        return Tokens(block or DEFAULT_BLOCK, options.unit, options.model or request.model, options.tokenizer)

    def _start(self, request: Request) -> None:
        """Choose tokenizer and block size by the first request with text."""
        from promptlint.trace.columns import Builder

        tokens = self.tokens(request)
        self._encoder, self.result.counter = tokens.open()
        self.result.block = tokens.block
        self.result.unit = "tokens" if self._encoder.encode else "bytes"
        self._builder = Builder(tokens.block)

    def finish(self, tables: list[Columns]) -> None:
        """Hand over what was collected."""
        for place, outcome in self._rollouts.released():
            profile = self._profile(outcome.request)
            self._report(outcome, profile, price_of(outcome, profile), place)
        self.result.findings = [row for _, row in sorted(self._found, key=itemgetter(0))]
        self.result.groups = self._groups.ranked()
        if self._builder is not None and len(self._builder):
            columns = self._builder.build(in_time_order=self.options.order == "time")
            tables = [*tables, columns.separated().chained()]
        if tables:
            from promptlint.trace.columns import concatenate

            self.result.columns = tables[0] if len(tables) == 1 else concatenate(tables)
            self.result.block = self.result.columns.block_tokens
