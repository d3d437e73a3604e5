"""The breakpoint model: each provider's rules as a table, worked out from its documents by hand."""

from __future__ import annotations

from datetime import datetime
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from promptlint.cache.hosted import hosted_cache
from promptlint.cache.request import Block, Request
from promptlint.catalog.profile import Granularity
from promptlint.catalog.profiles import get_profile, load_profiles, profile_for

ANTHROPIC = get_profile("anthropic")
EXACT = [name for name, p in load_profiles().items() if p.granularity is Granularity.EXACT]


def block(key: str, tokens: int, mark: str | None = None, **fields) -> Block:
    return Block(key, tokens, mark=mark, **fields)


def system(key: str, tokens: int, mark: str | None = None) -> Block:
    return block(key, tokens, mark, section="system", role="system")


def request(*blocks: Block, **fields) -> Request:
    return Request(blocks, **fields)


def send(profile, *requests: Request) -> list[tuple[int, int, int]]:
    """Return read, written and plain tokens of each request on a fresh cache."""
    cache = hosted_cache(profile)
    outcomes = [cache.send(one) for one in requests]
    assert not any(outcome.rejected for outcome in outcomes)
    return [(o.read, o.write, o.plain) for o in outcomes]


class TestMarks:
    def test_a_mark_writes_its_whole_prefix_and_the_rest_is_plain(self) -> None:
        first = request(system("s", 2000, ""), block("q1", 50))
        second = request(system("s", 2000, ""), block("q2", 60), at=10)
        assert send(ANTHROPIC, first, second) == [(0, 2000, 50), (2000, 0, 60)]

    def test_without_a_mark_nothing_is_cached(self) -> None:
        one = request(system("s", 5000), block("q", 50))
        assert send(ANTHROPIC, one, one) == [(0, 0, 5050)] * 2

    def test_sections_stand_in_the_providers_order(self) -> None:
        tools = block("t", 1500, "", section="tools", kind="tool")
        first = request(block("q1", 9), system("s", 500), tools)
        second = request(block("q2", 9), system("other", 500), tools, at=1)
        assert send(ANTHROPIC, first, second) == [(0, 1500, 509), (1500, 0, 509)]

    def test_mark_behind_changing_text_writes_anew_each_time(self) -> None:
        made = [
            request(system(f"time {n}", 20), system("s", 2000, ""), block("q", 5), at=n) for n in range(3)
        ]
        assert send(ANTHROPIC, *made) == [(0, 2020, 5)] * 3

    def test_rolling_mark_reads_what_the_request_before_wrote(self) -> None:
        turns = [block(f"m{n}", 300, message=n) for n in range(4)]
        made = [
            request(system("s", 2000, ""), *turns[:n], block(f"m{n}", 300, "", message=n), at=n)
            for n in range(4)
        ]
        assert send(ANTHROPIC, *made) == [(0, 2300, 0), (2300, 300, 0), (2600, 300, 0), (2900, 300, 0)]

    def test_automatic_mark_stands_on_the_last_block_that_can_carry_one(self) -> None:
        blocks = (system("s", 2000), block("a", 100), block("thoughts", 70, kind="thinking"))
        assert send(ANTHROPIC, request(*blocks, automatic="")) == [(0, 2100, 70)]

    def test_automatic_mark_needs_a_slot(self) -> None:
        four = [system(f"s{n}", 1000, "") for n in range(4)]
        outcome = hosted_cache(ANTHROPIC).send(request(*four, block("q", 5), automatic=""))
        assert "no slot" in outcome.rejected

    def test_automatic_mark_on_a_block_with_another_lifetime(self) -> None:
        outcome = hosted_cache(ANTHROPIC).send(request(system("s", 2000, "1h"), automatic="5m"))
        assert "another lifetime" in outcome.rejected

    @pytest.mark.parametrize("kind", ["thinking", "redacted_thinking", "citation"])
    def test_block_that_cannot_carry_a_mark(self, kind: str) -> None:
        outcome = hosted_cache(ANTHROPIC).send(request(system("s", 2000), block("x", 9, "", kind=kind)))
        assert kind in outcome.rejected

    def test_more_than_four_marks(self) -> None:
        five = [system(f"s{n}", 1000, "") for n in range(5)]
        assert "takes 4" in hosted_cache(ANTHROPIC).send(request(*five)).rejected

    def test_unknown_lifetime(self) -> None:
        assert "`2h`" in hosted_cache(ANTHROPIC).send(request(system("s", 2000, "2h"))).rejected


