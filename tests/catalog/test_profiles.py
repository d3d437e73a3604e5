"""The cache profiles: schema, sources, look-up and a user's own files."""

from __future__ import annotations

import tomllib
from datetime import date
from pathlib import Path

import pytest

from promptlint.catalog import profiles
from promptlint.catalog.locate import rules_root
from promptlint.catalog.profile import Granularity, plain_model
from promptlint.catalog.profiles import (
    describe_source,
    get_profile,
    load_profiles,
    profile_catalog,
    profile_for,
    sources,
)
from promptlint.errors import CatalogError

FOLDER = rules_root() / "profiles"
DATA = sorted(path for path in FOLDER.glob("*.toml") if path.stem not in ("index", "sources"))
PROFILES = load_profiles()


@pytest.mark.parametrize("path", DATA, ids=lambda path: path.stem)
def test_index_names_what_the_file_holds(path: Path) -> None:
    tables = tomllib.loads(path.read_text("utf-8"))
    index = tomllib.loads((FOLDER / "index.toml").read_text("utf-8"))
    assert [table["name"] for table in tables["profile"]] == index["files"][path.stem]
    assert {row["profile"] for row in tables.get("model", [])} <= {t["name"] for t in tables["profile"]}
    assert len(path.read_text("utf-8").splitlines()) <= 500


@pytest.mark.parametrize("profile", PROFILES.values(), ids=PROFILES.keys())
def test_every_field_has_a_dated_source(profile) -> None:
    cited = {profile.source, *profile.provenance.values(), *(row.source for row in profile.models)}
    for citation in cited:
        for one in citation.split("+"):
            code, _, grade = one.partition(":")
            assert code in sources(), f"{profile.name}: {citation}"
            assert sources()[code].seen
            assert grade in "DSTMU"
    assert "seen " in describe_source(profile.source)


@pytest.mark.parametrize("profile", PROFILES.values(), ids=PROFILES.keys())
def test_figures_make_sense(profile) -> None:
    assert profile.granularity is not Granularity.BLOCK or profile.block_tokens
    assert profile.ttl_default in {"", *profile.ttl_seconds}
    assert profile.input_tokens in ("inclusive", "exclusive")
    for multiplier in (profile.read_multiplier, *profile.write_multiplier.values()):
        assert multiplier is None or 0 < multiplier <= 2.5
    for sections in profile.survives.values():
        assert set(sections) <= {*profile.order, "tools", "response_schema", "system", "messages"}
        assert list(sections) == [s for s in profile.order if s in sections] or not profile.hosted
    if profile.max_breakpoints:
        assert profile.marker_field


@pytest.mark.parametrize(
    ("provider", "model", "name", "minimum", "read"),
    [
        ("anthropic", "claude-opus-4-8", "anthropic", 1024, 0.1),
        ("anthropic", "claude-haiku-4-5-20251001", "anthropic", 4096, 0.1),
        ("anthropic", "claude-fable-5-1", "anthropic", 512, 0.025),
        ("", "anthropic/claude-opus-4.7", "anthropic", 2048, 0.1),
        ("openrouter", "anthropic/claude-opus-4.7", "anthropic", 2048, 0.1),
        ("bedrock", "us.anthropic.claude-opus-4-7-v1:0", "anthropic-bedrock", 4096, 0.1),
        ("litellm", "bedrock/us.anthropic.claude-haiku-4-5", "anthropic-bedrock", 4096, 0.1),
        ("aws", "amazon.nova-pro-v1:0", "bedrock-nova", 1024, 0.25),
        ("vertex_ai", "claude-opus-5", "anthropic-vertex", 512, 0.1),
        ("openai", "gpt-4o", "openai-auto", 1024, 0.5),
        ("openai", "gpt-6.1-terra", "openai-breakpoints", 1024, 0.05),
        ("", "openai:gpt-5.6-sol", "openai-breakpoints", 1024, 0.1),
        ("azure", "gpt-4.1", "azure-openai", 1024, 0.25),
        ("google", "gemini-2.5-pro", "gemini-implicit", 2048, 0.1),
        ("deepseek", "deepseek-v4-pro", "deepseek", None, 0.0333),
        ("xai", "grok-4.5-fast", "xai", 1024, 0.15),
        ("vllm", "some-own-model", "vllm", None, None),
        ("openai", "anthropic/claude-opus-4.7", "anthropic", 2048, 0.1),
        ("openai", "", "openai-auto", 1024, 0.1),
        ("", "openrouter/openai/gpt-6-sol", "openai-breakpoints", 1024, 0.1),
    ],
)
def test_profile_for_a_request(
    provider: str, model: str, name: str, minimum: int | None, read: float
) -> None:
    profile = profile_for(provider, model, on=date(2026, 11, 29))
    assert profile is not None
    assert (profile.name, profile.min_tokens, profile.read_multiplier) == (name, minimum, read)


