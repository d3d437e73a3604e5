"""Files without a shape of their own: what is taken for a prompt, and what is not."""

from __future__ import annotations

import json
from textwrap import dedent

import pytest

from promptlint.frontends import documents
from promptlint.frontends.base import Context
from promptlint.layout import Confidence
from promptlint.source import SourceFile
from tests.frontends.documents.reading import one, read, shown


def test_keys_of_generic_files() -> None:
    text = dedent(
        """\
        [agent]
        model = "claude-haiku-4-5"
        system_prompt = \"\"\"
        You are a clerk.
        Now: ${now}
        \"\"\"
        title = "You are a title"
        prompt_tokens = "You are a number"
        """
    )
    layout = one("app.toml", text)
    assert (layout.name, layout.provider, layout.confidence) == (
        "agent.system_prompt",
        "anthropic",
        Confidence.HIGH,
    )
    assert [(s.role, s.origin.name) for s in layout.segments if s.is_hole] == [("system", "now")]


def test_vague_keys_need_a_text_that_gives_a_role() -> None:
    text = dedent(
        """\
        components:
          builder:
            type: PromptBuilder
            init_parameters:
              template: |
                You are a {{ kind }} helper.
          mail: {template: "Dear {{ name }}, thanks"}
        system: You are a brief helper.
        """
    )
    assert [layout.name for layout in read("pipeline.yaml", text)] == [
        "components.builder.init_parameters.template",
        "system",
    ]


def test_prompts_may_be_called_after_what_they_ask_for() -> None:
    text = "answer: |\n  Answer {question}.\nquestion: |\n  Ask about {topic}.\noutput: 12 tokens of text\n"
    assert [layout.name for layout in read("prompts.yaml", text)] == ["answer", "question"]


def test_dify_and_n8n_variables() -> None:
    dify = "prompt_template:\n- {role: system, text: 'Facts: {{#context#}} {{#171.text#}}'}\n"
    (layout,) = read("app.yml", dify)
    assert [s.origin.name for s in layout.segments if s.is_hole] == ["context", "171.text"]
    assert not any(s.guards for s in layout.segments)
    n8n = '{"parameters": {"options": {"systemMessage": "=You are kind. Now: {{ $now.toISO() }} {{ $json.query }}"}}}'
    (layout,) = read("flow.json", n8n)
    assert [s.origin.name for s in layout.segments if s.is_hole] == ["now.toISO", "json.query"]


def test_scripts_without_blanks() -> None:
    (layout,) = read("app.yaml", "system_prompt: 你是一个助手。今天是{date}。\nprompt: 名字\n")
    assert [s.origin.name for s in layout.segments if s.is_hole] == ["date"]


def test_system_and_user_texts_of_one_mapping_are_one_prompt() -> None:
    text = "judge_user_prompt: Judge {answer}\njudge_system_prompt: You are strict about {topic}.\nother_prompt: You are alone.\n"
    judge, other = read("x.yaml", text)
    assert [(s.section.value, shown(s)) for s in judge.segments if s.is_hole] == [
        ("system", "<topic>"),
        ("messages", "<answer>"),
    ]
    assert judge.name == "judge"
    assert other.name == "other_prompt"


