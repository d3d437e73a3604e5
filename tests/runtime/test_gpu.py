"""The program behind `make gpu-check`: on a GPU where there is one, and its own logic on a CPU."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
ROOT = Path(__file__).resolve().parents[2]


def check(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(ROOT / "tools" / "gpu_check.py"), *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'runtime'}", "OMP_NUM_THREADS": "1"},
    )


@pytest.mark.torch
def test_the_program_itself_on_a_cpu() -> None:
    done = check("--device", "cpu", "--shape", "tiny", "--prefix", "64", "--new", "9", "--repeats", "1")
    found = json.loads(done.stdout)
    assert found["checks"]["attention"]
    assert found["checks"]["logits"]
    assert found["timing"]["cached"] == 64
    assert found["timing"]["new"] == 9
    assert done.returncode in (0, 1)  # how fast it is depends on the machine


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_on_a_gpu() -> None:
    done = check("--shape", "smollm2-135m", "--prefix", "1024", "--new", "64", "--repeats", "3")
    found = json.loads(done.stdout)
    assert found["checks"]["attention"], found
    assert found["checks"]["logits"], found
