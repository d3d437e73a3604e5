from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

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


SECTIONS = """You are {{ bot.name }}.
{% if user.premium %}Be quick.{% else %}Be thorough.{% endif %}
{% for s in sections %}## {{ s.title }}
{% for e in s.examples %}- {{ e }}
{% endfor %}{% endfor %}{% for name, size in ports.items() %}{{ name }}: {{ size }}
{% endfor %}{{ tags | join("; ") }} {{ user["name"] }} {{ rows[1].text }}"""
GIVEN = {
    "bot": {"name": "Mira"},
    "user": {"premium": False, "name": "Ada"},
    "sections": [{"title": "Fees", "examples": ["one", "two"]}, {"title": "Ports", "examples": []}],
    "ports": {"Oslo": 3, "Rome": 1},
    "tags": ["sea", "land"],
    "rows": [{"text": "a"}, {"text": "b"}],
    "tgas": [],
}


def test_samples_fill_loops_conditions_and_what_lies_deep(run: Run, tree: Tree) -> None:
    tree({"a.j2": SECTIONS, "v.json": json.dumps(GIVEN)})
    code, out, err = run("layout", "--isolated", "a.j2", "--context", "v.json", "--format", "json")
    [shown] = json.loads(out)
    assert code == 0
    assert "".join(s["text"] for s in shown["segments"]) == (
        "You are Mira.\nBe thorough.\n## Fees\n- one\n- two\n## Ports\nOslo: 3\nRome: 1\nsea; land Ada b"
    )
    assert err == "v.json: no part of a.j2 asks for 'tgas'\n"


def test_loops_within_loops_end(run: Run, tree: Tree) -> None:
    inner = "{% for b in xs %}{% for c in xs %}{{ b }}{{ c }}{% endfor %}{% endfor %}"
    tree(
        {"a.j2": "{% for a in xs %}" + inner + "{% endfor %}", "v.json": json.dumps({"xs": list(range(40))})}
    )
    [shown] = json.loads(
        run("layout", "--isolated", "a.j2", "--context", "v.json", "--format", "json")[1]
    )  # 128,000 pieces
    assert len(shown["segments"]) == 20_000
    assert shown["gaps"] == ["it has more than 20,000 pieces with the samples: the rest is not shown"]


def test_samples_of_a_program(run: Run, tree: Tree) -> None:
    program = """
        from openai import OpenAI
        def ask(rules, history, question):
            text = "Rules:\\n"
            for number, rule in enumerate(rules, 1):
                text += f"{number}. {rule['text']}\\n"
            messages = [{"role": "system", "content": text}, *history, {"role": "user", "content": question}]
            return OpenAI().chat.completions.create(model="gpt-4o", messages=messages)
    """
    given = {
        "rules": [{"text": "Be kind."}, {"text": "Be brief."}],
        "history": [{"role": "user", "content": "Hi."}, {"role": "assistant", "content": "Hello."}],
    }
    tree({"a.py": dedent(program), "v.json": json.dumps(given)})
    out = run("layout", "--isolated", "a.py:ask", "--context", "v.json", "--format", "json")[1]
    parts = [(s["role"], s["text"]) for s in json.loads(out)[0]["segments"]]
    assert "".join(text for role, text in parts if role == "system") == "Rules:\n1. Be kind.\n2. Be brief.\n"
    assert parts[-3:] == [("user", "Hi."), ("assistant", "Hello."), ("user", None)]


def test_each_part_is_told_with_its_place(run: Run, tree: Tree) -> None:
    tree(
        {
            "texts.py": '\n\nRULES = "Answer from the handbook, in two sentences. "\n',
            "app.py": "from texts import RULES\n\n\ndef system_prompt(name):\n    return RULES + f'You talk to {name}.'\n",
        }
    )
    out = run("layout", "--isolated", "app:system_prompt")[1]
    assert "texts.py:3  Answer from the handbook, in two sentences." in out
    assert "app.py:5    You talk to" in out
    tree({"a.j2": "{# of the desk #}\n" + TEMPLATE})
    assert "   2  It is" in run("layout", "--isolated", "a.j2")[1]


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


TWICE = """def both():
    return system("kind", True), system("short", False)
"""


def test_variants_of_one_function_are_shown_once(run: Run, tree: Tree) -> None:
    tree({"app.py": VARIANTS})
    code, out, _ = run("layout", "--isolated", "app.py")
    assert code == 0
    heads = [line for line in out.splitlines() if "of fixed text (" in line]
    names = [head.partition(":")[0] for head in heads]
    assert names.count("request in say") == 2  # two requests, whatever they share
    assert names.count("request in ask") == 1
    assert not any(name.startswith("message") for name in names)  # a request shows its own
    assert sum(name.endswith("in system") for name in names) == 1
    tree({"app.py": VARIANTS.partition("def ask(")[0] + TWICE})
    one = run("layout", "--isolated", "app.py")[1]
    assert "  the longest of " in one
    assert one.count("of fixed text (") == 1
    full = run("layout", "--isolated", "app.py", "--all")[1]
    assert full.count("of fixed text (") > 1
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
