from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

Tree = Callable[[dict[str, str]], Path]
Run = Callable[..., tuple[int, str, str]]
TEMPLATE = "It is {{ now() }}.\n" + "You answer questions about ships and their cargo. " * 20 + "{{ name }}"


def test_table_strip_and_prefix(run: Run, tree: Tree) -> None:
    tree({"a.j2": TEMPLATE})
    code, out, _ = run("layout", "--isolated", "a.j2")
    assert code == 0
    assert "«now()» (clock)" in out
    lines = out.splitlines()
    strip = next(line for line in lines if set(line.strip()) <= set("=r?u") and len(line) > 40)
    assert strip.strip().index("r") < 3  # the clock stands near the front
    (everyone,) = (line.split() for line in lines if line.startswith("  all requests"))
    now, then = int(everyone[3]), int(everyone[5])
    assert now == 0
    assert then >= 160


def test_json_and_sample_values(run: Run, tree: Tree) -> None:
    tree({"a.j2": TEMPLATE, "v.yaml": "name: " + "Ada Lovelace " * 10})
    plain = json.loads(run("layout", "--isolated", "a.j2", "--format", "json")[1])[0]
    filled = json.loads(run("layout", "--isolated", "a.j2", "--format", "json", "--context", "v.yaml")[1])[0]
    assert plain["segments"][-1]["tokens"] is None
    assert filled["segments"][-1]["tokens"] > 10
    assert filled["tokens"] > plain["tokens"]


def test_bad_targets(run: Run, tree: Tree) -> None:
    tree({"a.j2": "x", "v.json": "[1]"})
    code, _, err = run("layout", "nowhere.j2")
    assert (code, "nowhere.j2: no such file" in err) == (2, True)
    code, _, err = run("layout", "a.j2", "--context", "v.json")
    assert (code, "not a mapping" in err) == (2, True)


PROGRAM = """
from openai import OpenAI

RULES = "You answer questions about ships and their cargo. " * 20


def ask(client: OpenAI, question: str):
    messages = [{"role": "system", "content": RULES}, {"role": "user", "content": question}]
    return client.chat.completions.create(model="gpt-4o", messages=messages)


def helper():
    return 1
"""


def test_messages_without_fixed_text_stay_out(run: Run, tree: Tree) -> None:
    tree({"app/chat.py": PROGRAM})
    code, out, _ = run("layout", "--isolated", "app.chat:ask")
    assert code == 0
    assert "about 0 tokens" not in out
    assert "0 tokens of fixed text" not in out.splitlines()[0]


def test_a_function_without_prompt_names_those_with_one(run: Run, tree: Tree) -> None:
    tree({"app/chat.py": PROGRAM})
    code, _, err = run("layout", "--isolated", "app.chat:helper")
    assert code == 2
    assert "found there: ask" in err


METHODS = """
from openai import OpenAI


class Desk:
    def system_prompt(self, topic):
        return f"You are the helper of the harbour office and answer briefly and politely. Topic: {topic}"

    def ask(self, client: OpenAI, topic):
        return client.chat.completions.create(
            model="gpt-4o", messages=[{"role": "system", "content": self.system_prompt(topic)}]
        )
"""


def test_a_method_is_found_by_its_name_with_and_without_its_class(run: Run, tree: Tree) -> None:
    tree({"app/desk.py": METHODS})
    plain = run("layout", "--isolated", "app/desk.py:ask")
    assert plain[0] == 0
    assert run("layout", "--isolated", "app/desk.py:Desk.ask") == plain
    assert run("layout", "--isolated", "app.desk:Desk.ask") == plain
    assert run("layout", "--isolated", "app.desk:Desk")[0] == 0
    assert run("layout", "--isolated", "app.desk:Ship.ask")[0] == 2


def test_a_misspelt_function_gets_the_nearest_names(run: Run, tree: Tree) -> None:
    many = "".join(METHODS.replace("Desk", f"Desk{number}") for number in range(9))
    tree({"app/desk.py": many})
    err = run("layout", "--isolated", "app.desk:Desk7.aks")[2]
    assert "found there: Desk7.ask" in err
    assert "more" in err


