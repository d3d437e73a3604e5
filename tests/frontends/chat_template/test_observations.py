"""What is observed about small chat templates, each with one habit of real ones."""

from __future__ import annotations

import json

import pytest

from promptlint.frontends import chat_template
from promptlint.frontends.base import Context
from promptlint.layout import Confidence, LayoutKind, Observation, Section
from promptlint.source import SourceFile

CONTEXT = Context(lambda path: None)

PLAIN = """\
{%- for message in messages %}
    {{- '<|' + message.role + '|>' + message.content + '<|end|>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|assistant|>' }}
{%- endif %}
"""


def observed(text: str) -> list[tuple[Observation, int]]:
    source = SourceFile("chat_template.jinja", text)
    (layout,) = chat_template.read(source, CONTEXT)
    assert layout.kind is LayoutKind.CHAT_TEMPLATE
    return [(o, source.position(o.place.span.start)[0]) for o in layout.observations]


def line_of(text: str, part: str) -> int:
    return text[: text.index(part)].count("\n") + 1


def test_a_plain_template_is_clean() -> None:
    (layout,) = chat_template.read(SourceFile("chat_template.jinja", PLAIN), CONTEXT)
    assert layout.complete
    assert layout.repeated
    assert not layout.observations


@pytest.mark.parametrize("offered", ["tools", "[tools]"])
def test_tools_in_front_are_clean(offered: str) -> None:
    assert not observed(f"{{% if tools %}}{{{{ {offered} | tojson }}}}{{% endif %}}" + PLAIN)


def test_clock() -> None:
    text = "{{ 'Today: ' + strftime_now('%d %b %Y') }}\n" + PLAIN
    ((observation, line),) = observed(text)
    assert (observation.what, line, observation.confidence) == ("template-clock", 1, Confidence.HIGH)


@pytest.mark.parametrize(
    "test", ["not date_string", "date_string is not defined", "not date_string is defined"]
)
def test_clock_behind_a_default_counts(test: str) -> None:
    text = (
        f"{{%- if {test} %}}\n    {{%- set date_string = strftime_now('%d %b %Y') %}}\n{{%- endif %}}\n"
        "{{- 'Today Date: ' + date_string + '\\n' }}\n" + PLAIN
    )
    ((observation, line),) = observed(text)
    assert (observation.what, line) == ("template-clock", 2)
    assert [step.note for step in observation.related] == ["printed here"]


def test_clock_used_only_without_a_system_message() -> None:
    text = "{% if messages[0].role != 'system' %}\n{{ strftime_now('%Y-%m-%d') }}\n{% endif %}" + PLAIN
    ((observation, line),) = observed(text)
    assert (observation.what, line, observation.confidence) == ("template-clock", 2, Confidence.MEDIUM)
    assert "no system message" in observation.detail


def test_dates_that_do_not_count() -> None:
    assert not observed("{% if date_string %}{{ date_string }}{% endif %}" + PLAIN)
    assert not observed("{% set date_string = '26 Jul 2024' %}{{ date_string }}" + PLAIN)
    assert not observed("{% set unused = strftime_now('%d') %}" + PLAIN)


def test_reasoning_dropped_from_earlier_answers() -> None:
    text = """\
{%- set ns = namespace(last=-1) %}
{%- for message in messages %}
    {%- if message.role == 'user' %}
        {%- set ns.last = loop.index0 %}
    {%- endif %}
{%- endfor %}
{%- for message in messages %}
    {%- if message.role == 'assistant' and message.reasoning_content and loop.index0 > ns.last %}
        {{- '<|assistant|><think>' + message.reasoning_content + '</think>' + message.content + '<|end|>' }}
    {%- else %}
        {{- '<|' + message.role + '|>' + message.content + '<|end|>' }}
    {%- endif %}
{%- endfor %}
"""
    ((observation, line),) = observed(text)
    assert observation.what == "template-rewrites"
    assert line == line_of(text, "loop.index0 > ns.last")
    assert observation.data["mechanism"] == "reasoning"
    assert observation.data["role"] == "assistant"
    assert [text[s.place.span.start :][:20].strip() for s in observation.related] == [
        "{{- '<|assistant|><t",
        "{{- '<|' + message.r",
    ]


def test_thinking_tags_around_the_last_answer_only() -> None:
    text = PLAIN.replace(
        "{{- '<|' + message.role",
        "{{- ('<think>\\n\\n</think>' if loop.last and message.role == 'assistant' else '') + '<|' + message.role",
    )
    ((observation, line),) = observed(text)
    assert (observation.what, observation.data["mechanism"], line) == ("template-rewrites", "reasoning", 2)


