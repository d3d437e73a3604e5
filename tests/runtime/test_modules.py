"""Reuse of fixed text at any place."""

from __future__ import annotations

from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")

from promptlint.errors import UsageError
from promptlint_runtime import weights
from promptlint_runtime.adapters.llama import Llama
from promptlint_runtime.local import Local, Model
from promptlint_runtime.modules import Modules, Part, parts_of
from promptlint_runtime.prompts import Piece, Prompt
from promptlint_runtime.replay import Options
from promptlint_runtime.shapes import named

pytestmark = pytest.mark.torch

CPU = torch.device("cpu")
A, B = tuple(range(20)), tuple(range(100, 130))
PROMPT = (Part((7, 8), False), Part(A, True), Part((9, 9, 9), False), Part(B, True), Part((5,), False))


def model(layers: int) -> Llama:
    shape = replace(named("tiny"), layers=layers)
    return Llama(shape, weights.random(shape, 0, torch.float32, CPU), torch.float32, CPU)


def test_with_one_layer_reuse_is_exact_at_any_place() -> None:
    # Keys and values of the first layer depend on token and position alone: only the turning is tested.
    modules = Modules(model(1), 80)
    modules.compute((Part(B, True), Part(A, True), Part((1,), False)))
    logits, reused = modules.compute(PROMPT)
    assert reused == 50
    torch.testing.assert_close(logits, modules.exact(PROMPT), atol=1e-5, rtol=0)


def test_a_module_in_front_is_exact_and_others_nearly() -> None:
    modules = Modules(model(2), 80)
    front = (Part(A, True), Part((9, 9), False))
    first, reused = modules.compute(front)
    assert reused == 0
    again, reused = modules.compute(front)
    assert reused == 20
    for logits in (first, again):
        torch.testing.assert_close(logits, modules.exact(front), atol=1e-5, rtol=0)
    logits, reused = modules.compute(PROMPT)
    assert reused == 20
    difference = (logits - modules.exact(PROMPT)).abs().max().item()
    assert 1e-5 < difference < 1.0
    # 2 layers, 2 heads of 16 numbers, keys and values, 4 bytes
    assert modules.nbytes == (20 + 30) * 2 * 2 * 2 * 16 * 4


class Letters:
    def part(self, text: str, *, first: bool) -> tuple[int, ...]:
        return ((0,) if first else ()) + tuple(map(ord, text))

    def __call__(self, prompt: Prompt) -> None:
        raise AssertionError


def test_prompts_are_cut_at_the_borders_of_fixed_text() -> None:
    pieces = (
        Piece("Rules of the house.\n", "t", 1, fixed=True),
        Piece("More rules.", "t", 2, fixed=True),
        Piece("Ann", "t", 3),
        Piece("short", "t", 3, fixed=True),
        Piece("The end of it", "t", 4, fixed=True),
    )
    parts = parts_of(Prompt("t", pieces), Letters())  # type: ignore[arg-type]
    assert [(len(part.tokens), part.fixed) for part in parts] == [
        (32, True),
        (3, False),
        (17, True),
        (1, False),
    ]
    short = parts_of(Prompt("t", pieces[2:4]), Letters())  # type: ignore[arg-type]
    assert [part.fixed for part in short] == [False, False]
    with pytest.raises(UsageError, match="token ids"):
        parts_of(Prompt("t", (), ids=(1, 2)), Letters())  # type: ignore[arg-type]


def test_declared_modules_are_the_only_ones_and_neighbours_stay_apart() -> None:
    pieces = (
        Piece("A long text that is fixed.", "t", 1, fixed=True),
        Piece("Page ", "t", 2, fixed=True, module=("page", 1)),
        Piece("one", "t", 2, module=("page", 1)),
        Piece("Page ", "t", 2, fixed=True, module=("page", 2)),
        Piece("two", "t", 2, module=("page", 2)),
        Piece("Why?", "t", 3),
    )
    parts = parts_of(Prompt("t", pieces), Letters())  # type: ignore[arg-type]
    assert [(len(part.tokens), part.fixed, part.name) for part in parts] == [
        (27, False, ""),
        (8, True, "page"),
        (8, True, "page"),
        (4, False, ""),
    ]


def test_three_kinds_of_reuse_in_one_table() -> None:
    from promptlint_runtime.text import render

    words = Letters()
    local = Local(Model("random:tiny", "cpu", "float32"), 0, lambda: words)  # type: ignore[arg-type, return-value]
    words.encode = lambda text: list(map(ord, text))  # type: ignore[attr-defined]
    words.run = None  # type: ignore[attr-defined]
    prompts = [
        Prompt(
            "t",
            (Piece(f"Day {day}\n", "t", 1), Piece("Be kind. " * 10, "t", 2, fixed=True), Piece("?", "t", 3)),
        )
        for day in range(3)
    ]
    runs = local.compare_reuse(prompts, Options(block_tokens=8), lambda *_: None)
    block, radix, modules = runs
    assert [row.measured_hit_tokens for row in block.rows] == [0, 0, 0]
    assert [row.measured_hit_tokens for row in radix.rows] == [0, 4, 4]
    assert [row.measured_hit_tokens for row in modules.rows] == [0, 90, 90]
    assert block.mismatches == radix.mismatches == modules.mismatches == ()
    assert len(modules.deviations) == 3
    text = render(runs)
    assert "logits deviate by" in text
    assert "exact" in text
    assert modules.to_json()["summary"]["approximate"] is True


def test_other_models_and_prompts_are_refused() -> None:
    local = Local(Model("random:tiny", "cpu", "float32"), 0, lambda: Letters())  # type: ignore[arg-type, return-value]
    with pytest.raises(UsageError, match="token ids"):
        local.compare_reuse([Prompt("t", (), ids=(1,))], Options(), lambda *_: None)
