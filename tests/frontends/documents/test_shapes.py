"""Each document format: what is read, in which order, from which place."""

from __future__ import annotations

import json
from collections.abc import Mapping
from textwrap import dedent

import pytest

from promptlint.frontends import documents
from promptlint.frontends.base import Context
from promptlint.layout import Confidence, Layout, LayoutKind, Section, Segment
from promptlint.source import SourceFile


def read(path: str, text: str, others: Mapping[str, str] | None = None) -> list[Layout]:
    """Read one file, after `claims` has agreed to it as the engine would ask."""
    files = {path: text, **(others or {})}
    if not documents.claims(path, text[: documents.HEAD]):
        return []

    def load(name: str) -> SourceFile | None:
        return SourceFile(name, files[name]) if name in files else None

    return documents.read(SourceFile(path, text), Context(load=load, listing=tuple(files)))


def one(path: str, text: str, others: Mapping[str, str] | None = None) -> Layout:
    (layout,) = read(path, text, others)
    return layout


def outline(layout: Layout) -> list[tuple[str, str, int, str]]:
    return [(s.section.value, s.role, s.message, shown(s)) for s in layout.segments]


def shown(segment: Segment) -> str:
    return f"<{segment.origin.name}>" if segment.text is None else segment.text.strip()


def source_of(segment: Segment, text: str) -> str:
    return text[segment.place.span.start : segment.place.span.end]


def test_prompty() -> None:
    text = dedent(
        """\
        ---
        name: Helper
        model:
          api: chat
          configuration: {type: azure_openai, azure_deployment: gpt-4o}
          parameters: {max_tokens: 256}
        ---
        system:
        You help {{ name }}.
        Example: "user: hi"

        {% for item in history %}
        {{item.role}}:
        {{item.content}}
        {% endfor %}

        user:
        {{question}}"""
    )
    layout = one("chat.prompty", text)
    assert (layout.name, layout.provider, layout.model) == ("Helper", "openai", "gpt-4o")
    assert [(p.name, p.text) for p in layout.parameters] == [("max_tokens", "256")]
    assert layout.complete
    got = [item for item in outline(layout) if item[3]]
    assert got[:3] == [
        ("system", "system", 0, "You help"),
        ("system", "system", 0, "<name>"),
        ("system", "system", 0, '.\nExample: "user: hi"'),
    ]
    assert got[-1] == ("messages", "user", 0, "<question>")
    assert source_of(layout.segments[1], text) == "{{ name }}"
    assert source_of(layout.segments[-1], text) == "{{question}}"


def test_prompty_with_tools_and_mustache() -> None:
    text = dedent(
        """\
        ---
        template: {format: mustache}
        model: {id: gpt-4.1, provider: openai, options: {temperature: 0}}
        tools:
          - {type: function, function: {name: f, description: Looks up.}}
        ---
        system:
        {{#each docs}}{{this}}{{/each}}
        """
    )
    layout = one("a.prompty", text)
    assert [s.section for s in layout.segments[:2]] == [Section.TOOLS, Section.SYSTEM]
    assert layout.segments[1].guards[0].name == "docs"
    assert layout.model == "gpt-4.1"


def test_dotprompt_with_partial() -> None:
    text = '---\nmodel: googleai/gemini-2.0-flash\nconfig: {temperature: 0.2}\n---\n{{role "system"}}{{> rules}}{{role "user"}}{{q}}'
    layout = one("p/ask.prompt", text, {"p/_rules.prompt": "Be {{tone}}."})
    assert outline(layout) == [
        ("system", "system", 0, "Be"),
        ("system", "system", 0, "<tone>"),
        ("system", "system", 0, "."),
        ("messages", "user", 0, "<q>"),
    ]
    assert layout.segments[1].place.path == "p/_rules.prompt"
    assert (layout.provider, layout.complete) == ("google", True)


def test_dotprompt_partial_that_includes_itself() -> None:
    layout = one("p/_a.prompt", "{{> a}}{{> gone}}")
    assert layout.gaps == ("partial a includes itself", "partial gone was not found")


def test_openai_request() -> None:
    text = json.dumps(
        {
            "model": "gpt-5.6",
            "messages": [
                {"role": "system", "content": "It is {date}."},
                {"role": "user", "content": [{"type": "text", "text": "Hi", "prompt_cache_breakpoint": {"mode": "explicit"}}, {"type": "image_url", "image_url": {"url": "x"}}]},
            ],
            "tools": [{"type": "function", "function": {"name": "f"}}],
            "prompt_cache_key": "k",
        },
        indent=1,
    )  # fmt: skip
    layout = one("request.json", text)
    assert outline(layout) == [
        ("tools", "", 0, '{"type": "function", "function": {"name": "f"}}'),
        ("system", "system", 0, "It is"),
        ("system", "system", 0, "<date>"),
        ("system", "system", 0, "."),
        ("messages", "user", 0, "Hi"),
    ]
    assert (layout.kind, layout.provider, layout.model) == (LayoutKind.REQUEST, "openai", "gpt-5.6")
    assert [(p.name, p.text) for p in layout.parameters] == [("model", "gpt-5.6"), ("prompt_cache_key", "k")]
    mark = layout.segments[-1].breakpoint
    assert mark is not None
    assert mark.marker == "prompt_cache_breakpoint"
    assert text[mark.place.span.start :].startswith('"prompt_cache_breakpoint"')