def test_prompt_file_takes_every_text_that_is_filled() -> None:
    text = dedent(
        """\
        version: 1.2
        description: Prompts that {x} uses
        planning:
          initial: |-
            You plan.
            {{ facts }}
          task: |-
            Do this:
            {{ task }}
        """
    )
    assert [layout.name for layout in read("agent/prompts/code.yaml", text)] == [
        "planning.initial",
        "planning.task",
    ]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("prompts/ask.md", "Answer {question}."),
        ("ask_prompt.txt", "Answer {question}."),
        ("src/dialog_system.md", "You are kind."),
        ("prompts/chat.hbs", "Hi {{name}}"),
        ("agents/system.tmpl", "Be kind to {{ .User }}. Do not include names."),
        ("prompts/rules.txt", "Every reply has three lines and ends with a full stop."),
        ("skills/review.md", "You are a reviewer.\nDiff: {{diff}}"),
        ("templates/mail.txt", "You are an assistant. Write to !<INPUT 0>!"),
    ],
)
def test_text_files_that_are_prompts(path: str, text: str) -> None:
    assert len(read(path, text)) == 1


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("README.md", "You are a user. Set {name} in the file."),
        ("docs/prompts.md", "You are free to write {name}."),
        ("CHANGELOG.md", "# 1.0\n- prompts {x}"),
        (".github/PULL_REQUEST_TEMPLATE.md", "Do not include {x}"),
        ("guide/prompt-customization.md", "# Prompts\n\nSee [here](./x.md) and [there](../y.md).\n\n```python\nx\n```\n![a](b)"),
        ("mail/welcome.hbs", "You are an early bird, {{name}}!"),
        ("res/values/strings.xml", "<string>You are a %1$s</string>"),
        ("site.yml", "- hosts: all\n  vars_prompt: [{name: x, prompt: 'Enter a value for {{ host }} now'}]\n  tasks: []"),
        ("AGENTS.md", "You are a guest here. Name branches fix/{topic} or {date}."),
        ("notes.txt", "Buy milk for ${price}"),
        (".github/workflows/ci.yml", "on: push\njobs: {a: {steps: [{run: 'echo ${{ x }}'}]}}"),
        ("package.json", '{"name": "prompt", "description": "You are {x}"}'),
        ("web/package-lock.json", '{"lockfileVersion": 3, "prompt": "You are {x}"}'),
        ("openapi.yaml", "openapi: 3.0.0\ninfo: {description: 'You are {x}'}\nsystem_prompt: You are {x} here"),
        ("api/spec.yaml", "openapi: 3.0.0\npaths: {/a: {get: {prompt: 'You are a {x}'}}}"),
        ("k8s/pod.yaml", "apiVersion: v1\nkind: Pod\nspec: {system_prompt: You are a {x}}"),
        ("stack.yaml", "services: {web: {image: x, environment: {SYSTEM_PROMPT: 'You are a {x}'}}}"),
        ("i18n/en.json", '{"prompt": "Enter your {name} here please"}'),
        ("mkdocs.yml", "site_name: x\nprompt: You are a {x}"),
        ("pyproject.toml", "[tool.x]\nsystem_prompt = 'You are a {x}'"),
        ("data/rows.json", '[{"instruction": "Summarize the text", "output": "x"}]'),
        ("rows.json", json.dumps([{"prompt": "You are asked: 1 + 1?", "answer": "2"}] * 3)),
        ("rows.json", json.dumps([{"prompt": "You are asked: 1 + 1?"}] * 40)),
        ("sessions/a.json", json.dumps([{"role": "user", "content": "hi"}, {"role": "assistant", "content": "ho"}])),
        ("chat.json", json.dumps([{"role": "user", "content": "hi"}, {"role": "assistant", "content": "ho"}])),
        ("schema.json", '{"type": "object", "properties": {"prompt": {"description": "You are a {x}"}}}'),
        ("cli.json", '{"commands": [{"prompt": "Name?"}, {"prompt": "Path to file"}]}'),
        ("graph.yaml", "prompt: prompts/extract.txt\nsystem_prompt: ${SYSTEM_PROMPT}"),
        ("tapes/one.yaml", "interactions:\n- request: {body: 'You are a {x}'}\n"),
        ("a.json", "[1, 2"),
        ("metrics.yaml", "prompt_tokens: 12\nprompt_cost: many dollars were spent on this very long run"),
    ],
)  # fmt: skip
def test_files_that_hold_no_prompt(path: str, text: str) -> None:
    assert read(path, text) == []


