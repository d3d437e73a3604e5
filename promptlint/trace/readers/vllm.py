"""Text logs of vLLM servers: ``Received request`` lines with the prompt in them."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from promptlint.layout import Section
from promptlint.trace.model import Part, Request
from promptlint.trace.readers.bodies import parameters_of, parts_of, surface_of
from promptlint.trace.readers.fields import mapping, text
from promptlint.trace.readers.stream import Record, Skipped

_RECEIVED = re.compile(r"Received request (?P<id>[\w.-]+): (?P<rest>.*)")
_JSON_BODY = re.compile(r"Request (?P<id>[\w.-]+) JSON body: (?P<body>\{.*\})")
_PROMPT = re.compile(r"prompt: (?P<prompt>'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")")
_IDS = re.compile(r"prompt_token_ids: \[(?P<ids>[\d, ]*)\]")
_LORA = re.compile(r"lora_request: (?P<lora>LoRARequest\([^)]*\)|[^,]+)")
_TIME = re.compile(
    r"(?:(?P<year>\d{4})-)?(?P<month>\d\d)-(?P<day>\d\d) (?P<clock>\d\d:\d\d:\d\d)(?:[.,](?P<sub>\d+))?"
)


def is_vllm(value: Any) -> bool:
    """Tell by a line of the server's request logger."""
    return isinstance(value, str) and ("Received request " in value or _JSON_BODY.search(value) is not None)


def read_vllm(records: Iterator[Record], name: str, skipped: Skipped) -> Iterator[Request]:
    """Yield requests; those logged without their prompt are counted as skipped."""
    last = ""
    for record in records:
        line = record.value if isinstance(record.value, str) else ""
        time = _time(line)
        if match := _JSON_BODY.search(line):
            body = _json(match.group("body"))
            surface = surface_of(body)
            if surface:
                last = match.group("id")
                yield Request(
                    file=name,
                    line=record.line,
                    parts=parts_of(body, surface),
                    time=time,
                    id=last,
                    provider="vllm",
                    surface=surface,
                    model=text(body.get("model")),
                    salt=text(body.get("cache_salt")),
                    parameters=parameters_of(body),
                )
        elif (match := _RECEIVED.search(line)) and match.group("id") != last:
            part = _prompt(match.group("rest"))
            if part is None:
                skipped.add(name, record.line, "the request was logged without its prompt")
                continue
            lora = _LORA.search(match.group("rest"))
            adapter = lora.group("lora").strip() if lora else "None"
            yield Request(
                file=name,
                line=record.line,
                parts=(part,),
                time=time,
                id=match.group("id"),
                provider="vllm",
                surface="completions",
                salt="" if adapter.startswith("None") else adapter,
            )


def _prompt(rest: str) -> Part | None:
    ids = _IDS.search(rest)
    tokens = ids.group("ids").count(",") + 1 if ids and ids.group("ids").strip() else None
    if found := _PROMPT.search(rest):
        try:
            said = ast.literal_eval(found.group("prompt"))
        except (ValueError, SyntaxError):
            return None
        return Part(Section.MESSAGES, 0, "", said, tokens=tokens) if said else None
    return Part(Section.MESSAGES, 0, "", ids.group("ids"), tokens=tokens) if ids and tokens else None


def _json(body: str) -> Any:
    try:
        return mapping(json.loads(body))
    except ValueError:
        return {}


def _time(line: str) -> float | None:
    """Return the time of a log line; vLLM's default format leaves the year out."""
    match = _TIME.search(line[:80])
    if not match:
        return None
    year = int(match.group("year") or datetime.now(UTC).year)
    stamp = f"{year:04d}-{match.group('month')}-{match.group('day')}T{match.group('clock')}+00:00"
    try:
        base = datetime.fromisoformat(stamp).timestamp()
    except ValueError:
        return None
    return base + float(f"0.{match.group('sub') or 0}")
