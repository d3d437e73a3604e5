import pytest

from promptlint.catalog import Catalog
from promptlint.catalog.model import CARRIES, RETURNS

CATALOG = Catalog()


@pytest.mark.parametrize(
    ("path", "place", "carries"),
    [
        ("openai.OpenAI().chat.completions.create", "messages", "messages"),
        ("self.client.beta.chat.completions.parse", "tools", "tools"),
        ("client.responses.create", "instructions", "system"),
        ("client.completions.create", "prompt", "prompt"),
        ("client.beta.threads.runs.create", "additional_instructions", "system"),
        ("anthropic.Anthropic().messages.create", "system", "system"),
        ("client.beta.messages.stream", "tools", "tools"),
        ("boto3.client().converse", "toolConfig", "tools"),
        ("bedrock.invoke_model", "body", "prompt"),
        ("google.genai.Client().models.generate_content", "contents", "prompt"),
        ("google.generativeai.GenerativeModel", "system_instruction", "system"),
        ("mistralai.Mistral().chat.complete", "messages", "messages"),
        ("cohere.Client().chat", "preamble", "system"),
        ("litellm.acompletion", "messages", "messages"),
        ("ollama.chat", "messages", "messages"),
        ("vllm.LLM().generate", "0", "prompt"),
        ("tokenizer.apply_chat_template", "0", "messages"),
        ("langchain_core.messages.SystemMessage", "content", "content"),
        ("langchain.prompts.PromptTemplate", "template", "template"),
        ("langchain_core.prompts.chat.ChatPromptTemplate.from_messages", "partial_variables", "values"),
        ("langchain_core.prompts.MessagesPlaceholder", "variable_name", "history"),
        ("langchain_core.prompts.FewShotPromptTemplate", "examples", "examples"),
        ("llama_index.core.llms.ChatMessage", "content", "content"),
        ("haystack.components.builders.PromptBuilder", "template", "template"),
        ("haystack.dataclasses.ChatMessage.from_system", "0", "content"),
        ("dspy.Signature", "doc", "system"),
        ("pydantic_ai.Agent", "system_prompt", "system"),
        ("pydantic_ai.Agent().system_prompt", "return", "system"),
        ("crewai.Agent", "backstory", "system"),
        ("crewai.Task", "description", "user"),
        ("autogen_agentchat.agents.AssistantAgent", "system_message", "system"),
        ("smolagents.CodeAgent", "instructions", "system"),
        ("agno.agent.Agent", "instructions", "system"),
        ("agno.agent.Agent", "add_datetime_to_context", "clock"),
        ("autogen.UpdateSystemMessage", "0", "system"),
        ("ell.simple", "return", "prompt"),
        ("agents.Agent", "instructions", "system"),
        ("semantic_kernel.agents.ChatCompletionAgent", "instructions", "system"),
        ("mcp.types.Tool", "description", "tool"),
        ("jinja2.Template", "0", "template"),
        ("string.Template", "0", "template"),
    ],
)
def test_a_known_call(path: str, place: str, carries: str) -> None:
    sink = CATALOG.sink(path)
    assert sink is not None
    assert sink.arguments[place] == carries


@pytest.mark.parametrize(
    "path", ["print", "self.save", "client.files.create", "requests.post", "create", "agents.run"]
)
def test_other_calls_are_none(path: str) -> None:
    assert CATALOG.sink(path) is None


def test_metadata_is_never_part_of_a_prompt() -> None:
    for path in ("client.chat.completions.create", "client.messages.create", "client.responses.create"):
        sink = CATALOG.sink(path)
        assert sink is not None
        assert sink.arguments["metadata"] == "ignored"


def test_every_sink_carries_something_known() -> None:
    for sink in CATALOG.sinks:
        assert set(sink.arguments.values()) <= set(CARRIES)
        assert sink.returns in RETURNS
        assert sink.source
        assert sink.file
