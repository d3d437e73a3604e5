"""Every documented rule of every profile, obeyed by the cache that follows it: one table, all providers."""

from __future__ import annotations

import pytest

from promptlint.cache.hosted import BreakpointCache, hosted_cache
from promptlint.cache.request import Block, Outcome, Request
from promptlint.catalog.profile import Granularity, Profile, TtlKind
from promptlint.catalog.profiles import load_profiles

PROFILES = {name: p for name, p in load_profiles().items() if p.granularity is not Granularity.UPSTREAM}
EXACT = {name: p for name, p in PROFILES.items() if p.granularity is Granularity.EXACT}
AUTOMATIC = {
    name: p for name, p in PROFILES.items() if p.granularity not in (Granularity.EXACT, Granularity.OBJECT)
}


def rows(profiles: dict[str, Profile], has: str = "") -> list[object]:
    chosen = [p for p in profiles.values() if not has or getattr(p, has) not in (None, (), {}, "")]
    return [pytest.param(p, id=p.name) for p in chosen]


def block(key: str, tokens: int, mark: str | None = None, **more: object) -> Block:
    return Block(key, tokens, mark=mark, **{"section": "system", "role": "system", **more})  # type: ignore[arg-type]


def keyed(profile: Profile) -> dict[str, str]:
    return {key.rpartition(":")[2]: "k" for key in profile.required_keys}


def send(cache: object, profile: Profile, *blocks: Block, at: float = 0.0, **more: object) -> Outcome:
    mode = "explicit" if profile.overflow == "keep_latest" else ""
    return cache.send(Request(blocks, at=at, mode=mode, parameters=keyed(profile), **more))  # type: ignore[attr-defined]


def big(profile: Profile) -> int:
    return max(profile.min_tokens or 0, 2048)


@pytest.mark.parametrize("profile", rows(EXACT, "max_breakpoints"))
def test_number_of_marks(profile: Profile) -> None:
    limit = profile.max_breakpoints or 0
    for count in (limit, limit + 1):
        made = [block(f"{n}", big(profile), "", message=n) for n in range(count)]
        outcome = send(hosted_cache(profile), profile, *made)
        if count == limit:
            assert [mark.result for mark in outcome.marks] == ["written"] * limit
        elif profile.overflow == "keep_latest":
            assert [mark.result for mark in outcome.marks] == ["dropped"] + ["written"] * limit
        else:
            assert str(limit) in outcome.rejected


@pytest.mark.parametrize("profile", rows(EXACT, "min_tokens"))
def test_least_length_of_a_marked_prefix(profile: Profile) -> None:
    least = profile.min_tokens or 0
    for tokens in (least - 1, least):
        cache = hosted_cache(profile)
        first = send(cache, profile, block("a", tokens, ""))
        again = send(cache, profile, block("a", tokens, ""), at=1)
        assert (first.write, again.read) == ((0, 0) if tokens < least else (least, least))


@pytest.mark.parametrize("profile", rows(EXACT, "ttl_seconds"))
def test_each_lifetime_and_its_renewal(profile: Profile) -> None:
    for ttl, seconds in profile.ttl_seconds.items():
        cache = hosted_cache(profile)
        made = block("a", big(profile), ttl)
        assert dict(send(cache, profile, made).written) == {ttl: big(profile)}
        assert send(cache, profile, made, at=seconds).read == big(profile)
        assert bool(send(cache, profile, made, at=2 * seconds).read) == profile.ttl_refresh_on_hit
        gone = send(cache, profile, made, at=4 * seconds + 1)
        assert (gone.read, gone.missed) == (0, {"expired": big(profile)})


@pytest.mark.parametrize("profile", rows(EXACT, "write_multiplier"))
def test_price_of_writes_and_reads(profile: Profile) -> None:
    size, cache = big(profile), hosted_cache(profile)
    written = send(cache, profile, block("a", size, ""), block("q", 10, section="messages"))
    read = send(cache, profile, block("a", size, ""), block("q", 10, section="messages"), at=1)
    assert written.cost(profile) == pytest.approx(size * profile.write_price() + 10)
    assert read.cost(profile) == pytest.approx(size * (profile.read_multiplier or 1) + 10)


@pytest.mark.parametrize("profile", rows(EXACT, "lookback"))
def test_reach_of_a_mark(profile: Profile) -> None:
    lookback = profile.lookback or 0
    if profile.lookback_unit == "block":
        # With its own place the mark sees `lookback` blocks: the write may lie that many less one back.
        reach = lookback - 1 if profile.lookback_includes_self else lookback
        tail = [block(f"t{n}", 1, section="messages") for n in range(reach + 1)]
    else:
        reach = lookback - 1
        tail = [block(f"t{n}", 1, "", section="messages", role="user", message=n) for n in range(reach + 1)]
    for more in (reach, reach + 1):
        cache = hosted_cache(profile)
        send(cache, profile, block("a", big(profile), ""))
        start = block("a", big(profile), None if profile.lookback_unit == "block" else "")
        step = [*tail[: more - 1], block("end", 1, "", section="messages", role="user", message=999)]
        assert bool(send(cache, profile, start, *step, at=1).read) == (more == reach)