def test_unknown_request_has_no_profile() -> None:
    assert profile_for("", "my-model") is None
    assert profile_for("nobody", "my-model") is None
    assert profile_for("openai", "my-own-qwen") is None  # an OpenAI client pointed at an engine


def test_disagreeing_minimums_are_kept() -> None:
    assert profile_for("anthropic", "claude-opus-4-7").min_tokens_alt == (4096,)
    assert profile_for("anthropic", "claude-sonnet-4-6").min_tokens_alt == (2048,)
    assert profile_for("anthropic", "claude-haiku-4-5").min_tokens_alt == ()
    assert get_profile("openai-auto").min_tokens_alt == (2048,)


def test_dated_rows() -> None:
    def read(day: date) -> float:
        return profile_for("anthropic", "claude-sonnet-5-5", on=day).read_multiplier

    assert (read(date(2026, 10, 7)), read(date(2026, 10, 8))) == (0.1, 0.05)


def test_inheritance_keeps_what_is_not_set() -> None:
    bedrock, direct = get_profile("anthropic-bedrock"), get_profile("anthropic")
    assert bedrock.marker_field == "cachePoint"
    assert bedrock.lookback == direct.lookback == 20
    assert (direct.lookback_collapses_tool_runs, bedrock.lookback_collapses_tool_runs) == (True, False)
    assert bedrock.source_of("lookback") == "A-PAGE6:D"
    assert bedrock.source_of("marker_field") == "BR:D"


def test_one_profile_parses_no_other_file(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    real = tomllib.load
    profile_catalog.cache_clear()
    profiles._parse.cache_clear()
    monkeypatch.setattr(
        profiles.tomllib, "load", lambda file: (opened.append(Path(file.name).stem), real(file))[1]
    )
    assert get_profile("vllm").block_tokens == 16
    assert opened == ["vllm"]


@pytest.mark.parametrize(
    ("written", "plain"),
    [
        ("anthropic/claude-opus-4.8", "claude-opus-4-8"),
        ("us.anthropic.claude-opus-4-7-v1:0", "claude-opus-4-7-v1:0"),
        ("amazon.nova-pro-v1:0", "amazon.nova-pro-v1:0"),
        ("openai:gpt-4o", "gpt-4o"),
        ("gpt-4o:extended", "gpt-4o:extended"),
        ("GPT-5", "gpt-5"),
    ],
)
def test_plain_model(written: str, plain: str) -> None:
    assert plain_model(written) == plain


class TestOwnFiles:
    def write(self, folder: Path, text: str) -> tuple[Path, ...]:
        path = folder / "own.toml"
        path.write_text(text, "utf-8")
        return (path,)

    def test_override_and_add(self, tmp_path: Path) -> None:
        extra = self.write(
            tmp_path,
            """
            [[profile]]
            name = "vllm"
            block_tokens = 32
            [[profile]]
            name = "house"
            provider = "engine"
            title = "Our gateway"
            source = "own"
            inherits = "sglang"
            block_tokens = 64
            [[model]]
            profile = "anthropic"
            match = ["claude-house*"]
            min_tokens = 300
            source = "own"
            [[select]]
            provider = "house"
            match = ["*"]
            profile = "house"
            """,
        )
        found = load_profiles(extra)
        assert found["vllm"].block_tokens == 32
        assert found["vllm"].title == get_profile("vllm").title
        assert found["house"].block_tokens == 64
        assert found["house"].last_token == "recomputed"
        assert profile_for("anthropic", "claude-house-1", extra).min_tokens == 300
        assert profile_for("house", "x", extra).name == "house"
        assert get_profile("vllm").block_tokens == 16

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ("[[profile]]\nname='x'\nprovider='p'\ntitle='t'\nsource='s'", "has no `granularity`"),
            ("[[profile]]\nname='vllm'\nblock_tokens=-1", "`block_tokens` of 'vllm'"),
            ("[[profile]]\nname='vllm'\nblock_token=8", "unknown field `block_token`"),
            ("[[profile]]\nname='vllm'\ngranularity='blocks'", "`granularity` of 'vllm'"),
            (
                "[[profile]]\nname='a'\ninherits='b'\n[[profile]]\nname='b'\ninherits='a'",
                "inherits from itself",
            ),
            ("[[model]]\nprofile='vllm'\nmatch=['*']", "has no `source`"),
            ("[[model]]\nprofile='vllm'\nmatch=['*']\nsource='s'\nmin=3", "unknown key `min`"),
            ("[profile]\nname='vllm'", "not a list of tables"),
            ("[[profile", "Expected"),
        ],
    )
    def test_one_clear_error(self, tmp_path: Path, text: str, said: str) -> None:
        with pytest.raises(CatalogError, match=r"own\.toml|inherits") as caught:
            load_profiles(self.write(tmp_path, text))
        assert said in str(caught.value)
        assert caught.value.next_step

    def test_unknown_profile_names_the_nearest(self) -> None:
        with pytest.raises(CatalogError) as caught:
            get_profile("vlm")
        assert "vllm" in caught.value.next_step
