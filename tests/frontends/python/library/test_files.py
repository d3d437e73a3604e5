"""Text and data that a program loads from files beside it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from promptlint.frontends.documents import json_tree
from tests.frontends.python.build import Program

HEAD = "from pathlib import Path\nimport json, os, tempfile, tomllib, yaml\nHERE = Path(__file__).parent\n"
TEXT = "Text of the file."


@pytest.mark.parametrize(
    ("expression", "path"),
    [
        ("(HERE / 'p.md').read_text()", "p.md"),
        ("(HERE / 'prompts' / 'p.md').read_text(encoding='utf-8').strip()", "prompts/p.md"),
        ("HERE.joinpath('prompts', 'p.md').read_text()", "prompts/p.md"),
        ("Path(__file__).with_name('p.md').read_text()", "p.md"),
        ("open(os.path.join(os.path.dirname(__file__), 'p.md')).read()", "p.md"),
        ("open('prompts/p.md').read()", "prompts/p.md"),
        ("load('p')", "p.md"),
    ],
)
def test_paths(system: Callable[..., str], expression: str, path: str) -> None:
    head = f"{HEAD}def load(name):\n    with open(HERE / f'{{name}}.md') as f:\n        return f.read()\n"
    assert system(expression, head, files={path: TEXT}) == TEXT


def test_above_the_file(system: Callable[..., str]) -> None:
    shown = system(
        "(Path(__file__).resolve().parent.parent / 'p.md').read_text()",
        HEAD,
        files={"p.md": TEXT},
        path="a/b.py",
    )
    assert shown == TEXT


@pytest.mark.parametrize(
    ("load", "path", "text"),
    [
        ("json.load(open('c.json'))", "c.json", '{"prompts": {"system": "Be {tone}"}}'),
        ("json.loads((HERE / 'c.json').read_text())", "c.json", '{"prompts": {"system": "Be {tone}"}}'),
        (
            "yaml.safe_load((HERE / 'c.yaml').read_text())",
            "c.yaml",
            "prompts:\n  system: |-\n    Be {tone}\n",
        ),
        ("tomllib.loads((HERE / 'c.toml').read_text())", "c.toml", '[prompts]\nsystem = "Be {tone}"\n'),
    ],
)
def test_data(system: Callable[..., str], load: str, path: str, text: str) -> None:
    head = f"{HEAD}CONFIG = {load}\n"
    assert system("CONFIG['prompts']['system']", head, files={path: text}) == "Be {tone}"
    assert system("CONFIG['prompts']['system'].format(tone='kind')", head, files={path: text}) == "Be kind"


def test_a_file_that_is_not_there_is_a_hole(system: Callable[..., str]) -> None:
    assert system("(HERE / 'none.md').read_text() + ' end'", HEAD) == "{(HERE / 'none.md').read_text()} end"


def test_the_file_is_a_dependency_of_the_unit() -> None:
    from tests.frontends.python.build import analyze, send

    (unit,) = analyze({"app.py": send("(HERE / 'p.md').read_text()", HEAD), "p.md": TEXT})
    assert unit.dependencies == ("app.py", "p.md")


READER = """
from pathlib import Path
def read(place, name):
    path = str(Path(place).resolve().parent) + "/prompts/" + name
    f = open(path, "r")
    text = f.read()
    f.close()
    return text
