import pytest

from promptlint.catalog.catalog import Catalog
from promptlint.catalog.words import words
from promptlint.layout import Confidence, Kind, Scope

KNOWN = {
    "session_id": (Kind.IDENTIFIER, Scope.SESSION),
    "chatSessionId": (Kind.IDENTIFIER, Scope.SESSION),
    "CONVERSATION_ID": (Kind.IDENTIFIER, Scope.SESSION),
    "request_id": (Kind.IDENTIFIER, Scope.REQUEST),
    "traceId": (Kind.IDENTIFIER, Scope.REQUEST),
    "uuid": (Kind.IDENTIFIER, Scope.REQUEST),
    "user_name": (Kind.PER_USER, Scope.USER),
    "username": (Kind.PER_USER, Scope.USER),
    "current_user_name": (Kind.PER_USER, Scope.USER),
    "email": (Kind.PER_USER, Scope.USER),
    "email_content": (Kind.REQUEST_INPUT, Scope.REQUEST),
    "current_user.name": (Kind.PER_USER, Scope.USER),
    "speaker.room": (Kind.PER_USER, Scope.USER),
    "request.user.plan": (Kind.PER_USER, Scope.USER),
    "sys.user_id": (Kind.PER_USER, Scope.USER),
    "company_name": (Kind.PER_USER, Scope.TENANT),
    "tenant.plan": (Kind.PER_USER, Scope.TENANT),
    "today": (Kind.CLOCK, Scope.DAY),
    "today_str": (Kind.CLOCK, Scope.DAY),
    "todays_date": (Kind.CLOCK, Scope.DAY),
    "currentDate": (Kind.CLOCK, Scope.DAY),
    "CURRENT_DATE": (Kind.CLOCK, Scope.DAY),
    "date": (Kind.CLOCK, Scope.DAY),
    "now": (Kind.CLOCK, Scope.REQUEST),
    "current_time": (Kind.CLOCK, Scope.REQUEST),
    "current_datetime": (Kind.CLOCK, Scope.REQUEST),
    "timestamp": (Kind.CLOCK, Scope.REQUEST),
    "self.timestamp": (Kind.CLOCK, Scope.REQUEST),
    "cwd": (Kind.ENVIRONMENT, Scope.MACHINE),
    "working_directory": (Kind.ENVIRONMENT, Scope.MACHINE),
    "hostname": (Kind.ENVIRONMENT, Scope.MACHINE),
    "git_branch": (Kind.ENVIRONMENT, Scope.SESSION),
    "step": (Kind.COUNTER, Scope.REQUEST),
    "step_number": (Kind.COUNTER, Scope.REQUEST),
    "turn": (Kind.COUNTER, Scope.REQUEST),
    "remaining_steps": (Kind.COUNTER, Scope.REQUEST),
    "tokens_used": (Kind.COUNTER, Scope.REQUEST),
    "main_task": (Kind.REQUEST_INPUT, Scope.REQUEST),
    "brand_analysis": (Kind.REQUEST_INPUT, Scope.REQUEST),
    "numbered_passage": (Kind.RETRIEVED, Scope.REQUEST),
    "agent_working_dir": (Kind.ENVIRONMENT, Scope.MACHINE),
    "previous_action": (Kind.HISTORY, Scope.SESSION),
    "review_context": (Kind.REQUEST_INPUT, Scope.REQUEST),
    "context": (Kind.RETRIEVED, Scope.REQUEST),
    "retrieved_documents": (Kind.RETRIEVED, Scope.REQUEST),
    "documents": (Kind.RETRIEVED, Scope.REQUEST),
    "doc.page_content": (Kind.RETRIEVED, Scope.REQUEST),
    "webpage_content": (Kind.RETRIEVED, Scope.REQUEST),
    "file_content": (Kind.REQUEST_INPUT, Scope.REQUEST),
    "research_findings": (Kind.RETRIEVED, Scope.REQUEST),
    "pr_task": (Kind.REQUEST_INPUT, Scope.REQUEST),
    "pr_response1": (Kind.REQUEST_INPUT, Scope.REQUEST),
    "team.name": (Kind.PER_USER, Scope.TENANT),
    "teams[].workspace_id": (Kind.PER_USER, Scope.TENANT),
    "workspace.problem": (Kind.REQUEST_INPUT, Scope.REQUEST),
    "research_brief": (Kind.REQUEST_INPUT, Scope.REQUEST),
    "response.plan": (Kind.REQUEST_INPUT, Scope.REQUEST),
    "searchResults": (Kind.RETRIEVED, Scope.REQUEST),
    "old_memory_dict": (Kind.RETRIEVED, Scope.REQUEST),
    "memories": (Kind.RETRIEVED, Scope.REQUEST),
    "question": (Kind.REQUEST_INPUT, Scope.REQUEST),
    "question_1": (Kind.REQUEST_INPUT, Scope.REQUEST),
    "state.question": (Kind.REQUEST_INPUT, Scope.REQUEST),
    "user_query": (Kind.REQUEST_INPUT, Scope.REQUEST),
    "the_question": (Kind.REQUEST_INPUT, Scope.REQUEST),
    "task_description": (Kind.REQUEST_INPUT, Scope.REQUEST),
    "history": (Kind.HISTORY, Scope.SESSION),
    "chat_history": (Kind.HISTORY, Scope.SESSION),
    "messages": (Kind.HISTORY, Scope.SESSION),
    "agent_scratchpad": (Kind.HISTORY, Scope.SESSION),
}

