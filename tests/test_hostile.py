"""Input that means harm, or that no one meant at all: one clear message, and the other files still checked."""

import json
import os
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from promptlint.cli.main import group
from promptlint.config import Config
from promptlint.engine.inspect import inspect
from promptlint.errors import InputError, PromptlintError
from promptlint.files import replacing, write_text
from promptlint.source import decode, read

TEMPLATE = "Now {{ now() }}\n" + "Keep to these rules. " * 200
posix = pytest.mark.skipif(sys.platform == "win32", reason="pipes, links and names of POSIX")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()
    (tmp_path / "good.jinja").write_text(TEMPLATE)
    return tmp_path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(group, arguments, catch_exceptions=True, standalone_mode=False)


def code_of(result: Result) -> int:
    if result.exception is None:
        return int(result.return_value or 0)
    assert isinstance(result.exception, PromptlintError), result.exception
    return result.exception.exit_code


@posix
def test_a_pipe_without_a_writer_is_refused_and_not_waited_for(folder: Path) -> None:
    os.mkfifo(folder / "pipe.jinja")
    result = run("check", "pipe.jinja", "good.jinja", "--format", "json")
    assert code_of(result) == 2
    assert "pipe.jinja: not checked: a pipe, socket or device" in result.stderr
    assert "clock-before-stable" in result.stdout  # the other file is checked
    assert code_of(run("check", ".")) == 1  # in a folder it is no file at all


@posix
def test_a_link_to_itself_is_no_file(folder: Path) -> None:
    (folder / "loop.jinja").symlink_to("loop.jinja")
    assert code_of(run("check", ".")) == 1
    assert code_of(run("check", "loop.jinja")) == 2


@pytest.mark.parametrize("codec", ["undefined", "punycode", "idna", "hex", "no-such", "..", "utf-32"])
def test_a_declared_encoding_that_does_not_fit_is_said(codec: str) -> None:
    with pytest.raises(InputError, match=r"a\.py: (not valid|unknown encoding)"):
        decode(f"# coding: {codec}\nprompt = 'a -é\u20ac'\n".encode(), "a.py")


def test_half_a_character_made_by_a_codec_is_refused() -> None:
    with pytest.raises(InputError, match="half a character"):
        decode(b"# coding: raw_unicode_escape\nprompt = '\\ud800'\n", "a.py")


def test_a_name_that_no_file_can_have(folder: Path) -> None:
    assert code_of(run("check", "x" * 5000)) == 2
    for name in ("x" * 5000, "a\0b", "\ud800"):
        with pytest.raises(InputError):
            read(Path(name))


@pytest.mark.skipif(sys.platform != "linux", reason="names of any bytes")
def test_a_name_that_is_no_utf8(folder: Path) -> None:
    name = os.fsdecode(b"\xff\xfe.jinja")
    (folder / name).write_text(TEMPLATE)
    for form in ("text", "concise", "json", "sarif", "github", "junit"):
        for _ in range(2):  # the second time from the cache
            assert code_of(run("check", ".", "--format", form, "-o", "out.txt")) == 1
        text = (folder / "out.txt").read_text(encoding="utf-8")
        assert {"sarif": "%FF%FE.jinja", "junit": "\ufffd\ufffd.jinja"}.get(form, "\\udcff") in text


@posix
def test_output_goes_through_links_and_into_devices_and_replaces_neither(folder: Path) -> None:
    (folder / "link.json").symlink_to("real.json")
    (folder / "real.json").write_text("old")
    (folder / "real.json").chmod(0o640)
    assert code_of(run("check", ".", "--format", "json", "-o", "link.json")) == 1
    assert (folder / "link.json").is_symlink()
    assert json.loads((folder / "real.json").read_text())["findings"]
    assert (folder / "real.json").stat().st_mode & 0o777 == 0o640
    write_text(Path(os.devnull), "text")
    assert not Path(os.devnull).is_file()


@pytest.mark.parametrize("end", [KeyboardInterrupt, OSError, MemoryError])
def test_an_interrupted_output_leaves_what_was_there(tmp_path: Path, end: type[BaseException]) -> None:
    path = tmp_path / "report.json"
    path.write_text("old")

    def write() -> None:
        with replacing(path) as temporary:
            temporary.write_text("ne")
            raise end

    with pytest.raises(end):
        write()
    assert [file.name for file in tmp_path.iterdir()] == ["report.json"]
    assert path.read_text() == "old"