@pytest.mark.parametrize("profile", rows(EXACT, "marker_forbidden"))
def test_blocks_that_cannot_carry_a_mark(profile: Profile) -> None:
    for what in profile.marker_forbidden:
        if what == "tools":
            bad = block("t", 2048, "", section="tools", kind="tool")
        elif what == "empty_text":
            bad = block("", 0, "", kind="text")
        else:
            bad = block("x", 9, "", kind=what, section="messages")
        outcome = send(hosted_cache(profile), profile, block("a", big(profile)), bad)
        assert "cannot carry" in outcome.rejected, what


@pytest.mark.parametrize("profile", rows(EXACT, "ttl_order"))
def test_order_of_lifetimes(profile: Profile) -> None:
    short, long = sorted(profile.ttl_seconds, key=lambda ttl: profile.ttl_seconds[ttl])[
        :: len(profile.ttl_seconds) - 1
    ]
    size = big(profile)
    assert not send(hosted_cache(profile), profile, block("a", size, long), block("b", size, short)).rejected
    assert send(hosted_cache(profile), profile, block("a", size, short), block("b", size, long)).rejected


@pytest.mark.parametrize("profile", rows({n: p for n, p in PROFILES.items() if p.survives}))
def test_what_survives_a_change(profile: Profile) -> None:
    sections = [s for s in profile.order if s != "template"]
    if not sections or profile.granularity is not Granularity.EXACT:
        sections = ["messages"]
    for parameter, survivors in profile.survives.items():
        if parameter in ("tools", "tools_order", "appended_additional_tools"):
            continue  # a change of the blocks themselves
        cache = hosted_cache(profile)
        blocks = [
            block(s, big(profile), None, section=s, kind="text", role="user", message=n)
            for n, s in enumerate(sections)
        ]
        exact = isinstance(cache, BreakpointCache)
        if exact:
            blocks[-1] = block(sections[-1], big(profile), "", section=sections[-1], role="user", message=99)
            early = [b for b in blocks[:-1] if b.section not in profile.marker_forbidden]
            blocks = [
                Block(
                    b.key,
                    b.tokens,
                    b.section,
                    b.kind,
                    "" if b in early or b is blocks[-1] else None,
                    b.message,
                    b.role,
                )
                for b in blocks
            ]
        for at, value in enumerate("ab"):
            made = Request(tuple(blocks), at=at, mode="explicit" if profile.overflow == "keep_latest" else "",
                           parameters={**keyed(profile), parameter: value})  # fmt: skip
            outcome = cache.send(made)
        kept = sum(1 for s in sections if s in survivors)
        if (
            exact
            and any(s in survivors and s in profile.marker_forbidden for s in sections)
            and kept < len(sections)
        ):
            continue  # a section that survives but takes no mark cannot be read alone
        expected = kept * big(profile)
        step = profile.block_tokens or 1
        assert outcome.read == (expected if exact else expected // step * step), parameter


@pytest.mark.parametrize("profile", rows(AUTOMATIC))
def test_automatic_least_length_and_step(profile: Profile) -> None:
    least, step = profile.min_tokens or 0, profile.block_tokens or 1
    size = max(least, step, 64) + 7
    cache = hosted_cache(profile)
    for at in range(3):  # the third request, for caches that wait for a prefix to come twice
        outcome = send(cache, profile, block("a", size), block(f"q{at}", size, section="messages"), at=at)
    assert outcome.read == (size // step * step if profile.granularity is Granularity.BLOCK else size)
    if least > 1:
        cache = hosted_cache(profile)
        for at in range(3):
            outcome = send(cache, profile, block("a", least - 1), at=at)
        assert outcome.read == 0
        assert "below-minimum" in outcome.missed


@pytest.mark.parametrize("profile", rows(AUTOMATIC, "required_keys"))
def test_keys_that_must_be_there(profile: Profile) -> None:
    cache = hosted_cache(profile)
    for at in range(2):
        outcome = cache.send(Request((block("a", 4096),), at=at))
    assert outcome.missed == {"no-key": 0}


@pytest.mark.parametrize("profile", rows(AUTOMATIC, "ttl_seconds"))
def test_automatic_lifetimes_give_a_range(profile: Profile) -> None:
    low = profile.lifetime() or 0.0
    high = profile.ttl_max_seconds.get(profile.ttl_default)
    size = max(profile.min_tokens or 0, 4096)

    def read(after: float, cautious: bool) -> int:
        cache = hosted_cache(profile, cautious)
        send(cache, profile, block("a", size), block("q", 1))
        return send(cache, profile, block("a", size), block("r", 1), at=after).read

    assert read(low, cautious=True) > 0
    assert read(low + 1, cautious=True) == 0
    if high and profile.ttl_kind is not TtlKind.MINIMUM:
        assert read(high, cautious=False) > 0
        assert read(high + 1, cautious=False) == 0


@pytest.mark.parametrize("profile", rows({n: p for n, p in PROFILES.items() if p.recomputes_last_token}))
def test_engines_compute_the_last_token_with_its_block(profile: Profile) -> None:
    step = profile.block_tokens or 1
    cache = hosted_cache(profile)
    for at in range(2):
        outcome = send(cache, profile, block("a", 8 * step), at=at)
    assert outcome.read == 8 * step - step


@pytest.mark.parametrize("profile", rows(PROFILES))
def test_input_count_of_the_api(profile: Profile) -> None:
    outcome = Outcome(100, read=60, written={"": 30})
    assert outcome.input_count(profile) == (100 if profile.input_tokens == "inclusive" else 10)