UNKNOWN = """
date_format timestamp_format user_prompt system_prompt system_time_limit time_limit max_steps max_step n_turns
num_documents knowledge_cutoff knowledge_cutoff_date release_date birth_date creation_date format_instructions
task_instructions query_template context_window context_length bot_name agent_name tool_name assistant_user_name
max_turn is_current_date has_session_id default_user_name include_history tools tool.name tool.description
examples few_shot_examples persona language role rules guidelines schema output_schema model temperature
instructions response_format total_step_count sessions users steps turns_limit historical_notes contextual
datetimes_enabled user_prompt_template examples[].question model_json_schema.properties.request.default settings.company_name page_size personality_context index main_node_name viewport i x _ 1 description name id
content[].text message.content[].text Memory.system_message api_docs tool_docs no_response max_tasks
options.team[].name
""".split()  # noqa: SIM905


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return Catalog()


@pytest.mark.parametrize(("name", "expected"), KNOWN.items())
def test_a_telling_name(catalog: Catalog, name: str, expected: tuple[Kind, Scope]) -> None:
    found = catalog.name(name)
    assert found is not None
    assert (found.kind, found.scope) == expected
    assert found.confidence is Confidence.LOW


@pytest.mark.parametrize("name", UNKNOWN)
def test_a_name_that_tells_nothing(catalog: Catalog, name: str) -> None:
    assert catalog.name(name) is None


@pytest.mark.parametrize(
    ("name", "chosen"),
    [
        ("claim_description", False),
        ("plan_item.slug", False),
        ("notes", False),
        ("tool_description", True),
        ("description", True),
        ("response_language", True),
        ("settings.notes", True),
        ("persona_2", True),
    ],
)
def test_a_name_of_what_the_author_chose(catalog: Catalog, name: str, chosen: bool) -> None:
    assert catalog.is_chosen(name) is chosen


@pytest.mark.parametrize(
    ("identifier", "expected"),
    [
        ("currentUserName", ("current", "user", "name")),
        ("HTTPServerURL2", ("http", "server", "url", "2")),
        ("CURRENT_DATE", ("current", "date")),
        ("$now", ("now",)),
        ("last-seen", ("last", "seen")),
        ("größe_alt", ("größe", "alt")),
        ("", ()),
    ],
)
def test_words(identifier: str, expected: tuple[str, ...]) -> None:
    assert words(identifier) == expected


def test_declared_names_win_and_the_first_glob_decides() -> None:
    catalog = Catalog(
        names={"user_*": "release", "*_plan": "tenant", "shard": "machine, other", "user_id": "user"}
    )
    constant = catalog.name("user_name")
    assert constant is not None
    assert constant.scope is Scope.RELEASE
    plan = catalog.name("state.customer_plan")
    assert plan is not None
    assert (plan.kind, plan.scope, plan.confidence) == (Kind.PER_USER, Scope.TENANT, Confidence.HIGH)
    shard = catalog.name("shard")
    assert shard is not None
    assert shard.kind is Kind.OTHER
    shadowed = catalog.name("user_id")
    assert shadowed is not None
    assert shadowed.scope is Scope.RELEASE


@pytest.mark.parametrize(
    ("name", "setting"),
    [
        ("tool_descriptions", True),
        ("output_schema", True),
        ("system_prompt", True),
        ("config.name", True),
        ("examples", True),
        ("sample_conversation", True),
        ("project_description", False),
        ("file.content.content", False),
        ("current_action", False),
        ("prompt", False),
        ("data", False),
    ],
)
def test_the_noun_of_a_name_tells_whether_it_is_a_setting(name: str, setting: bool) -> None:
    assert Catalog().is_setting(name) is setting


@pytest.mark.parametrize(
    ("words_before", "kind"),
    [
        ("Current date and time", Kind.CLOCK),
        ("You should know that the current date", Kind.CLOCK),
        ("Open browser tabs right now", None),
        ("Running time", None),
        ("Date", None),
        ("Turn", None),
        ("Today", Kind.CLOCK),
        ("Search results", Kind.RETRIEVED),
        ("The user question", Kind.REQUEST_INPUT),
        ("The following prompt from the user", Kind.REQUEST_INPUT),
        ("Weather", None),
    ],
)
def test_the_words_in_front_of_a_value_are_read_like_a_name(words_before: str, kind: Kind | None) -> None:
    found = Catalog().phrase(words_before)
    assert (found.kind if found else None) is kind


def test_a_label_of_a_setting_is_nobodys_own() -> None:
    catalog = Catalog()
    assert catalog.is_setting_label("Output format")
    assert not catalog.is_setting_label("User instructions")
    assert not catalog.is_setting_label("Page")


@pytest.mark.parametrize(
    ("name", "fixed"),
    [
        ("self.system_prompt", True),
        ("base_instructions", True),
        ("system_prompt_text", True),
        ("agent.instructions", True),
        ("user_instructions", False),
        ("custom_instructions", False),
        ("prompt", False),
        ("instruction_id", False),
    ],
)
def test_some_names_are_those_of_texts_sent_as_they_are(name: str, fixed: bool) -> None:
    assert Catalog().is_fixed(name) is fixed
