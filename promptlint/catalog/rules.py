"""Rule files: front matter, then Markdown whose marked code blocks are examples.

A block opens with ```` ```python bad ```` or ```` ```jinja good ````; ``key=value`` words may follow
(``file=`` names the file, ``marks=3,5`` the lines). A comment ``<- PL101`` at the end of a line says that
this line must be reported; it is cut off before the example is used or shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from promptlint.catalog.model import Example, Rule
from promptlint.errors import CatalogError
from promptlint.layout import Kind

KEYS = ("code", "name", "kind", "summary", "default", "severity")
SEVERITIES = ("by-cost", "error", "warning", "info")
_FENCE = re.compile(r"^```(?P<info>[^`\n]*)\n(?P<text>.*?)^```[ \t]*$", re.MULTILINE | re.DOTALL)
_MARK = re.compile(
    r"[ \t]*(?:#|\{#-?|<!--|//)[ \t]*<- (?P<code>PL\d{3})[ \t]*(?:-?#\}|-->)?[ \t]*$", re.MULTILINE
)


def load_rules(root: Path) -> Mapping[str, Rule]:
    """Read all rule files of a folder.

    Raises:
        CatalogError: a file breaks the form, or two files have one code or one name.
    """
    found: dict[str, Rule] = {}
    names: dict[str, str] = {}
    for path in sorted(root.glob("PL*.md")):
        rule = parse_rule(path.read_text(encoding="utf-8"), path.name)
        if rule.code in found or rule.name in names:
            raise CatalogError(f"{path.name}: code or name is taken already", "give each rule its own")
        names[rule.name] = rule.code
        found[rule.code] = rule
    return found


def parse_rule(text: str, file: str) -> Rule:
    """Read one rule file; ``file`` is its name, ``PL101-clock-before-stable.md``.

    Raises:
        CatalogError: front matter or examples break the form; the message names file and key.
    """
    head, body = _split(text, file)
    code, name = head["code"], head["name"]
    if file != f"{code}-{name}.md":
        raise CatalogError(
            f"{file}: `code` and `name` give {code}-{name}.md", "rename the file or mend the keys"
        )
    try:
        kind = Kind(head["kind"])
    except ValueError:
        raise CatalogError(
            f"{file}: `kind` is {head['kind']!r}, not one of {', '.join(Kind)}", "correct the kind"
        ) from None
    if head["default"] not in ("on", "off"):
        raise CatalogError(f"{file}: `default` is {head['default']!r}", "write on or off")
    if head["severity"] not in SEVERITIES:
        raise CatalogError(
            f"{file}: `severity` is {head['severity']!r}", f"write one of {', '.join(SEVERITIES)}"
        )
    examples = tuple(_examples(body, code, file))
    shown = _MARK.sub("", body)
    return Rule(
        code, name, kind, head["summary"], shown, head["default"] == "on", head["severity"], examples, file
    )


def _split(text: str, file: str) -> tuple[dict[str, str], str]:
    if not text.startswith("---\n") or (end := text.find("\n---\n", 4)) < 0:
        raise CatalogError(f"{file}: no front matter", "start the file with --- and close it with ---")
    head: dict[str, str] = {}
    for line in text[4:end].splitlines():
        key, colon, value = line.partition(":")
        if not colon or key not in KEYS or not value.strip():
            raise CatalogError(
                f"{file}: front matter line {line!r}", f"write `key: value`; keys: {', '.join(KEYS)}"
            )
        head[key] = value.strip()
    for key in KEYS:
        if key not in head:
            raise CatalogError(f"{file}: `{key}` is missing", "add it to the front matter")
    return head, text[end + 5 :].lstrip("\n")


def _examples(body: str, code: str, file: str) -> Iterator[Example]:
    for match in _FENCE.finditer(body):
        info = match.group("info").split()
        if len(info) < 2 or info[1] not in ("good", "bad"):
            continue  # a block for the reader only
        options = dict(word.partition("=")[::2] for word in info[2:])
        text = match.group("text")
        marks = {
            text.count("\n", 0, mark.start()) + 1
            for mark in _MARK.finditer(text)
            if mark.group("code") == code
        }
        try:
            marks.update(int(line) for line in options.pop("marks", "").split(",") if line)
        except ValueError:
            raise CatalogError(f"{file}: `marks` of an example", "write line numbers: marks=3,5") from None
        good = info[1] == "good"
        if good and marks:
            raise CatalogError(f"{file}: a good example has marks", "take them away")
        yield Example(
            good, info[0], _MARK.sub("", text), options.pop("file", ""), tuple(sorted(marks)), options
        )
