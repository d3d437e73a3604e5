"""What functions give that a pool runs, and what the files of a folder say when they are parsed."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.frontends.python.build import LONG, Program, send

Run = Callable[..., Program]

POOL = f"""
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
import yaml
RULES = {LONG!r}
@dataclass
class Plugin:
    name: str
    summary: str
def load(path):
    data = yaml.safe_load(path.read_text())
    return Plugin(data['name'], SUMMARY)
def discover(roots):
    found = []
    with ThreadPoolExecutor() as pool:
        jobs = [pool.submit(load, path) for root in roots for path in root.rglob('*.md')]
        for job in OVER:
            plugin = job.result()
            if plugin is not None:
                found.append(plugin)
    return RETURNED
def section(roots):
    return ' | '.join(f'{{p.name}}: {{p.summary}}' for p in discover(roots))
"""
SORTED = "sorted(found, key=lambda p: p.name)"
ENTRY = "data['summary']"


@pytest.mark.parametrize("roots", ["[Path('plugins')]", "[Path('plugins'), Path('more')]"])
@pytest.mark.parametrize(
    ("summary", "over", "returned", "codes"),
    [
        (ENTRY, "as_completed(jobs)", SORTED, []),
        (ENTRY, "jobs", SORTED, []),
        (ENTRY, "as_completed(jobs)", "found", ["PL204"]),
        ("f'{time.time()}'", "as_completed(jobs)", SORTED, ["PL101"]),
        ("f'{time.time()}'", "jobs", SORTED, ["PL101"]),
    ],
)
def test_what_a_future_gives_is_what_its_function_does(
    program: Run, roots: str, summary: str, over: str, returned: str, codes: list[str]
) -> None:
    source = POOL.replace("SUMMARY", summary).replace("OVER", over).replace("RETURNED", returned)
    found = program(send(f"section({roots}) + RULES", source))
    assert [code for code in found.codes if code != "PL110"] == codes


@pytest.mark.parametrize(
    ("data", "codes"),
    [
        ("yaml.safe_load(path.read_text())", []),
        ("yaml.safe_load(path.read_text().split('---')[1])", []),
        ("fetch(path)", ["PL108"]),
    ],
)
def test_what_the_files_of_a_folder_say_is_no_input(program: Run, data: str, codes: list[str]) -> None:
    head = f"""
import yaml
from pathlib import Path
from elsewhere import fetch
RULES = {LONG!r}
def section():
    lines = []
    for path in sorted(Path('plugins').glob('*.md')):
        data = {data}
        lines.append(f"{{data['name']}}: {{data['summary']}}")
    return ' | '.join(lines)
"""
    found = program(send("section() + RULES", head))
    assert [code for code in found.codes if code != "PL110"] == codes


def test_what_is_asked_about_each_file_is_an_input(program: Run) -> None:
    found = program(f"""
        import json
        from pathlib import Path
        from openai import OpenAI
        def ask_all():
            for path in sorted(Path('cases').glob('*.json')):
                case = json.loads(path.read_text())
                OpenAI().responses.create(model='m', instructions=f"{{case['summary']}} {LONG}", input='Go on.')
        """)
    assert found.codes == ["PL108"]