@pytest.mark.parametrize(
    ("path", "text", "line"),
    [
        ("a.prompty", "---\nname: [x\n---\nsystem:\nHi", 3),
        ("a.prompt", "---\na: b: c\n---\nHi", 2),
        ("cfg/prompts.yaml", "a: b\nc: 'x\n", 3),
        ("agent/prompts/judge.yml", "a: b\nc: 'x\n", 3),
        ("cfg/system_prompt.json", '{"a": 1,\n "b" 2}', 2),
        ("cfg/prompts.toml", "a = 1\nb = ]\n", 2),
    ],
)
def test_malformed_prompt_files_say_where(path: str, text: str, line: int) -> None:
    layout = one(path, text)
    (observation,) = layout.observations
    assert observation.what == "parse-error"
    assert not layout.complete
    assert SourceFile(path, text).position(observation.place.span.start)[0] == line
    assert observation.detail.startswith("not ")
    assert (len(layout.segments) > 0) == path.endswith((".prompty", ".prompt"))


def test_a_file_that_the_user_names_needs_no_proof() -> None:
    context = Context(load=lambda path: None)
    for path, text in (
        ("notes/any.md", "Plain {x}"),
        ("mail/any.hbs", "{{#if x}}y{{/if}}"),
        ("any.yaml", "a: Hello {x} and others"),
    ):
        assert read(path, text) == []
        assert len(documents.read(SourceFile(path, text), context, named=True)) == 1


def test_template_that_prints_yaml() -> None:
    layout = one("prompts/a.yaml", "{% for m in ms %}\n- role: {{ m.role }}\n{% endfor %}\n")
    assert [s.origin.name for s in layout.segments if s.is_hole] == ["ms[].role"]
    assert layout.complete


def test_front_matter_of_markdown() -> None:
    layout = one("prompts/a.md", "---\nmodel: gpt-4.1\ntitle: You {x}\n---\nHi {name}")
    assert (layout.model, layout.provider) == ("gpt-4.1", "openai")
    assert [shown(s) for s in layout.segments] == ["Hi", "<name>"]
    ruled = one("prompts/b.md", "---\nYou are {role}.\n---\nHi {name}")
    assert [s.origin.name for s in ruled.segments if s.is_hole] == ["role", "name"]


def test_instructions_of_coding_assistants_are_read_as_they_stand() -> None:
    layout = one(
        ".github/copilot-instructions.md", "You are in a repository. Name branches fix/{topic}, {date}."
    )
    assert not any(segment.is_hole for segment in layout.segments)


def test_code_in_a_prompt_has_no_fields() -> None:
    text = 'system_prompt: |\n  You are a coder. {{ a }} {steps}\n  print(f"{city} is {x}")\n  ```python\n  d = {k}\n  ```\n'
    layout = one("p.yaml", text)
    assert [s.origin.name for s in layout.segments if s.is_hole] == ["a", "steps"]


def test_claims_needs_no_parser() -> None:
    assert documents.claims("a/b.prompty", "")
    assert documents.claims("a/prompts/b.yaml", "x: 1")
    assert not documents.claims("a/b.yaml", "x: 1\ny: [2]")
    assert not documents.claims("a/b.py", "prompt: x")


def test_marks_of_a_program_of_its_own_are_no_broken_jinja() -> None:
    text = "You help.\n{{if notes}}\n## Notes\n{{notes}}\n{{endif}}\nAnswer with care.\n"
    layout = one("prompts/help.md", text)
    assert (layout.observations, layout.complete) == ((), True)
    assert "notes" in [s.origin.name for s in layout.segments if s.is_hole]


@pytest.mark.parametrize(
    ("path", "mark", "told"),
    [
        ("prompts/clerk.md", "{% raw %}", True),
        ("prompts/clerk.md", "`{% raw %}`", False),
        ("specs/judge.md", "{% raw %}", False),
    ],
)
def test_a_text_about_templates_is_no_broken_template(path: str, mark: str, told: bool) -> None:
    text = f"You are a clerk who answers letters. You must be brief.\n\nDear {{{{ name }}}}, {mark}.\n"
    assert [o.what for layout in read(path, text) for o in layout.observations] == ["parse-error"] * told
