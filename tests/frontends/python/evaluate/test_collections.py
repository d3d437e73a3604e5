"""Lists and mappings in order; sets and listings without one until they are sorted."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.frontends.python.build import LONG, Program

Run = Callable[..., Program]
System = Callable[..., str]
HEAD = """
import asyncio, os, random
from collections import defaultdict
from concurrent.futures import as_completed
from itertools import chain
from pathlib import Path
RANKS = {'a': 3, 'bb': 1, 'ccc': 2}
"""


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("p = ['b']\np.append('c')\np.extend(['d', 'e'])\np.insert(0, 'a')\np += ['f']", "a|b|c|d|e|f"),
        ("p = ['a'] + ['b']\np = [*p, 'c', *['d']]", "a|b|c|d"),
        ("p = [x.upper() for x in ['a', 'b']]", "A|B"),
        ("p = [x for x in ['a', '', 'b'] if x]", "a|b"),
        ("p = [a + b for a in ['a', 'b'] for b in ['c', 'd']]", "ac|ad|bc|bd"),
        ("p = [f'{i}{x}' for i, x in enumerate(['a', 'b'], 1)]", "1a|2b"),
        ("p = [f'{k}={v}' for k, v in {'a': 1, 'b': 2}.items()]", "a=1|b=2"),
        ("p = [a + b for a, b in zip(['a', 'b'], ['c', 'd'])]", "ac|bd"),
        ("p = list(map(str, [1, 2]))", "1|2"),
        ("p = list(chain(['a'], ['b']))", "a|b"),
        ("p = ['a', 'b', 'c'][1:]", "b|c"),
        ("p = ['a', 'b', 'c'][::-1]", "c|b|a"),
        ("p = list(reversed(['a', 'b']))", "b|a"),
        ("p = ['a', 'b', 'c']\np.pop()\np.pop(0)", "b"),
        ("p = ['a', 'b', 'c']\np.remove('b')\np.reverse()", "c|a"),
        ("p = ['a', 'b']\np[0] = 'x'\ndel p[1]", "x"),
        ("p = ['b', 'a']\np.sort()", "a|b"),
        ("p = sorted(['b', 'a'])", "a|b"),
        ("p = sorted(['ccc', 'a', 'bb'], key=lambda x: RANKS[x])", "bb|ccc|a"),
        ("p = sorted(['ccc', 'a', 'bb'], key=lambda x: RANKS[x], reverse=True)", "a|ccc|bb"),
        ("p = ['ccc', 'a', 'bb']\np.sort(key=lambda x: RANKS[x])", "bb|ccc|a"),
        ("p = sorted(['ccc', 'a'], key=lambda x: RANKS[question])", "ccc|a"),  # nothing is known of the keys
        ("p = 'a b c'.split()", "a|b|c"),
        ("p = 'a\\nb'.splitlines()", "a|b"),
        ("d = {'a': 'x'}\nd['b'] = 'y'\nd.update(c='z')\nd |= {'e': 'w'}\np = d.values()", "x|y|z|w"),
        ("d = {'a': 'x', **{'b': 'y'}}\np = [d['b'], d.get('a'), d.get('q', 'none')]", "y|x|none"),
        ("d = {k: k * 2 for k in ['a', 'b']}\np = [*d, d.setdefault('c', 'z'), d.pop('a')]", "a|b|z|aa"),
        ("p = ['a']\nif flag:\n    p.append('b')\np.append('c')", "a[flag? |b]|c"),
        ("p = []\nif flag:\n    p.append('a')\np.append('b')\np.append('c')", "[flag? a|]b|c"),
        ("if flag:\n    p = ['a', 'b']\nelse:\n    p = ['c']", "[flag? a|b][flag#1? c]"),
        ("p = [f'- {d}' for d in items]", "[for items? - {d ~request-input/request}]"),
        ("p = ['a', *items]", "a[for ? |{items ~request-input/request}]"),
        ("p = ['a']\np.extend([] if flag else ['b', 'c'])\np.append('d')", "a[flag#1? |b|c]|d"),
        ("p = ['a', *(['b'] if flag else ['c'])]", "a[flag? |b][flag#1? |c]"),
        ("p = ['a'] + (None if flag else ['b'])", "a[flag#1? |b]"),
    ],
)
def test_order(system: System, body: str, expected: str) -> None:
    assert system("'|'.join(p)", HEAD, body, arguments="question, flag, items") == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("p = {'a', 'b', 'c'}", "unordered/process"),
        ("p = list(set(items))", "unordered/process"),
        ("p = {x for x in items}", "unordered/process"),
        ("p = set(items) | {'a'}", "unordered/process"),
        ("p = {'a'} | {'b'}", "unordered/process"),
        (
            "d = defaultdict(set)\nfor i in items:\n    d[i.key].add(i.name)\np = d[question]",
            "unordered/process",
        ),
        (
            "d = {}\nfor i in items:\n    d.setdefault(i.key, set()).add(i.name)\np = d[question]",
            "unordered/process",
        ),
        ("done, left = asyncio.wait(items)\np = [t.result() for t in done]", "unordered/request"),
        ("p = os.listdir('d')", "unordered/machine"),
        ("p = [f.name for f in Path('d').glob('*.md')]", "unordered/machine"),
        ("p = [f.result() for f in as_completed(items)]", "unordered/request"),
        ("p = ['a', 'b']\nrandom.shuffle(p)", "random/request"),
        ("p = random.sample(['a', 'b', 'c'], 2)", "random/request"),
        ("p = [['a', 'b'][random.randrange(2)]]", "random/request"),
        ("q = ['a', 'b']\nrandom.shuffle(q)\np = [f'{n}) {x}' for n, x in zip('AB', q)]", "random/request"),
        ("p = [f'{x}{y}' for x, y in zip(items, set(items))]", "unordered/process"),
        # A key that is drawn shuffles, and the length leaves those of one length as they came.
        ("p = sorted(['a', 'b'], key=lambda _: random.random())", "random/request"),
        ("p = sorted(items, key=lambda i: (i.rank, random.random()))", "random/request"),
        ("p = ['a', 'b']\np.sort(key=lambda _: uuid.uuid4().hex)", "random/request"),
        ("def drawn(one):\n    return random.random()\np = sorted(items, key=drawn)", "random/request"),
        ("p = sorted({'a', 'b', 'c'}, key=len)", "unordered/process"),
        ("p = list(set(items))\np.sort(key=lambda i: -len(i))", "unordered/process"),
    ],
)
def test_no_order(system: System, body: str, expected: str) -> None:
    assert system("'|'.join(p)", HEAD, body, arguments="question, items").endswith(f" ~{expected}}}")


@pytest.mark.parametrize(
    "body",
    [
        "p = sorted({'a', 'b'})",
        "p = sorted(set(items))",
        "p = list(set(items))\np.sort()",
        "p = sorted(set(items), key=lambda i: rank(i))",
        "p = []\nfor f in os.listdir('d'):\n    p.append(f)\np.sort()",
        "p = [f'{i}' for i in {1, 2, 3}]",
        "d = defaultdict(set)\nfor i in items:\n    d[i.key].add(i.name)\np = sorted(d[question])",
        "p = sorted(os.listdir('d'))",
        "p = [f.name for f in sorted(Path('d').glob('*.md'))]",
        "p = ['known' if question in {'a', 'b'} else 'new']",
        "p = list(dict.fromkeys(items))",
    ],
)
def test_order_is_fixed(system: System, body: str) -> None:
    assert "unordered" not in system("'|'.join(p)", HEAD, body, arguments="question, items")


def test_under_a_key_that_is_not_known_stands_any_group(system: System) -> None:
    head = HEAD + "TEXTS = {'en': {'hi': 'Hello {name}'}, 'de': {'hi': 'Hallo {name}'}}\n"
    found = system("TEXTS[lang]['hi'].format(name='Ann')", head, arguments="question, lang")
    assert "Hello Ann" in found
    assert "Hallo Ann" in found


LISTED = "{join ~unordered/machine}"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("p = ['a']\nfor f in os.listdir('d'):\n    p.append(f)\np.append('c')", f"a|{LISTED}|c"),
        (
            "p = ['a']\np.extend(os.listdir('d'))\np.append('c')",
            "a[for ? |{os.listdir('d') ~unordered/machine}]|c",
        ),
        ("p = ['a']\nfor f in os.listdir('d'):\n    p += [f, 'x']\np.append('c')", f"a|{LISTED}|c"),
        ("p = [f for f in os.listdir('d')]\np.append('c')", f"{LISTED}|c"),
        (
            "p = ['a']\nif question:\n    for f in os.listdir('d'):\n        p.append(f)",
            f"a[question? |{LISTED}]",
        ),
    ],
)
def test_what_stands_around_a_loop_without_order_keeps_its_place(
    system: System, body: str, expected: str
) -> None:
    assert system("'|'.join(p)", HEAD, body) == expected


def test_blocks_behind_a_listing_keep_their_place(program: Callable[..., Program]) -> None:
    found = program(
        """
        import os
        from openai import OpenAI
        def ask(folder):
            blocks = [{"type": "image_url", "image_url": {"url": f}} for f in os.listdir(folder)]
            blocks.append({"type": "text", "text": "Say what the pictures show."})
            return OpenAI().chat.completions.create(model="gpt-4o", messages=[{"role": "user", "content": blocks}])
        """
    )
    assert found.text == "<user>{blocks ~unordered/machine}Say what the pictures show."


@pytest.mark.parametrize(
    ("made", "shown"),
    [
        ("lines = list[str]()\n    lines.append('Be kind.')", "''.join(lines)"),
        ("rules = dict[str, str]()\n    rules['a'] = 'Be kind.'", "rules['a']"),
        ("lines = ['Be ', 'kind', '.']", "reduce(lambda one, other: one + other, lines)"),
        ("lines = ['kind', '.']", "reduce(lambda one, other: one + other, lines, 'Be ')"),
    ],
)
def test_generic_collections_and_reduce(system: Callable[..., str], made: str, shown: str) -> None:
    head = f"from functools import reduce\ndef text():\n    {made}\n    return {shown}\n"
    assert system("text()", head) == "Be kind."


@pytest.mark.parametrize(
    ("left", "shown"),
    [
        ("set(items) - {'a'}", True),
        ("set(items) & set(others)", True),
        ("set(items) ^ set(others)", True),
        ("items.keys() - {'a'}", True),
        ("set() - set(others)", False),
    ],
)
def test_what_is_left_of_a_set_is_printed_when_it_is_sorted(system: System, left: str, shown: bool) -> None:
    body = f"p = []\nfor x in sorted({left}):\n    p.append(f'{{x}} at {{random.random()}}')"
    found = system("'|'.join(p)", HEAD, body, arguments="question, items, others")
    assert ("~random" in found) is shown


@pytest.mark.parametrize("operator", ["-=", "&=", "^="])
def test_a_set_that_something_is_taken_from_is_a_set(system: System, operator: str) -> None:
    body = f"p = set(items)\np {operator} set(others)"
    assert "unordered/process" in system("'|'.join(p)", HEAD, body, arguments="question, items, others")
    assert "unordered" not in system("'|'.join(sorted(p))", HEAD, body, arguments="question, items, others")


ANEW = f"""
from dataclasses import dataclass
from openai import OpenAI
client = OpenAI()
@dataclass
class Note:
    place: str
    tags: frozenset[str]
    def line(self):
        return f"{{self.place}}: {{', '.join(self.tags)}}"