def test_openai_responses() -> None:
    layout = one("r.json", '{"model": "gpt-4.1", "instructions": "You are {role}.", "input": "Hi {name}"}')
    assert [(s.section.value, shown(s)) for s in layout.segments if s.is_hole] == [
        ("system", "<role>"),
        ("messages", "<name>"),
    ]


def test_anthropic_request_with_marks() -> None:
    body = {
        "model": "claude-sonnet-4-5",
        "max_tokens": 5,
        "messages": [{"role": "user", "content": "{question}"}],
        "system": [
            {"type": "text", "text": "Rules"},
            {"type": "text", "text": "More", "cache_control": {"type": "ephemeral", "ttl": "1h"}},
        ],
        "tools": [{"name": "f", "input_schema": {}, "cache_control": {"type": "ephemeral"}}],
    }
    layout = one("body.json", json.dumps({"custom_id": "1", "params": body}))
    assert layout.provider == "anthropic"
    marks = [(s.section.value, s.breakpoint.ttl) for s in layout.segments if s.breakpoint]
    assert marks == [("tools", ""), ("system", "1h")]
    assert [s.section.value for s in layout.segments] == ["tools", "system", "system", "messages"]


def test_bedrock_converse_request() -> None:
    body = {
        "modelId": "anthropic.claude-sonnet-4-5-v1:0",
        "messages": [
            {"role": "user", "content": [{"text": "Hi {name}"}, {"cachePoint": {"type": "default"}}]}
        ],
        "system": [{"text": "Rules"}, {"cachePoint": {"type": "default", "ttl": "1h"}}],
        "toolConfig": {"tools": [{"toolSpec": {"name": "f"}}, {"cachePoint": {"type": "default"}}]},
        "inferenceConfig": {"temperature": 0},
    }
    layout = one("converse.json", json.dumps(body))
    assert layout.provider == "bedrock"
    assert [(s.section.value, shown(s), s.breakpoint is not None) for s in layout.segments] == [
        ("tools", '{"toolSpec": {"name": "f"}}', True),
        ("system", "Rules", True),
        ("messages", "Hi", False),
        ("messages", "<name>", True),
    ]
    assert {p.name for p in layout.parameters} == {"modelId", "toolConfig", "inferenceConfig"} - {
        "toolConfig"
    }


def test_gemini_request() -> None:
    body = {
        "systemInstruction": {"parts": [{"text": "You are {x}."}]},
        "contents": [
            {"role": "user", "parts": [{"text": "{q}"}]},
            {"role": "model", "parts": [{"text": "ok"}]},
        ],
    }
    layout = one("g.json", json.dumps(body))
    assert layout.provider == "google"
    assert [(s.role, shown(s)) for s in layout.segments if s.is_hole] == [("system", "<x>"), ("user", "<q>")]
    assert layout.segments[-1].role == "model"


def test_message_list_in_yaml() -> None:
    text = dedent(
        """\
        judge:
          messages:
            - role: system
              content: |
                You judge.
                Today: {{ today }}
            - role: user
              content: "{{ answer }}"
        """
    )
    layout = one("judge.yaml", text)
    assert layout.name == "judge.messages"
    hole = next(s for s in layout.segments if s.is_hole)
    assert (hole.origin.name, source_of(hole, text), hole.section) == ("today", "{{ today }}", Section.SYSTEM)


LANGCHAIN = {
    "lc": 1,
    "type": "constructor",
    "id": ["langchain_core", "prompts", "chat", "ChatPromptTemplate"],
    "kwargs": {
        "messages": [
            {
                "lc": 1,
                "id": ["langchain_core", "prompts", "chat", "SystemMessagePromptTemplate"],
                "kwargs": {
                    "prompt": {
                        "lc": 1,
                        "id": ["langchain_core", "prompts", "prompt", "PromptTemplate"],
                        "kwargs": {"template": "You are {persona}.", "template_format": "f-string"},
                    }
                },
            },
            {
                "lc": 1,
                "id": ["langchain_core", "prompts", "chat", "MessagesPlaceholder"],
                "kwargs": {"variable_name": "chat_history"},
            },
            {
                "lc": 1,
                "id": ["langchain_core", "prompts", "chat", "HumanMessagePromptTemplate"],
                "kwargs": {
                    "prompt": {
                        "lc": 1,
                        "id": ["langchain_core", "prompts", "prompt", "PromptTemplate"],
                        "kwargs": {"template": "{{input}}", "template_format": "mustache"},
                    }
                },
            },
        ]
    },
}