"""


@pytest.mark.parametrize("path", ["app.py", "agents/plan/app.py"])
def test_a_reader_of_another_module_is_told_the_place(program: Callable[..., Program], path: str) -> None:
    folder = path.rpartition("/")[0]
    found = program(
        {
            "lib/reader.py": READER,
            path: "from lib.reader import read\nfrom openai import OpenAI\ndef ask(wish):\n"
            "    text = read(__file__, 'plan.txt').replace('{wish}', wish)\n"
            "    return OpenAI().chat.completions.create(model='m', messages=[{'role': 'system', 'content': text}])\n",
            f"{folder}/prompts/plan.txt".lstrip("/"): "Plan {wish} well.",
            "lib/prompts/plan.txt": "Not this.",
        }
    )
    assert found.text == "<system>Plan {wish ~request-input/request} well."


@pytest.mark.parametrize(
    ("expression", "shown"),
    [
        ("open(f'{folder}/prompts/p.md').read()", TEXT),
        ("open(folder + '/p.md').read()", TEXT),
        ("open(f'{folder}/missing.md').read()", None),
        ("open(f'{folder}p.md').read()", None),  # the name may begin before what is known of it
    ],
)
def test_a_folder_that_is_not_known(system: Callable[..., str], expression: str, shown: str | None) -> None:
    found = system(expression, HEAD, files={"prompts/p.md": TEXT}, arguments="folder")
    assert (found == TEXT) is (shown is not None)


@pytest.mark.parametrize(
    ("expression", "arguments", "why"),
    [
        ("''.join(f.read_text() for f in sorted(Path('guides').glob('*.md')))", "wish", ""),
        ("''.join(sorted(str(f) for f in place.glob('*.md')))", "place", ""),
        ("''.join(f.stem for f in sorted(place.iterdir()))", "place", ""),
        # What stands in the files of a folder that somebody names may be what a request is about.
        ("''.join(f.read_text() for f in sorted(place.iterdir()))", "place", " ~request-input/request"),
    ],
)
def test_what_a_folder_holds_is_no_data_of_a_request(
    system: Callable[..., str], expression: str, arguments: str, why: str
) -> None:
    found = system(f"'Guides:\\n' + {expression} + '\\nBe brief.'", HEAD, arguments=arguments)
    assert (" ~" in found) is bool(why)
    assert why in found


@pytest.mark.parametrize(
    "path",
    [
        "Path.cwd() / 'work' / 'notes.md'",
        "os.path.join(os.getcwd(), 'work', 'notes.md')",
        "Path(os.getcwd()) / 'work' / 'notes.md'",
        "(Path.cwd() / 'work.d' / 'x').parent / 'notes.md'",
    ],
)
def test_a_path_below_a_folder_that_differs(system: Callable[..., str], path: str) -> None:
    shown = system(f"f'Read {{{path}}} first.'", HEAD)
    assert shown.startswith("Read {")
    assert "~environment/machine}" in shown
    assert shown.endswith("/notes.md first.")


@pytest.mark.parametrize("variable", ["os.environ['HOME']", "os.environ.get('HOME')", "os.getenv('HOME')"])
def test_environment_variables(system: Callable[..., str], variable: str) -> None:
    assert "~environment/machine}" in system(f"f'Home is {{{variable}}}.'", HEAD)


@pytest.mark.parametrize(
    ("head", "call"),
    [
        ("from importlib.resources import files", "files('app.texts').joinpath('plan.md').read_text()"),
        ("from importlib import resources", "(resources.files('app.texts') / 'plan.md').read_text()"),
        ("from importlib import resources", "resources.read_text('app.texts', 'plan.md')"),
        ("import pkgutil", "pkgutil.get_data('app', 'texts/plan.md').decode()"),
    ],
)
def test_a_file_in_a_package(system: Callable[..., str], head: str, call: str) -> None:
    files = {"app/texts/plan.md": "Plan first."}
    assert system(call, head, files=files, path="app/ask.py") == "Plan first."


@pytest.mark.parametrize(
    "expression",
    [
        "(HERE / ('a.md' if flag else 'b.md')).read_text()",
        "(HERE / f'{kind}.md').read_text()",
        "open(f'{kind}.md').read()",
        "open(os.path.join('.', kind + '.md')).read()",
        "HERE.joinpath(f'{kind}.md').read_text()",
    ],
)
def test_a_path_that_a_condition_chooses(system: Callable[..., str], expression: str) -> None:
    files = {"a.md": "First.", "b.md": "Second."}
    body = "kind = 'a' if flag else 'b'"
    assert system(expression, HEAD, body, files, "question, flag") == "[flag? First.][flag#1? Second.]"


def test_a_path_of_which_nothing_is_known_is_no_file(system: Callable[..., str]) -> None:
    shown = system("open(f'{kind}.md').read()", HEAD, files={"a.md": "First."}, arguments="question, kind")
    assert "First." not in shown


@pytest.mark.parametrize(
    ("path", "differs"),
    [
        ("os.path.abspath(name)", False),  # where a path that was given begins says nothing of the file
        ("os.path.expanduser('~/.ship')", True),
    ],
)
def test_what_a_file_says_is_not_where_it_lies(system: Callable[..., str], path: str, differs: bool) -> None:
    head = f"{HEAD}name = os.environ['NAME']\n"
    assert ("~environment/machine" in system(f"open({path}).read()", head)) is differs


@pytest.mark.parametrize(
    ("command", "kind"),
    [
        ("['git', 'status']", "environment"),
        ("f'ls {folder}'", "environment"),
        ("['sh', script]", "request-input"),
        ("command", "request-input"),
    ],
)
def test_what_a_command_gives_is_what_it_was_asked_for(
    program: Callable[..., Program], command: str, kind: str
) -> None:
    found = program(f"""
