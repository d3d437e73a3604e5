"""Each document format: what is read, in which order, from which place."""

from __future__ import annotations

import json
from textwrap import dedent

import pytest

from promptlint.layout import LayoutKind, Section
from tests.frontends.documents.reading import one, outline, read, shown, source_of


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


ROUTER = """\
model_list:
  - model_name: counsel
    litellm_params: {model: azure/gpt-4.1, api_base: https://north.example}
  - model_name: counsel
    litellm_params: {model: azure/gpt-4.1, api_base: https://west.example}
router_settings:
  routing_strategy: simple-shuffle
"""


@pytest.mark.parametrize(
    ("old", "new", "spread"),
    [
        ("", "", True),
        ("simple-shuffle", "least-busy", True),
        ("azure/gpt-4.1, api_base: https://west.example", "bedrock/claude, aws_region_name: eu-west-1", True),
        ("simple-shuffle", "cost-based-routing", False),  # the same one each time
        ("west.example", "north.example", False),  # one endpoint, two keys
        (
            "  - model_name: counsel\n    litellm_params: {model: azure/gpt-4.1, api_base: https://w",
            "  - model_name: b\n    litellm_params: {model: azure/gpt-4.1, api_base: https://w",
            False,
        ),
        ("simple-shuffle\n", "simple-shuffle\n  optional_pre_call_checks: [prompt_caching]\n", False),
        ("  routing_strategy: simple-shuffle", "  num_retries: 1", False),
    ],
)
def test_litellm_spreads_turns_over_deployments(old: str, new: str, spread: bool) -> None:
    text = ROUTER.replace(old, new) if old else ROUTER
    seen = [(s.what, source_of(s, text)) for layout in read("router.yaml", text) for s in layout.observations]
    assert seen == [("replica-random", "least-busy" if new == "least-busy" else "simple-shuffle")] * spread


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


def test_doubled_braces_that_are_no_expression_are_escapes() -> None:
    text = 'You act for {user}.\nReply with {{\n  "action": [{{"go": {{"url": "x"}}}}]\n}}\n'
    layout = one("prompts/act.md", text)
    assert layout.observations == ()
    assert [shown(s) for s in layout.segments] == [
        "You act for", "<user>", '.\nReply with {\n  "action": [{"go": {"url": "x"}}]\n}',
    ]  # fmt: skip


def test_a_recorded_conversation_is_no_prompt() -> None:
    turns = [
        {"role": "system", "content": "You help with {topic}."},
        {"role": "user", "content": "Say hello."},
        {"role": "assistant", "content": "Hello."},
    ]
    assert len(read("prompts/chat.json", json.dumps(turns))) == 1
    kept = [*turns[:2], {**turns[2], "response_metadata": {"finish_reason": "stop"}}]
    assert read("prompts/chat.json", json.dumps(kept)) == []
    assert read("prompts/chat.json", json.dumps([turns[0], *turns[1:] * 6])) == []


def test_templates_beside_a_prompt() -> None:
    text = dedent(
        """\
        templates:
          system_template: You are an engineer who solves issues in large programs, one after another.
          first_turn_template: "Issue: {{issue}}\\nSolve it."
          note_template: "no field"
        other:
          mail_template: "Dear {{name}}"
        """
    )
    assert [one.name for one in read("config/any.yaml", text)] == [
        "templates.system_template",
        "templates.first_turn_template",
    ]
