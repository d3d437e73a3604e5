from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

Tree = Callable[[dict[str, str]], Path]
Run = Callable[..., tuple[int, str, str]]
BAD = "It is {{ now() }}.\nYou are a helpful assistant.\n"
GOOD = "You are a helpful assistant.\n"


pytestmark = pytest.mark.usefixtures("toy_rules")


def test_clean_tree(run: Run, tree: Tree) -> None:
    tree({"a.j2": GOOD})
    assert run("check") == (0, "No findings in 1 file\n", "")


def test_finding_gives_1(run: Run, tree: Tree) -> None:
    tree({"a.j2": BAD})
    code, out, err = run("check", ".")
    assert code == 1
    assert "a.j2:1:7: PL101 warning" in out
    assert "1,204 tokens, 75 blocks (vllm)" in out
    assert err == ""


def test_exit_zero(run: Run, tree: Tree) -> None:
    tree({"a.j2": BAD})
    assert run("check", "--exit-zero")[0] == 0


def test_nothing_to_check_gives_3(run: Run, tree: Tree) -> None:
    tree({"a.bin": "", "README.md": "no prompt"})
    code, out, err = run("check")
    assert (code, out) == (3, "")
    assert "no prompt in 1 file" in err


def test_hook_with_nothing_to_check_is_clean(run: Run, tree: Tree) -> None:
    tree({"README.md": "no prompt"})
    assert run("check", "--force-exclude", "README.md")[0] == 0


def test_missing_path_gives_2(run: Run, tree: Tree) -> None:
    tree({})
    code, _, err = run("check", "nowhere")
    assert code == 2
    assert "nowhere: does not exist" in err


def test_unknown_option_and_command_give_2(run: Run, tree: Tree) -> None:
    tree({})
    assert run("check", "--formt", "json")[0] == 2
    code, _, err = run("chek")
    assert code == 2
    assert "Did you mean 'check'?" in err


def test_unknown_rule_gives_2_with_a_suggestion(run: Run, tree: Tree) -> None:
    tree({"a.j2": GOOD})
    code, _, err = run("check", "--select", "clock-before-stabel")
    assert code == 2
    assert "did you mean clock-before-stable?" in err


def test_internal_error_gives_4_and_others_are_checked(run: Run, tree: Tree) -> None:
    tree({"a.j2": "crash", "b.j2": BAD})
    code, out, err = run("check")
    assert code == 4
    assert "b.j2:1:7" in out
    assert err.count("not checked") == 1
    assert "a.j2: not checked: internal error: ZeroDivisionError: toy" in err


def test_binary_file_is_named_and_others_are_checked(run: Run, tree: Tree) -> None:
    (tree({"b.j2": GOOD}) / "a.j2").write_bytes(b"\0\1\2")
    code, _, err = run("check")
    assert code == 0
    assert "a.j2: not checked: binary file" in err
    assert run("check", "a.j2")[0] == 2


def test_json_has_the_fields_that_scorers_read(run: Run, tree: Tree) -> None:
    tree({"a.j2": BAD})
    code, out, _ = run("check", "--format", "json", "--isolated", "--min-lost-tokens", "1", ".")
    assert code == 1
    (finding,) = json.loads(out)["findings"]
    assert finding["file"] == "a.j2"
    assert (finding["line"], finding["column"], finding["end_line"], finding["end_column"]) == (1, 7, 1, 18)
    assert finding["cost"] == {"tokens": 1204, "blocks": 75, "profile": "vllm", "estimated": False}
    wanted = {"code", "name", "kind", "message", "severity", "confidence", "scope", "origin", "status"}
    assert wanted <= finding.keys()
    assert json.loads(out)["summary"]["active"] == 1


def test_output_file_is_written_whole(run: Run, tree: Tree) -> None:
    root = tree({"a.j2": BAD})
    code, out, _ = run("check", "-o", "report.txt")
    assert (code, out) == (1, "")
    assert "PL101" in (root / "report.txt").read_text()
    assert run("check", "-o", "missing/report.txt")[0] == 2
    assert sorted(p.name for p in root.iterdir()) == [".cache", "a.j2", "report.txt"]


def test_statistics_and_no_source(run: Run, tree: Tree) -> None:
    tree({"a.j2": BAD + "{{ now() }}"})
    _, out, _ = run("check", "--statistics", "--no-show-source")
    assert "     2  PL101  clock-before-stable" in out
    assert "^" not in out


def test_off_by_default_rules_and_selection(run: Run, tree: Tree) -> None:
    tree({"a.j2": BAD})
    assert run("check", "--select", "PL9")[0] == 0
    assert run("check", "--ignore", "PL101")[0] == 0
    assert run("check", "--ignore", "PL1", "--extend-select", "PL101")[0] == 1
    assert run("check", "--ignore", "ALL", "--select", "PL1")[0] == 1


def test_suppression_and_unused_one(run: Run, tree: Tree) -> None:
    tree({"a.j2": "{{ now() }} {# promptlint: ignore[PL101] shown to people #}\nx\n"})
    code, out, _ = run("check")
    assert (code, out) == (0, "No findings in 1 file; 1 suppressed\n")
    tree({"a.j2": "x {# promptlint: ignore[PL101] #}\n"})
    code, out, _ = run("check")
    assert code == 1
    assert "PL902 info: suppression without effect: no finding of PL101 here" in out
    assert run("check", "--ignore", "PL101")[0] == 0  # nobody looked, so nobody can tell


