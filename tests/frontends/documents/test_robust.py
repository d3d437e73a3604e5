"""No document may crash or hang the reader."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator

import pytest

from promptlint.frontends import documents, fields
from promptlint.frontends.base import Context
from promptlint.frontends.documents import tree
from promptlint.frontends.mapped import MappedText
from promptlint.source import SourceFile

SEEDS = {
    "a.prompty": '---\nname: A\nmodel: {api: chat, parameters: {n: 1}}\n---\nsystem:\nHi {{name}}\n{% for m in h %}\n{{m.role}}:\n{% endfor %}\nuser:\n{{q}}',
    "p/a.prompt": '---\nmodel: m\n---\n{{role "system"}}{{#if x}}A{{else}}B{{/if}}{{> part}}{{history}}{{media url=u}}',
    "p/_part.prompt": "{{> a}}{{#each xs}}{{this}}{{/each}}",
    "prompts/x.yaml": 'base: &b {x: "a\\u00e9 {b}"}\nsystem_prompt: |2-\n    One {x}\n  two\nfold: >\n  a\n  b\n\n  c\nuse:\n  <<: *b\nmessages:\n  - {role: system, content: "It is {{ now }}"}\n',
    "prompts/x.json": '{"model": "gpt-4.1", "messages": [{"role": "system", "content": "thread {id}\\n\\ud83d\\ude00"}], "tools": [{"name": "f"}]}',
    "prompts/x.toml": 'prompt = """\nHi {x} \\\n  there"""\n[a.b]\nt = \'\'\'raw ${y}\'\'\'\nk = [1, {z = "a b c"}]\n[[m]]\nq = 1.5\n',
    "prompts/x.md": "---\ntitle: x\n---\nYou are {role}. <<NAME>> !<INPUT 0>! ${a} %(b)s\n```\n{c}\n```\n{{#each d}}{{e}}{{/each}} {% if f %}g{% endif %}",
    "k/skprompt.txt": '<message role="system">{{$a}}</message> {{b.c $d}}',
    "k/config.json": '{"execution_settings": {"default": {"model_id": "x"}}}',
    "promptfooconfig.yaml": "prompts:\n  - 'A {{b}}'\n  - '[{\"role\": \"system\", \"content\": \"{{c}}\"}]'\nproviders: [a:b]\ndefaultTest: {vars: {b: x}}\ntests: [{vars: {c: y}}]\n",
    "proxy.yaml": "model_list:\n  - model_name: a\n    litellm_params:\n      model: anthropic/claude\n      cache_control_injection_points: [{location: message, role: user}]\n",
    "lc.json": '{"lc": 1, "id": ["a", "ChatPromptTemplate"], "kwargs": {"messages": [{"lc": 1, "id": ["SystemMessagePromptTemplate"], "kwargs": {"prompt": {"lc": 1, "id": ["PromptTemplate"], "kwargs": {"template": "You {x}"}}}}]}}',
}  # fmt: skip
TOKENS = [
    "{", "}", "{{", "}}", "{%", "%}", "[", "]", ":", "- ", "\n", "\n  ", "\"", "'", "\\", "\\u", "|", ">", "&a ", "*a", "<<: ", "!!int ",
    "---\n", "#", ",", "\t", "\ud7ff", "😀", "\u2028", "\x85", "\x00", "$", "%s", "%(", "{{#if x}}", "{{/if}}", "{{>", "<message role=\"user\">",
    "system:\n", "'''", '"""', "=", "1e999", "0o8", "~", "\ufeff", "`", "```", "~~~", "{{!--", "--}}", "\\begin{a}", "$$", "[[A_B]]",
]  # fmt: skip
OTHERS = {path: SourceFile(path, text) for path, text in SEEDS.items()}
CONTEXT = Context(load=OTHERS.get, listing=tuple(OTHERS))


def mutations(count: int, seed: int) -> Iterator[tuple[str, str]]:
    rng = random.Random(seed)
    paths = list(SEEDS)
    for _ in range(count):
        path = rng.choice(paths)
        text = SEEDS[path]
        for _ in range(rng.randrange(1, 6)):
            at, to = sorted((rng.randrange(len(text) + 1), rng.randrange(len(text) + 1)))
            match rng.randrange(5):
                case 0:
                    text = text[:at] + text[to:]
                case 1:
                    text = text[:at] + rng.choice(TOKENS) * rng.choice((1, 1, 1, 3, 50)) + text[at:]
                case 2:
                    text = text[:at] + text[at:to] * 2 + text[to:]
                case 3:
                    other = SEEDS[rng.choice(paths)]
                    text = text[:at] + other[rng.randrange(len(other)) :][:40] + text[at:]
                case _:
                    text = text[:at] + text[at : at + 1].swapcase() + text[at + 1 :]
        yield path, text