class TestMinimum:
    @pytest.mark.parametrize(
        ("model", "minimum"),
        [
            ("claude-opus-4-8", 1024),
            ("claude-opus-4-7", 2048),
            ("claude-haiku-4-5", 4096),
            ("claude-fable-5", 512),
        ],
    )
    def test_prefix_counts_whole_up_to_the_mark(self, model: str, minimum: int) -> None:
        profile = profile_for("anthropic", model)
        below = request(system("s", minimum - 11), system("short", 10, ""))
        enough = request(system("s", minimum - 10), system("short", 10, ""))
        assert send(profile, below, below) == [(0, 0, minimum - 1)] * 2
        assert send(profile, enough, enough) == [(0, minimum, 0), (minimum, 0, 0)]

    def test_is_named_as_the_reason(self) -> None:
        outcome = hosted_cache(ANTHROPIC).send(request(system("s", 500, "")))
        assert outcome.missed == {"below-minimum": 500}


class TestLifetime:
    ONE = (system("s", 2000, ""), block("q", 5))

    def test_runs_from_the_start_of_the_last_use(self) -> None:
        at = (0, 299, 598, 899)
        got = send(ANTHROPIC, *(request(*self.ONE, at=t) for t in at))
        assert [read for read, _, _ in got] == [0, 2000, 2000, 0]

    def test_expiry_is_named(self) -> None:
        cache = hosted_cache(ANTHROPIC)
        cache.send(request(*self.ONE))
        assert cache.send(request(*self.ONE, at=328)).missed == {"expired": 2000}

    def test_one_hour(self) -> None:
        made = [request(system("s", 2000, "1h"), at=t) for t in (0, 3600, 7201)]
        assert send(ANTHROPIC, *made) == [(0, 2000, 0), (2000, 0, 0), (0, 2000, 0)]

    def test_mixed_lifetimes_are_billed_by_stretch(self) -> None:
        made = [
            request(system("s", 2000, "1h"), block("h", 1000, ""), block("q", 5), at=0),
            request(system("s", 2000, "1h"), block("h", 1000), block("i", 400, ""), block("q", 5), at=60),
            request(system("s", 2000, "1h"), block("h", 1000), block("i", 400, ""), block("q", 5), at=900),
        ]
        cache = hosted_cache(ANTHROPIC)
        got = [cache.send(one) for one in made]
        assert [(o.read, dict(o.written)) for o in got] == [
            (0, {"1h": 2000, "5m": 1000}),  # A = 0, B = 2000, C = 3000
            (3000, {"5m": 400}),
            (2000, {"5m": 1400}),  # the five minutes are over, the hour is not
        ]

    def test_longer_must_stand_before_shorter(self) -> None:
        outcome = hosted_cache(ANTHROPIC).send(request(system("s", 2000, "5m"), block("h", 900, "1h")))
        assert "longer lifetime" in outcome.rejected

    def test_readable_only_after_the_first_byte(self) -> None:
        cache = hosted_cache(ANTHROPIC)
        cache.send(request(*self.ONE, at=0, first_byte=2.5))
        early = cache.send(request(*self.ONE, at=1, first_byte=3.5))
        late = cache.send(request(*self.ONE, at=4))
        assert (early.read, early.missed) == (0, {"not-readable": 2000})
        assert late.read == 2000