def test_per_file_ignores(run: Run, tree: Tree) -> None:
    tree({"old/a.j2": BAD, "promptlint.toml": '[per-file-ignores]\n"old/*" = ["PL101"]\n'})
    assert run("check")[:2] == (0, "No findings in 1 file; 1 suppressed\n")


def test_config_error_gives_2(run: Run, tree: Tree) -> None:
    tree({"a.j2": GOOD, "pyproject.toml": "[tool.promptlint]\nselct = []\n"})
    code, _, err = run("check")
    assert code == 2
    assert "pyproject.toml:2: tool.promptlint.selct: unknown key; did you mean 'select'?" in err
    assert run("check", "--isolated")[0] == 0


def test_baseline_life(run: Run, tree: Tree) -> None:
    tree({"a.j2": BAD})
    assert run("check", "--baseline", "base.json")[0] == 2
    assert run("check", "--baseline", "base.json", "--update-baseline")[0] == 0
    assert run("check", "--baseline", "base.json")[:2] == (0, "No findings in 1 file; 1 in the baseline\n")
    tree({"a.j2": "A new first line.\n" + BAD})
    assert run("check", "--baseline", "base.json")[0] == 0
    tree({"b.j2": "Today: {{ now() }}"})
    assert run("check", "--baseline", "base.json")[0] == 1
    code, _, err = run("check", "--baseline", "base.json", "--update-baseline")
    assert code == 2
    assert "would grow by 1: PL101 b.j2" in err
    assert run("check", "--baseline", "base.json", "--update-baseline", "--allow-growth")[0] == 0
    tree({"a.j2": GOOD})
    code, _, err = run("check", "--baseline", "base.json")
    assert code == 0
    assert "no longer there: 1 accepted finding;" in err


def test_a_run_over_some_files_or_rules_leaves_the_rest_of_the_baseline_alone(run: Run, tree: Tree) -> None:
    tree({"a.j2": BAD, "b.j2": BAD})
    update = ("check", "--baseline", "base.json", "--update-baseline")
    assert run(*update)[1] == "base.json: 2 findings accepted\n"
    assert "no longer" not in run("check", "b.j2", "--baseline", "base.json")[2]
    assert "no longer" not in run("check", "--select", "PL2", "--baseline", "base.json")[2]
    tree({"b.j2": GOOD})
    assert "no longer there: 1 accepted finding;" in run("check", "b.j2", "--baseline", "base.json")[2]
    assert run("check", "b.j2", *update[1:])[1] == "base.json: 1 finding accepted\n"
    assert run("check", "--baseline", "base.json")[0] == 0  # a.j2 is still accepted
    Path("a.j2").unlink()
    assert "no longer there: 1 accepted finding;" in run("check", "b.j2", "--baseline", "base.json")[2]


def test_standard_input(run: Run, tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    tree({})
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(BAD.encode())))
    code, out, _ = run("check", "-", "--stdin-filename", "x/y.j2", "--format", "concise")
    assert code == 1
    assert out.startswith("x/y.j2:1:7: PL101 warning: `now()` before stable text [1,204 tokens]\n")
    assert run("check", "-", "x.j2")[0] == 2


def test_colours_only_when_asked(run: Run, tree: Tree) -> None:
    tree({"a.j2": BAD})
    assert "\x1b[" not in run("check")[1]
    assert "\x1b[" in run("check", "--color", "always")[1]


@pytest.mark.parametrize(("model", "noted"), [("nosuch", True), ("gpt-4o", False), ("Qwen/Qwen3-8B", False)])
def test_a_model_of_which_nothing_is_known_is_said(run: Run, tree: Tree, model: str, noted: bool) -> None:
    tree({"a.j2": "x"})
    assert (
        "nothing is known of the model" in "".join(map(str, run("check", "--model", model, "a.j2")))
    ) is noted


def test_one_configuration_counts_for_all_paths(run: Run, tree: Tree) -> None:
    tree(
        {
            "a/promptlint.toml": 'ignore = ["PL101"]',
            "a/x.j2": BAD,
            "b/pyproject.toml": "[tool.promptlint]\n",
            "b/y.j2": BAD,
            "c/z.j2": BAD,
            ".git/x": "",
        }
    )
    assert run("check", "a/x.j2") == (0, "No findings in 1 file\n", "")
    for paths in (("a/x.j2", "b/y.j2", "c"), ("c", "b", "a")):  # whatever comes first
        code, out, err = run("check", *paths)
        assert (code, out.splitlines()[-1]) == (1, "3 findings (3 warnings) in 3 files")
        assert [line.split()[1] for line in err.splitlines()] == ["a/promptlint.toml", "b/pyproject.toml"]
    assert run("check", "a", "b", "--isolated")[2] == ""


def test_a_narrow_terminal_narrows_the_report(run: Run, tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    tree({"a.j2": "x" * 200 + BAD})
    assert max(map(len, run("check")[1].splitlines()[1:])) > 60
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "60")
    assert max(map(len, run("check", "--color", "never")[1].splitlines()[1:])) <= 60