def check(path: str, text: str) -> None:
    started = time.process_time()
    source = SourceFile(path, text)
    documents.claims(path, text[: documents.HEAD])
    for layout in documents.read(source, CONTEXT):
        for segment in layout.segments:
            assert segment.is_hole == (segment.text is None)
            limit = len(text) if segment.place.path == path else len(SEEDS[segment.place.path])
            assert segment.place.span.end <= limit
    assert time.process_time() - started < 2


def test_mutated_documents() -> None:
    for path, text in mutations(500, 1):
        check(path, text)


@pytest.mark.slow
def test_many_mutated_documents() -> None:
    for path, text in mutations(20_000, 2):
        check(path, text)


BOMBS = {
    "braces": "{" * 50_000,
    "doubled braces": "{{" * 30_000,
    "open tags": "{{a " * 20_000,
    "open comments": "{{!--" * 20_000,
    "blanks in a tag": "{{a" + " " * 100_000,
    "blanks": " " * 100_000 + "{x}",
    "fences": "```\n" * 20_000,
    "ticks": "`" * 100_000,
    "formulas": "\\begin{a}" * 12_000,
    "dollars": "$" * 100_000,
    "angles": "<<A" * 30_000 + " " * 50_000,
    "brackets": "[[A_" * 20_000,
    "colons": ("system" + " " * 200 + ":") * 400,
    "roles": "system:\n" * 10_000,
    "front": "---\n" * 20_000,
    "hashes": "#\n" * 50_000 + "---\n",
    "blocks": "{{#if x}}" * 5_000,
    "quotes": '"' * 100_000,
    "slashes": "\\" * 100_000,
    "words": "You are " * 20_000 + "{x}",
    "percents": "%(" * 50_000,
    "f-strings": "f'" * 50_000 + "{x}",
    "long line": "x" * 200_000 + "{y}",
    "names": "{" + "a." * 50_000 + "}",
    "indexes": "{a" + "[b]" * 30_000,
}


@pytest.mark.parametrize("name", BOMBS)
@pytest.mark.parametrize(
    "path", ["prompts/a.md", "a.prompty", "a.prompt", "prompts/a.yaml", "prompts/a.json", "prompts/a.toml"]
)
def test_bombs_end_soon(name: str, path: str) -> None:
    check(path, BOMBS[name])


@pytest.mark.parametrize("style", fields.STYLES)
@pytest.mark.parametrize("name", BOMBS)
def test_bombs_as_fields(name: str, style: str) -> None:
    started = time.process_time()
    fields.segments(MappedText.of(SourceFile("a", BOMBS[name])), style)
    fields.detect(BOMBS[name])
    assert time.process_time() - started < 2


@pytest.mark.parametrize(
    ("format", "text"),
    [
        ("yaml", "a: " * 5_000),
        ("yaml", "- " * 5_000),
        ("yaml", "? " * 5_000),
        ("yaml", "{" * 5_000),
        ("yaml", "- a\n" * 30_000),
        ("yaml", "a: |\n" + " x\n" * 30_000),
        ("yaml", "a: >\n" + "  \n x\n" * 10_000),
        ("yaml", 'a: "' + "\\\n" * 20_000),
        ("yaml", "a0: &a0 [x]\n" + "".join(f"a{i}: &a{i} [*a{i - 1}]\n" for i in range(1, 3_000))),
        ("yaml", "&a [*a]"),
        ("yaml", "a: &a\n  <<: *a"),
        ("yaml", "b: &b {x: 1}\n" + "".join(f"k{i}: {{<<: [*b, *b]}}\n" for i in range(2_000))),
        ("yaml", "1" * 100_000),
        ("yaml", "1:" * 10_000 + "1"),
        ("json", "[" * 100_000),
        ("json", '{"a":' * 100_000),
        ("json", "1" * 100_000),
        ("json", "[1e" + "9" * 1_000 + "]"),
        ("json", "/*" * 50_000),
        ("json", "/**/" * 50_000),
        ("json", '["' + "\\" * 100_001),
        ("toml", "a = " + "[" * 50_000),
        ("toml", "a = " + "{a = " * 5_000),
        ("toml", "a" + ".a" * 20_000 + " = 1"),
        ("toml", "[" + "a." * 5_000 + "a]"),
        ("toml", "a = " + "9" * 5_000),
        ("toml", "[[a]]\n" * 5_000),
    ],
    ids=lambda value: str(value)[:12].replace("\n", " "),
)
def test_hostile_data_is_read_or_refused(format: str, text: str) -> None:
    started = time.process_time()
    try:
        node = tree.load(SourceFile(f"a.{format}", text), format)
    except tree.DataError as error:
        place = error.place
    else:
        place = tree.place_of(node)
        assert sum(1 for _ in tree.strings(node)) >= 0
    assert place.span.end <= len(text)
    assert time.process_time() - started < 2