def test_langchain_serialized_chat() -> None:
    layout = one("hub.json", json.dumps(LANGCHAIN))
    assert outline(layout) == [
        ("system", "system", 0, "You are"),
        ("system", "system", 0, "<persona>"),
        ("system", "system", 0, "."),
        ("messages", "", 0, "<chat_history>"),
        ("messages", "user", 1, "<input>"),
    ]


def test_langchain_loader_file() -> None:
    text = dedent(
        """\
        _type: few_shot
        prefix: Write antonyms for {style}.
        examples:
          - {input: happy, output: sad}
        suffix: "Input: {adjective}"
        """
    )
    layout = one("prompts/antonyms.yaml", text)
    assert [shown(s) for s in layout.segments] == [
        "Write antonyms for", "<style>", ".", "happy", "sad", "Input:", "<adjective>",
    ]  # fmt: skip


def test_langchain_file_of_its_first_versions() -> None:
    text = '{"input_variables": ["docs"], "output_parser": null, "template": "Given {docs}: {{x}}", "template_format": "f-string"}'
    layout = one("prompts/api/basic.json", text)
    assert [shown(s) for s in layout.segments] == ["Given", "<docs>", ": {x}"]


def test_promptfoo() -> None:
    text = dedent(
        """\
        prompts:
          - "Translate to {{language}}, {{tone}}: {{input}}"
          - file://prompts/a.txt
          - id: chat
            raw: |
              [{"role": "system", "content": "You are {{tone}}."}, {"role": "user", "content": "{{input}}"}]
        providers: [openai:chat:gpt-4.1]
        defaultTest: {vars: {tone: formal, language: French}}
        tests:
          - vars: {language: German, input: Hello}
        """
    )
    first, chat = read("promptfooconfig.yaml", text)
    assert [shown(s) for s in first.segments] == ["Translate to", "<language>", ",", "formal", ":", "<input>"]
    assert source_of(first.segments[3], text) == "formal"
    assert (first.model, first.provider) == ("gpt-4.1", "openai")
    assert outline(chat) == [
        ("system", "system", 0, "You are"),
        ("system", "system", 0, "formal"),
        ("system", "system", 0, "."),
        ("messages", "user", 0, "<input>"),
    ]
    assert source_of(chat.segments[-1], text) == "{{input}}"


def test_semantic_kernel_folder() -> None:
    config = {"schema": 1, "execution_settings": {"default": {"model_id": "gpt-4", "temperature": 0.1}}}
    text = '<message role="system">You know {{$facts}}.</message>\n<message role="user">{{time.now}} {{$input}}</message>'
    layout = one("plugins/Chat/skprompt.txt", text, {"plugins/Chat/config.json": json.dumps(config)})
    assert (layout.name, layout.model) == ("Chat", "gpt-4")
    assert [(s.role, shown(s)) for s in layout.segments if s.is_hole] == [
        ("system", "<facts>"),
        ("user", "<time.now>"),
        ("user", "<input>"),
    ]
    assert not any("message" in (s.text or "") for s in layout.segments)


def test_semantic_kernel_yaml() -> None:
    text = "name: Story\ntemplate: |\n  Tell about {{$topic}}.\ntemplate_format: semantic-kernel\ninput_variables: [{name: topic}]\n"
    layout = one("story.yaml", text)
    assert layout.name == "Story"
    assert source_of(layout.segments[1], text) == "{{$topic}}"


def test_litellm_injection_points() -> None:
    text = dedent(
        """\
        model_list:
          - model_name: a
            litellm_params:
              model: anthropic/claude-sonnet-4-5
              api_key: secret
              cache_control_injection_points:
                - location: message
                  role: assistant
          - model_name: b
            litellm_params: {model: openai/gpt-4.1}
        """
    )
    layout = one("proxy.yaml", text)
    point, model = layout.parameters
    assert (point.name, json.loads(point.text or "")) == (
        "cache_control_injection_point",
        {"location": "message", "role": "assistant"},
    )
    assert text[point.place.span.start : point.place.span.end].split() == [
        "location:",
        "message",
        "role:",
        "assistant",
    ]
    assert (model.name, layout.provider, layout.segments) == ("model", "anthropic", ())
    assert "secret" not in repr(layout)


def test_crewai() -> None:
    agents = "researcher:\n  role: >\n    {topic} researcher\n  goal: >\n    Find {topic}\n  backstory: >\n    You know {year}.\n"
    layout = one("config/agents.yaml", agents)
    assert [s.origin.name for s in layout.segments if s.is_hole] == ["topic", "year", "topic"]
    tasks = "work:\n  description: Research {topic}\n  expected_output: A list\n  agent: researcher\n"
    assert one("config/tasks.yaml", tasks).segments[0].role == "user"


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