def plant(folder: Path, *statements: str) -> None:
    """Put a cache into a folder as a hostile repository could hold one."""
    base = sqlite3.connect(folder / ".promptlint_cache" / "results.sqlite")
    for statement in statements:
        base.execute(statement)
    base.commit()
    base.close()


@pytest.mark.parametrize(
    "statements",
    [
        ("UPDATE results SET result = '{'",),
        ("UPDATE results SET result = 7",),
        ("UPDATE results SET result = '[[[1]]]'",),
        ("UPDATE results SET result = X'ff'",),
        ("UPDATE results SET path = X'ff' WHERE path = ' rules'",),
        ("UPDATE files SET digest = 3, mtime = 'x'",),
        ("DROP TABLE files", "CREATE TABLE files (path)"),
        (
            "DROP TABLE files",
            (
                "CREATE VIEW files AS WITH RECURSIVE n(path) AS (SELECT 1 UNION ALL SELECT path + 1 FROM n) "
                "SELECT path, 1 AS mtime, 1 AS size, 'x' AS digest FROM n"
            ),
        ),
    ],
)
def test_a_planted_cache_is_passed_over(folder: Path, statements: tuple[str, ...]) -> None:
    assert code_of(run("check", ".")) == 1
    plant(folder, *statements)
    assert code_of(run("check", ".")) == 1


@posix
def test_a_cache_is_not_written_through_planted_links(folder: Path) -> None:
    outside = folder / "outside"
    outside.write_text("mine\n")
    assert code_of(run("check", ".")) == 1
    kept = [*(folder / ".promptlint_cache").glob("tokens-*"), folder / ".promptlint_cache/results.sqlite"]
    for path in kept:
        path.unlink(missing_ok=True)
        path.symlink_to(outside)
    assert code_of(run("check", ".")) == 1
    assert outside.read_text() == "mine\n"


CALL = (
    'import openai\nopenai.OpenAI().chat.completions.create(messages=[{"role": "system", "content": %s}])\n'
)


@pytest.mark.parametrize(
    "program",
    [
        "x = 'abcdefgh'\n" + "x = x + x\n" * 60 + CALL % "x",
        "x = 'abcdefgh'\n" + "x = f'{x} {x}'\n" * 60 + CALL % "x",
        "x = 'abcdefgh'\n" + "x += x if a else x + x\n" * 60 + CALL % "x",
        "x = 0x" + "f" * 50_000 + "\n" + CALL % "f'{x}'",
        "x = 'a' * 1_000_000\n" + "x = x + x\n" * 20 + CALL % "x.upper()",
        "x = 'a' * 1_000_000\n" + CALL % "x.replace('a', y)",
    ],
)
def test_a_program_that_grows_without_end_is_cut(folder: Path, program: str) -> None:
    (folder / "a.py").write_text(program)
    assert code_of(run("check", "a.py", "--no-cache")) in (0, 1)


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("a.yaml", "a: &a [x, x]\n" + "b: &b [*a, *a]\n", "line 2: an alias"),
        ("a.yaml", "[" * 20_000 + "]" * 20_000, "nested too deeply"),
        ("a.json", "[" * 100_000, "nested too deeply"),
        ("a.json", "[]", "not a mapping"),
    ],
)
def test_sample_values_that_cannot_be_read(folder: Path, name: str, text: str, why: str) -> None:
    (folder / name).write_text(text)
    result = run("layout", "good.jinja", "--context", name)
    assert code_of(result) == 2
    assert why in str(result.exception)


def test_a_million_blanks_are_counted() -> None:
    from promptlint.tokens.vocabulary import is_here, load_tiktoken

    if not is_here("o200k_base"):
        pytest.skip("no vocabulary on this machine")
    encode, token_bytes = load_tiktoken("o200k_base")
    text = "Rules." + " " * 1_000_000 + "end"
    assert b"".join(map(token_bytes, encode(text))).decode() == text


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a = " + "[" * 5000, "nested too deeply"),
        ("min-lost-tokens = " + "9" * 5000, "not valid TOML"),
        ('[jinja]\nblock = ["{{", "}}"]\n', "c.toml:2: jinja.block: another mark begins with '{{'"),
    ],
)
def test_a_configuration_that_cannot_be(folder: Path, text: str, why: str) -> None:
    (folder / "c.toml").write_text(text)
    result = run("check", ".", "--config", "c.toml")
    assert code_of(result) == 2
    assert why in str(result.exception)