def test_system_text_in_the_last_turn() -> None:
    text = """\
{%- if messages[0].role == 'system' %}{% set system = messages[0].content %}{% set messages = messages[1:] %}{% endif %}
{%- for message in messages %}
    {%- if loop.last and system is defined %}
        {{- '[' + system + ' ' + message.content + ']' }}
    {%- else %}
        {{- '[' + message.content + ']' }}
    {%- endif %}
{%- endfor %}
"""
    ((observation, line),) = observed(text)
    assert (observation.what, observation.data["mechanism"]) == ("template-rewrites", "system")
    assert line == line_of(text, "loop.last")


def test_tools_before_the_last_question() -> None:
    text = """\
{%- for message in messages %}
    {%- if tools and loop.last %}
        {{- '[TOOLS]' + tools | tojson }}
    {%- endif %}
    {{- '[' + message.content + ']' }}
{%- endfor %}
"""
    ((observation, line),) = observed(text)
    assert (observation.what, line) == ("template-moves-tools", line_of(text, "loop.last"))
    (step,) = observation.related
    assert text[step.place.span.start :].startswith("{{- '[TOOLS]'")


def test_tools_in_the_first_question_stay_put() -> None:
    assert not observed(
        """\
{%- for message in messages %}
    {{- '[' + message.content + ']' }}
    {%- if tools and message.role == 'user' and (loop.first or loop.previtem.role == 'system') and loop.index < 3 %}
        {{- '[TOOLS]' + tools | tojson }}
    {%- endif %}
{%- endfor %}
"""
    )


def test_later_system_messages_are_hoisted() -> None:
    text = """\
{%- for message in messages if message.role == 'system' %}
    {{- message.content }}
{%- endfor %}
{%- for message in messages if message.role != 'system' %}
    {{- '[' + message.content + ']' }}
{%- endfor %}
"""
    ((observation, _),) = observed(text)
    assert (observation.what, observation.data["mechanism"]) == ("template-rewrites", "system")
    assert observation.confidence is Confidence.MEDIUM
    assert "sent later" in observation.detail


def test_what_only_closes_the_last_message_is_no_rewrite() -> None:
    assert not observed(PLAIN.replace("'<|end|>\\n'", "('<|return|>' if loop.last else '<|end|>')"))


def test_refused_conversations_are_passed_over() -> None:
    strict = (
        "{% for m in messages %}{% if m.role == 'system' or m.role == 'tool' %}"
        "{{ raise_exception('no ' + m.role) }}{% endif %}{% endfor %}"
    )
    assert not observed(strict + PLAIN)


def test_a_template_that_takes_nothing_is_a_gap() -> None:
    text = "{{ raise_exception('never') }}" + PLAIN
    (layout,) = chat_template.read(SourceFile("chat_template.jinja", text), CONTEXT)
    assert not layout.complete
    assert layout.gaps == ("not rendered: the template takes none of the conversations that were tried",)


def test_contents_as_parts_and_arguments_as_text() -> None:
    text = """\
{%- for message in messages %}
    {{- '[' + message.content[0].text }}
    {%- for call in message.tool_calls or [] %}{{ '<' + call.function.arguments + '>' }}{% endfor %}
    {{- strftime_now('%Y') if loop.last and message.role == 'tool' }}
{%- endfor %}
"""
    (layout,) = chat_template.read(SourceFile("chat_template.jinja", text), CONTEXT)
    assert layout.complete


def test_syntax_error() -> None:
    (layout,) = chat_template.read(SourceFile("chat_template.jinja", "a\n{% if %}"), CONTEXT)
    assert [o.what for o in layout.observations] == ["parse-error"]
    assert not layout.complete


def test_template_in_a_tokenizer_configuration() -> None:
    text = "{{ strftime_now('%Y') }}\n" + PLAIN
    config = json.dumps({"model_max_length": 10, "chat_template": text, "unk_token": None}, indent=1)
    source = SourceFile("model/tokenizer_config.json", config)
    assert chat_template.applies(source)
    (layout,) = chat_template.read(source, CONTEXT)
    (observation,) = layout.observations
    span = observation.place.span
    assert config[span.start : span.end] == "{{ strftime_now('%Y') }}"
    assert observation.detail.endswith("(line 1 of the template)")