class TestLookback:
    def grow(self, added: int, kind: str, profile) -> int:
        """Return what the second request reads when one step adds this many blocks."""
        new = [block(f"n{n}", 10, kind=kind, message=1) for n in range(added)]
        first = request(system("s", 2000), block("q", 10, ""))
        second = request(system("s", 2000), block("q", 10), *new[:-1], block("last", 10, "", kind=kind), at=1)
        return send(profile, first, second)[1][0]

    def test_twenty_positions_with_its_own(self) -> None:
        assert self.grow(19, "text", ANTHROPIC) == 2010
        assert self.grow(20, "text", ANTHROPIC) == 0

    def test_a_run_of_tool_results_is_one_position(self) -> None:
        assert self.grow(40, "tool_result", ANTHROPIC) == 2010
        assert self.grow(40, "tool_result", get_profile("anthropic-bedrock")) == 0

    def test_is_named_as_the_reason(self) -> None:
        cache = hosted_cache(ANTHROPIC)
        cache.send(request(system("s", 2000, ""), block("q", 10)))
        far = [block(f"n{n}", 10) for n in range(30)]
        outcome = cache.send(request(system("s", 2000), *far, block("x", 10, ""), at=1))
        assert outcome.missed == {"lookback": 2000}

    def test_a_moved_mark_leaves_the_earlier_write_unread(self) -> None:
        cache = hosted_cache(ANTHROPIC)
        cache.send(request(system("s", 2000, ""), system("t", 2000), block("q", 5)))
        outcome = cache.send(request(system("s", 2000), system("t", 2000), block("q", 5), at=1))
        assert (outcome.read, outcome.missed) == (0, {"no-mark": 2000})


class TestParameters:
    @pytest.mark.parametrize(
        ("name", "read"),
        [
            ("model", 0),
            ("speed", 1200),
            ("tool_choice", 3200),
            ("thinking", 3200),
            ("images", 3200),
            ("temperature", 4200),
        ],
    )
    def test_a_change_kills_the_sections_it_does_not_spare(self, name: str, read: int) -> None:
        blocks = (
            block("t", 1200, "", section="tools", kind="tool"),
            system("s", 2000, ""),
            block("m", 1000, ""),
        )
        made = [request(*blocks, parameters={name: value}, at=at) for at, value in enumerate("ab")]
        assert send(ANTHROPIC, *made)[1][0] == read

    def test_namespaces_do_not_share(self) -> None:
        made = [request(system("s", 2000, ""), namespace=n, at=at) for at, n in enumerate((b"a", b"b", b"a"))]
        assert [read for read, _, _ in send(ANTHROPIC, *made)] == [0, 0, 2000]


class TestOpenAI:
    NEW = get_profile("openai-breakpoints")
    OLD = get_profile("openai-auto")

    def test_implicit_mark_at_the_latest_message_is_found_by_the_next_turn(self) -> None:
        turns = [block(f"m{n}", 400, message=n, role="user" if n % 2 == 0 else "assistant") for n in range(5)]
        made = [request(system("s", 1000), *turns[: n + 1], at=n) for n in (0, 2, 4)]
        assert send(self.NEW, *made) == [(0, 1400, 0), (1400, 800, 0), (2200, 800, 0)]

    def test_explicit_mode_without_marks_caches_nothing(self) -> None:
        one = request(system("s", 3000), block("q", 5, role="user"), mode="explicit")
        assert send(self.NEW, one, one) == [(0, 0, 3005)] * 2

    def test_latest_marks_write(self) -> None:
        six = [block(f"m{n}", 1000, "", message=n, role="user") for n in range(6)]
        outcome = hosted_cache(self.NEW).send(request(*six, mode="explicit"))
        assert [m.result for m in outcome.marks] == ["dropped", "dropped", *["written"] * 4]
        outcome = hosted_cache(self.NEW).send(request(*six, block("q", 5, role="user", message=9)))
        assert [m.result for m in outcome.marks] == ["dropped"] * 3 + ["written"] * 4
        assert outcome.marks[-1].automatic

    def test_read_window_of_eighty_marks(self) -> None:
        def long(n: int) -> Request:
            tail = [block(f"m{k}", 10, "", message=k + 1, role="user") for k in range(n)]
            return request(system("s", 2000, ""), *tail, mode="explicit", at=1)

        first = request(system("s", 2000, ""), mode="explicit")
        assert send(self.NEW, first, long(79))[1][0] == 2000
        assert send(self.NEW, first, long(80))[1][0] == 0

    def test_lifetimes_and_their_price(self) -> None:
        outcome = hosted_cache(self.NEW).send(request(system("s", 2000, "12h"), mode="explicit"))
        assert outcome.written == {"12h": 2000}
        assert outcome.cost(self.NEW) == 5000

    def test_tools_cannot_carry_a_mark(self) -> None:
        tool = block("t", 2000, "", section="tools", kind="tool")
        assert "cannot carry" in hosted_cache(self.NEW).send(request(tool)).rejected

    @pytest.mark.parametrize(
        ("shared", "read"), [(1023, 0), (1024, 1024), (1151, 1024), (1152, 1152), (2000, 1920)]
    )
    def test_before_56_steps_of_128_above_1024(self, shared: int, read: int) -> None:
        made = [request(system("s", shared), block(f"q{n}", 600), at=n) for n in range(2)]
        assert send(self.OLD, *made)[1] == (read, 0, shared + 600 - read)

    def test_prompts_under_1024_are_not_kept(self) -> None:
        one = request(system("s", 1023))
        assert hosted_cache(self.OLD).send(one).missed == {"below-minimum": 0}

    def test_a_range_where_the_lifetime_is_no_promise(self) -> None:
        def read(cautious: bool) -> int:
            cache = hosted_cache(self.OLD, cautious)
            cache.send(request(system("s", 2048)))
            return cache.send(request(system("s", 2048), at=7200)).read

        assert (read(cautious=True), read(cautious=False)) == (0, 2048)

    def test_token_keys_find_a_hit_inside_a_block(self) -> None:
        keys = [bytes([n]) for n in range(20)]
        cache = hosted_cache(self.OLD)
        cache.send(request(system("a", 2600), keys=keys))
        outcome = cache.send(request(system("b", 2600), keys=[*keys[:10], b"x", b"y"], at=1))
        assert outcome.read == 1280