def test_a_folder_is_sent_to_check(run: Run, tree: Tree) -> None:
    tree({"app/chat.py": PROGRAM})
    code, _, err = run("layout", "--isolated", "app")
    assert (code, "is a folder" in err, "`promptlint check` reads folders" in err) == (2, True, True)


def test_branches_of_a_condition_are_told_apart(run: Run, tree: Tree) -> None:
    tree(
        {
            "a.j2": "{% if a %}You are kind.{% elif b %}You are strict.{% else %}You are a parrot.{% endif %} {{ q }}"
        }
    )
    out = run("layout", "--isolated", "a.j2")[1]
    assert "[if a] You are kind." in out
    assert "[elif b] You are strict." in out
    assert "[else of if a] You are a parrot." in out
    segments = json.loads(run("layout", "--isolated", "a.j2", "--format", "json")[1])[0]["segments"]
    assert [s["guards"] for s in segments][:3] == [["if a"], ["elif b"], ["else of if a"]]


VARIANTS = """
from openai import OpenAI

RULES = "You answer questions about ships and their cargo. " * 20


def system(tone: str, more: bool) -> str:
    text = RULES
    text += f"Be {tone}."
    if more:
        text += "Name the source of each figure that you give in your answer."
    return text


def ask(client: OpenAI, question: str):
    return client.chat.completions.create(
        model="gpt-4o", messages=[{"role": "system", "content": RULES + question}, {"role": "user", "content": "Go."}]
    )


def say(client: OpenAI, question: str):
    messages = [{"role": "system", "content": system("kind", True)}, {"role": "user", "content": question}]
    first = client.chat.completions.create(model="gpt-4o", messages=messages)
    messages = [{"role": "system", "content": system("short", False)}, {"role": "user", "content": question}]
    return first, client.chat.completions.create(model="gpt-4o", messages=messages)
"""


def test_variants_of_one_function_are_shown_once(run: Run, tree: Tree) -> None:
    tree({"app.py": VARIANTS})
    code, out, _ = run("layout", "--isolated", "app.py")
    assert code == 0
    heads = [line for line in out.splitlines() if "of fixed text (" in line]
    names = [head.partition(":")[0] for head in heads]
    assert names.count("request in say") == 2  # two requests, whatever they share
    assert sum(name.endswith("in system") for name in names) == 1
    assert "  the longest request of " in out
    full = run("layout", "--isolated", "app.py", "--all")[1]
    assert full.count("of fixed text (") > len(heads)
    assert "the longest" not in full
    shown = json.loads(run("layout", "--isolated", "app.py", "--format", "json")[1])
    assert len(shown) == full.count("of fixed text (")


def test_a_request_stands_for_its_messages(run: Run, tree: Tree) -> None:
    """Its system message is as long as the request, whose question has no fixed text."""
    tree({"chat.py": PROGRAM})
    out = run("layout", "--isolated", "chat:ask")[1]
    assert out.startswith("request in ask: ")
    assert "cache openai-auto" in out.splitlines()[0]


MARKED = """
import anthropic

RULES = "You answer questions about ships and their cargo. " * 20


def ask(question: str):
    return anthropic.Anthropic().messages.create(
        model="claude-sonnet-4-5",
        max_tokens=9,
        system=[{"type": "text", "text": RULES, "cache_control": {"type": "ephemeral", "ttl": "1h"}}],
        messages=[{"role": "user", "content": question}],
    )
"""


def test_marks_and_the_minimum_are_shown(run: Run, tree: Tree) -> None:
    """About 180 tokens under a mark: nothing is matched, since Claude Sonnet caches from 1,024."""
    tree({"chat.py": MARKED})
    out = run("layout", "--isolated", "chat:ask")[1]
    (row,) = (line for line in out.splitlines() if line.startswith("   0  system"))
    assert row.endswith("  <- cache_control 1h")
    assert "  matched is 0 where that is under 1,024 tokens, the least that anthropic caches" in out
    (segment, _) = json.loads(run("layout", "--isolated", "chat:ask", "--format", "json")[1])[0]["segments"]
    assert segment["mark"] == {"field": "cache_control", "ttl": "1h"}
    tree({"a.j2": TEMPLATE})
    assert "the least that" not in run("layout", "--isolated", "a.j2")[1]