def test_list_of_named_templates() -> None:
    entries = [
        {"name": "default", "template": PLAIN},
        {"name": "tool_use", "template": "\U0001f600 {{ strftime_now('%Y') }}" + PLAIN},
    ]
    config = json.dumps({"chat_template": entries})
    layouts = chat_template.read(SourceFile("tokenizer_config.json", config), CONTEXT)
    assert [layout.name for layout in layouts] == [
        "tokenizer_config.json:default",
        "tokenizer_config.json:tool_use",
    ]
    assert [[o.what for o in layout.observations] for layout in layouts] == [[], ["template-clock"]]
    span = layouts[1].observations[0].place.span
    assert config[span.start : span.end] == "{{ strftime_now('%Y') }}"
    assert layouts[1].segments[0].text == "\U0001f600 "


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("a/chat_template.jinja", "x", True),
        ("a/llama.jinja", PLAIN, True),
        ("a/prompt.jinja", "{% for m in messages %}{{ m.content }}{% endfor %}", False),
        ("a/tokenizer_config.json", "{}", False),
        ("a/notes.md", PLAIN, False),
    ],
)
def test_applies(path: str, text: str, expected: bool) -> None:
    assert chat_template.applies(SourceFile(path, text)) is expected


def test_sections() -> None:
    text = (
        "{{ bos_token }}{% for tool in tools %}{{ tool | tojson }}{% endfor %}{{ messages[0].content }}"
        + PLAIN
    )
    (layout,) = chat_template.read(SourceFile("chat_template.jinja", text), CONTEXT)
    assert [(s.section, s.role) for s in layout.segments if s.is_hole] == [
        (Section.SYSTEM, "system"),
        (Section.TOOLS, ""),
        (Section.SYSTEM, "system"),
        (Section.MESSAGES, ""),
        (Section.MESSAGES, ""),
    ]


THOUGHT = "<think>\\n\\n</think>\\n\\n"
AT_ONCE = PLAIN.replace("{{- '<|assistant|>' }}", f"{{{{- '<|assistant|>{THOUGHT}' }}}}")
KEPT = AT_ONCE.replace(
    "'|>' + message.content", f"'|>' + ('{THOUGHT}' if message.role == 'assistant' else '') + message.content"
)


def test_an_empty_thought_that_only_the_generation_prompt_has() -> None:
    ((observation, line),) = observed(AT_ONCE)
    assert (observation.what, line) == ("template-answers", line_of(AT_ONCE, "<|assistant|>"))
    assert observation.detail == repr("<think>\n\n</think>")


def test_an_empty_thought_in_all_answers_is_clean() -> None:
    assert not observed(KEPT)


def test_an_opened_thought_belongs_to_the_answer() -> None:
    assert not observed(PLAIN.replace("<|assistant|>", "<|assistant|><think>\\n"))


def test_an_opened_thought_that_is_cut_out_of_every_answer() -> None:
    text = """\
{%- for message in messages %}
    {%- set content = message.content %}
    {%- if message.role == 'assistant' and '</think>' in content %}
        {%- set content = content.split('</think>')[-1] %}
    {%- endif %}
    {{- '<|' + message.role + '|>' + content + '<|end|>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|assistant|><think>\\n' }}{%- endif %}
"""
    ((observation, line),) = observed(text)
    assert (observation.what, line) == ("template-answers", line_of(text, "split"))
    assert observation.detail.endswith("no answer is printed with its thought")


def test_an_empty_thought_where_the_caller_wants_no_thinking() -> None:
    text = PLAIN.replace(
        "{{- '<|assistant|>' }}",
        f"{{{{- '<|assistant|>' }}}}{{% if enable_thinking is false %}}{{{{ '{THOUGHT}' }}}}{{% endif %}}",
    )
    ((observation, _),) = observed(text)
    assert (observation.what, observation.data["option"]) == ("template-answers", "enable_thinking=False")


def test_a_long_result_that_is_cut_once_it_is_old() -> None:
    text = """\
{%- for message in messages %}
    {%- set old = message.role == 'tool' and not loop.last %}
    {{- '<|' + message.role + '|>' + (message.content[:500] if old else message.content) + '<|end|>' }}
{%- endfor %}
"""
    ((observation, line),) = observed(text)
    assert (observation.what, observation.data["mechanism"]) == ("template-rewrites", "tool-results")
    assert line == line_of(text, "<|end|>")


def test_a_system_text_that_is_gathered_in_front() -> None:
    text = """\
{%- set ns = namespace(system='') %}
{%- for message in messages %}
    {%- if message.role == 'system' %}{% set ns.system = ns.system + message.content %}{% endif %}
{%- endfor %}
{{- '[' + ns.system + ']' }}
{%- for message in messages if message.role != 'system' %}{{ '[' + message.content + ']' }}{% endfor %}
"""
    ((observation, line),) = observed(text)
    assert (observation.what, observation.data["mechanism"]) == ("template-rewrites", "system")
    assert line == line_of(text, "set ns.system = ns.system")
