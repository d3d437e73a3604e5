"""A log read by several processes gives what one process gives."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

from promptlint.trace import parallel
from promptlint.trace.analyze import analyze
from promptlint.trace.options import Options
from promptlint.trace.readers import open_log
from promptlint.trace.report.data import report_data
from tests.trace.provider import Provider, chat, manual


def report(path: Path, jobs: int) -> dict[str, Any]:
    options = Options(jobs=jobs, show_text=True)
    found = report_data(analyze([path], [], options), options, 0.0)
    # Of the lines that decide the format, the broken ones are named first.
    found["summary"]["skipped"]["examples"][1:] = sorted(
        found["summary"]["skipped"]["examples"][1:], key=lambda row: row["line"]
    )
    return found


def test_several_processes_change_nothing(tmp_path: Path) -> None:
    """Broken lines, blank lines, plain prompts among requests, a cut archive: all in the order of the file."""
    provider = Provider()
    rows: list[str] = []
    for turn in range(40):
        clock = f"Time: 10:{turn:02}:00.\n" if turn % 3 == 0 else ""
        provider.send(chat(clock + manual("an archive"), f"Question {turn}"), thread=f"t{turn % 4}")
        row = provider.rows[-1]
        if turn % 2:
            del row["response"]  # nothing counted: sizes come from the tokenizer
        odd = "{broken" if turn % 9 == 0 else json.dumps({"other": 1}) if turn % 4 == 1 else ""
        rows += [json.dumps(row), "", odd]
    path = tmp_path / "log.gz"
    whole = gzip.compress("\ufeff".encode() + "\n".join(rows).encode())
    path.write_bytes(whole[:-4])
    assert open_log(path).format_of_lines
    one = report(path, 1)
    assert one["summary"]["requests"] == 40
    # The cut; turns 0, 9, … 36; turns 1, 5, … 37 but for 9.
    assert one["summary"]["skipped"]["lines"] == 1 + 5 + 9
    assert "cut off" in one["summary"]["skipped"]["examples"][0]["why"]
    assert report(path, 2) == one


def test_what_is_read_by_one_process(tmp_path: Path) -> None:
    """Documents over several lines, and transcripts, whose lines belong together."""
    document = tmp_path / "all.json"
    document.write_text(json.dumps([{"prompt": "a"}, {"prompt": "b"}], indent=1))
    assert parallel.processes(open_log(document), 4) == 1
    lines = tmp_path / "lines.jsonl"
    lines.write_text('{"prompt": "a"}\n{"prompt": "b"}\n')
    assert parallel.processes(open_log(lines), 4) == 4
    assert parallel.processes(open_log(lines), 0) == 1  # not worth it