def test_a_log_with_lines_of_any_kind(folder: Path) -> None:
    from promptlint.trace.readers import open_log

    good = json.dumps({"messages": [{"role": "user", "content": "hello"}]})
    (folder / "a.jsonl").write_text("[" * 100_000 + "\n" + good + "\n" + '{"a":' * 100_000 + "\n")
    log = open_log(folder / "a.jsonl")
    assert len(list(log.entries)) == 1
    assert log.skipped.count == 2


def test_a_revision_is_never_an_option_of_git(folder: Path) -> None:
    (folder / ".git").rmdir()
    subprocess.run(["git", "init", "-q"], check=True)
    assert code_of(run("diff", "--", f"--output={folder / 'planted'}")) == 2
    assert not (folder / "planted").exists()


@posix
@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams(folder: Path, closed: str) -> None:
    command = f'exec "$0" -m promptlint check good.jinja --no-cache {closed}'
    path = os.pathsep.join(sys.path)
    done = subprocess.run(
        ["sh", "-c", command, sys.executable],
        capture_output=True,
        env={**os.environ, "PYTHONPATH": path},
        check=False,
    )
    assert done.returncode == 1, done.stderr


def test_a_chained_hash_stands_in_a_request_once(folder: Path) -> None:
    lines = [
        {"timestamp": t, "input_length": 512 * len(h), "output_length": 1, "hash_ids": h}
        for t, h in ((0, [1]), (1, [1] * 20), (1e300, [1]), (3, [1, 2]))
    ]
    (folder / "a.jsonl").write_text("\n".join(map(json.dumps, lines)))
    result = run("trace", "a.jsonl", "--isolated")
    assert code_of(result) == 0
    assert "stands in hash_ids twice" in result.stdout


def test_a_block_is_printed_again_through_self(folder: Path) -> None:
    (folder / "a.jinja").write_text("{% block t %}Hi {{ now() }}{% endblock %} and {{ self.t() }}")
    assert run("layout", "a.jinja").stdout.count("«now()»") == 2


_SENT = (
    "    openai.OpenAI().chat.completions.create(\n"
    '        model="gpt-4o", messages=[{"role": "system", "content": p}]\n'
    "    )\n"
)
_MANY = {
    "prompt.py": ('x = 1\nSYSTEM_PROMPT = f"""You are a helper. ', "{x} a ", '"""\n', 4_000),
    "added.py": ('import openai\n\n\ndef f(x):\n    p = "You are."\n', '    p += f"{x} a"\n', _SENT, 4_000),
    "prompt.j2": ("You are a helper. ", "{{ x }} a ", "", 20_000),
    "prompt.md": ("You are a helpful assistant.\n", "{x} a ", "", 20_000),
    "prompt.yaml": ("system_prompt: |\n", "  You are a {x}\n", "", 20_000),
    "stages.yaml": ("system_prompt: |\n", "  {{ x }} and {y}\n", "", 20_000),
    "prompt.json": ('{"messages": [{"role": "system", "content": "You are ', "{x} \\n", '"}]}', 20_000),
}


@pytest.mark.parametrize("name", _MANY)
def test_a_prompt_of_very_many_holes_is_cut_in_time_and_says_so(folder: Path, name: str) -> None:
    """Sixty thousand holes; what grew with their square took minutes."""
    head, unit, tail, most = _MANY[name]
    (folder / name).write_text(head + unit * (12_000 if name == "added.py" else 60_000) + tail)
    started = time.process_time()
    layout = inspect(name, Config(root=folder), folder, {})[0].layout
    assert time.process_time() - started < 4  # under a second where nothing else runs
    assert not layout.complete
    assert any("more than" in gap for gap in layout.gaps), layout.gaps
    assert len(layout.segments) <= most