class TestOtherProviders:
    def test_gemini_object_is_read_whole(self) -> None:
        cache = hosted_cache(get_profile("gemini-explicit"))
        made = cache.create("c1", (system("doc", 5000),), at=0)
        assert made.written == {"default": 5000}
        assert cache.send(request(block("q", 40), cached_object="c1", at=100)).read == 5000
        assert (
            "`systemInstruction`"
            in cache.send(request(system("s", 5), block("q", 4), cached_object="c1", at=100)).rejected
        )
        assert "expired" in cache.send(request(block("q", 40), cached_object="c1", at=3601)).rejected
        assert cache.storage_token_hours("c1", until=1800) == 2500
        assert "minimum" in cache.create("c2", (system("doc", 4095),), at=0).rejected

    def test_deepseek_reads_whole_units(self) -> None:
        deepseek = get_profile("deepseek")
        first = request(
            block("s", 900, message=0), block("q1", 50, message=1), output=(block("a1", 70, message=2),)
        )
        turn = request(
            block("s", 900), block("q1", 50, message=1), block("a1", 70, message=2), block("q2", 9), at=1
        )
        other = [request(block("s", 900), block(f"x{n}", 50, message=1), at=n + 2) for n in range(2)]
        got = send(deepseek, first, turn, *other)
        assert [read for read, _, _ in got] == [0, 1020, 0, 900]  # the shared part hits from the third on

    def test_mistral_needs_a_key(self) -> None:
        mistral = get_profile("mistral")
        with_key = {"prompt_cache_key": "k"}
        made = [request(block("s", 900), at=n, parameters=with_key if n else {}) for n in range(3)]
        assert [read for read, _, _ in send(mistral, *made)] == [0, 0, 900]

    def test_qwen_is_readable_when_the_answer_ended(self) -> None:
        cache = hosted_cache(get_profile("qwen-explicit"))
        one = (block("s", 2000, ""),)
        cache.send(request(*one, at=0, first_byte=1, end=9))
        assert cache.send(request(*one, at=5)).missed == {"not-readable": 2000}
        assert cache.send(request(*one, at=30)).read == 2000

    def test_nova_takes_no_mark_on_tools(self) -> None:
        tool = block("t", 2000, "", section="tools", kind="tool")
        assert "cannot carry" in hosted_cache(get_profile("bedrock-nova")).send(request(tool)).rejected

    @pytest.mark.parametrize(
        "name", ["gemini-implicit", "groq", "fireworks", "together", "zai", "qwen-implicit"]
    )
    def test_unknown_steps_give_an_upper_bound(self, name: str) -> None:
        cache = hosted_cache(get_profile(name))
        cache.send(request(block("s", 9000), block("q1", 50)))
        outcome = cache.send(request(block("s", 9000), block("q2", 50), at=1))
        assert (outcome.read, outcome.exact) == (9000, False)

    @pytest.mark.parametrize(("name", "step"), [("xai", 128), ("cerebras", 128), ("kimi-code", 256)])
    def test_steps(self, name: str, step: int) -> None:
        cache = hosted_cache(get_profile(name))
        cache.send(request(block("s", 2000), block("q1", 500)))
        assert cache.send(request(block("s", 2000), block("q2", 500), at=1)).read == 2000 // step * step

    def test_gateways_have_no_cache_of_their_own(self) -> None:
        with pytest.raises(ValueError, match="the vendor's"):
            hosted_cache(get_profile("openrouter"))