import subprocess
from openai import OpenAI
def ask(command, script, folder):
    out = subprocess.check_output({command})
    return OpenAI().chat.completions.create(model="m", messages=[{{"role": "user", "content": f"It said {{out}}. Why?"}}])
""")
    assert f"~{kind}/request" in found.text


@pytest.mark.parametrize(
    ("read", "cause"),
    [
        # Others work in another folder, and write other files there.
        ("(Path.cwd() / 'AGENTS.md').read_text()", "environment/session"),
        ("(Path(workspace) / 'memory' / 'MEMORY.md').read_text()", "environment/session"),
        ("open(os.path.join(workspace, 'notes.md')).read().strip()", "environment/session"),
        ("(Path(tempfile.mkdtemp()) / 'log.md').read_text()", "environment/session"),
        # A file of the program that is not at hand here, and a folder that may be the program's.
        ("(HERE / 'prompts' / 'system.md').read_text()", ""),
        ("open('prompts/rules.txt').read()", ""),
        ("(Path(folder) / 'rules.md').read_text()", ""),
    ],
)
def test_a_file_that_is_not_in_the_project(system: Callable[..., str], read: str, cause: str) -> None:
    shown = system(f"{read} + ' Be brief.'", HEAD, arguments="question, workspace, folder")
    assert [part.partition("}")[0] for part in shown.split(" ~")[1:]] == ([cause] if cause else [])


def test_a_missing_prompt_of_the_program_is_no_input_by_its_variable(program: Callable[..., Program]) -> None:
    found = program(f"""
from pathlib import Path
from openai import OpenAI
RULES = {"Answer in plain words. " * 20!r}
def ask(question, folder):
    text = (Path(__file__).parent / "prompts" / "system.md").read_text()
    return OpenAI().chat.completions.create(model="m", messages=[
        {{"role": "system", "content": text + RULES}}, {{"role": "user", "content": question}}])
""")
    assert "PL108" not in found.codes


def test_an_element_that_is_joined_stands_where_it_was_put(program: Callable[..., Program]) -> None:
    found = program(f"""
from openai import OpenAI
def ask(query, store):
    lines = ["Known:"]
    lines.append(query)
    lines.extend(["", query.text, {"Answer in plain words. " * 20!r}])
    return OpenAI().chat.completions.create(model="m", messages=[
        {{"role": "system", "content": "\\n".join(lines)}}])
""")
    assert [found.source(f.primary) for f in found.findings if f.code == "PL108"] == ["query"]


def test_a_text_that_is_read_at_import_is_the_programs(program: Callable[..., Program]) -> None:
    found = program("""
from datetime import datetime
from pathlib import Path
from openai import OpenAI
HANDBOOK = Path("handbook.md").read_text()
def ask(question):
    return OpenAI().chat.completions.create(model="m", messages=[
        {"role": "system", "content": f"It is {datetime.now()}. {HANDBOOK}"}, {"role": "user", "content": question}])
""")
    [clock] = [f for f in found.findings if f.code == "PL101"]
    assert "the text of `HANDBOOK`" in clock.message


def test_a_data_file_is_parsed_once(system: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> None:
    loads: list[str] = []
    load = json_tree.load
    monkeypatch.setattr(json_tree, "load", lambda source: loads.append(source.path) or load(source))
    expression = " + ".join(["json.loads((HERE / 'c.json').read_text())['a']"] * 3)
    assert system(expression, HEAD, files={"c.json": '{"a": "Be kind. "}'}) == "Be kind. " * 3
    assert loads == ["c.json"]


def test_a_large_data_file_is_not_read(system: Callable[..., str]) -> None:
    rows = ", ".join(f'"row {n}"' for n in range(60_000))
    shown = system(
        "json.loads((HERE / 'c.json').read_text())['a']",
        HEAD,
        files={"c.json": f'{{"a": "Hi", "rows": [{rows}]}}'},
    )
    assert "Hi" not in shown


@pytest.mark.parametrize(
    ("file", "told"), [("made.name", False), ("os.path.join(os.getcwd(), 'n.txt')", True)]
)
def test_what_was_just_written_to_a_temporary_file(system: Callable[..., str], file: str, told: bool) -> None:
    head = f"{HEAD}def said():\n    made = tempfile.NamedTemporaryFile()\n    return open({file}).read()\n"
    assert ("~environment" in system("f'Be brief. {said()}'", head)) is told