def ask(store, chat, docs):
    turns = [{{"role": t["role"], "content": CONTENT}} for t in TURNS]
    return client.chat.completions.create(model="m", messages=[{{"role": "system", "content": "{LONG}"}}, *turns])
"""


@pytest.mark.parametrize(
    ("content", "turns", "reported"),
    [
        ("t['text'] + ', '.join(set(t['tags']))", "store.turns(chat)", True),
        ("Note(t['place'], frozenset(t['tags'])).line()", "store.history(chat)", True),
        ("f'{t.text} {set(t.tags)}'", "store.messages(chat)", True),
        ("t['text'] + ', '.join(sorted(set(t['tags'])))", "store.turns(chat)", False),
        ("f'{t.text} {len(set(t.tags))}'", "store.turns(chat)", False),
        ("f'{t.text} {t.tags}'", "store.turns(chat)", False),
    ],
)
def test_a_set_in_turns_that_are_made_anew(program: Run, content: str, turns: str, reported: bool) -> None:
    found = program(ANEW.replace("CONTENT", content).replace("TURNS", turns))
    assert ("PL201" in found.codes) is reported


@pytest.mark.parametrize(
    ("shown", "counts"), [("text", False), ("why", False), ("used", True), ("call(question)", True)]
)
def test_one_of_several_tuples_is_taken_apart(system: Callable[..., str], shown: str, counts: bool) -> None:
    head = """
from openai import OpenAI
def call(question):
    reply = OpenAI().chat.completions.create(model="m", messages=[])
    if reply.choices:
        return reply.choices[0], "stop", reply.usage.completion_tokens
    return None, "empty", reply.usage.completion_tokens
"""
    made = system(f"f'Be brief. {{{shown}}}'", head, "text, why, used = call(question)")
    assert ("~counter/request" in made) is counts