@pytest.mark.parametrize(
    "name", [n for n, p in load_profiles().items() if p.granularity is not Granularity.UPSTREAM]
)
def test_every_profile_runs_and_adds_up(name: str) -> None:
    profile = get_profile(name)
    cache = hosted_cache(profile)
    for at in range(3):
        outcome = cache.send(
            request(block("s", 9000, "" if name in EXACT else None), block(f"q{at}", 5), at=at)
        )
        assert outcome.read + outcome.write + outcome.plain == outcome.total == 9005
        assert outcome.input_count(profile) in (outcome.total, outcome.plain)


# Usage of one public agent transcript (uw-syfi/TraceLab, example_sessions, Apache-2.0): seconds, input, read, write.
TRANSCRIPT = [
    ("05:40:29.420", 2892, 27217, 2163),
    ("05:41:03.669", 2, 29380, 6358),
    ("05:41:25.747", 2, 35738, 2852),
    ("05:42:08.163", 2, 38590, 2539),
    ("05:42:11.544", 2, 41129, 458),
    ("05:42:46.334", 2, 41587, 1287),
    ("05:43:04.677", 131, 42874, 1896),
    ("05:43:13.772", 2, 44770, 507),
    ("05:43:30.819", 2, 45277, 2229),
    ("05:43:34.749", 2, 47506, 797),
]


def test_usage_of_a_real_transcript() -> None:
    """next.read = previous.read + previous.write, and the model gives every count of the log."""
    cache = hosted_cache(profile_for("anthropic", "claude-opus-4-8"))
    start = datetime.fromisoformat("2026-06-01 05:40:00").timestamp()
    cache.send(request(system("system and tools", 27217, ""), at=start))
    history: list[Block] = []
    for n, (clock, plain, read, write) in enumerate(TRANSCRIPT):
        at = datetime.fromisoformat(f"2026-06-01 {clock}").timestamp()
        history.append(block(f"turn {n}", write, message=n))
        marked = [*history[:-1], block(f"turn {n}", write, "", message=n)]
        tail = block(f"tail {n}", plain, message=n + 1)
        outcome = cache.send(request(system("system and tools", 27217, ""), *marked, tail, at=at))
        assert (outcome.read, dict(outcome.written), outcome.input_count(cache.profile)) == (
            read,
            {"5m": write},
            plain,
        )
    for before, after in pairwise(TRANSCRIPT):
        assert after[2] == before[2] + before[3]


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # the machine may be busy
@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(600, 3000), st.booleans()), min_size=1, max_size=6),
    st.lists(st.integers(1, 400), min_size=1, max_size=8),
)
def test_reads_never_pass_the_common_prefix(shape: list[tuple[int, int, bool]], gaps: list[int]) -> None:
    """Whatever the marks, a read is at most the longest prefix that some earlier request had."""
    cache, at, seen = hosted_cache(ANTHROPIC), 0, list[list[tuple[str, int]]]()
    for n, gap in enumerate(gaps):
        at += gap
        made = [(f"{key}" if n % (k + 2) else f"{key}-{n}", size) for k, (key, size, _) in enumerate(shape)]
        blocks = [
            system(key, size, "" if mark and k < 4 else None)
            for k, ((key, size), (_, _, mark)) in enumerate(zip(made, shape, strict=True))
        ]
        outcome = cache.send(request(*blocks, at=at))
        common = 0
        for earlier in seen:
            length = 0
            for mine, other in zip(made, earlier, strict=False):
                if mine != other:
                    break
                length += mine[1]
            common = max(common, length)
        assert 0 <= outcome.read <= common
        assert outcome.read + outcome.write <= outcome.total
        seen.append(made)
