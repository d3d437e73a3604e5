"""``python -m promptlint_runtime.convert FILE.gguf FOLDER``: a GGUF as a Hugging Face folder in bfloat16."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from promptlint.errors import InputError, PromptlintError


def convert(file: Path, folder: Path) -> None:
    """Write weights, configuration and tokenizer of a GGUF file.

    Raises:
        InputError: the file cannot be read, or the folder exists and is not empty.
    """
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    if not file.is_file():
        raise InputError(f"{file}: no such file", "check the path")
    if folder.exists() and any(folder.iterdir()):
        raise InputError(f"{folder}: is not empty", "give a new folder")
    where = {"pretrained_model_name_or_path": str(file.parent), "gguf_file": file.name}
    tokenizer = AutoTokenizer.from_pretrained(**where)
    model: Any = AutoModelForCausalLM.from_pretrained(**where, dtype=torch.float32)
    # transformers takes a model that came from a GGUF for a quantised one, and would not save it.
    for attribute in ("hf_quantizer", "quantization_method"):
        if hasattr(model, attribute):
            delattr(model, attribute)
    model.is_quantized = False
    if hasattr(model.config, "quantization_config"):
        del model.config.quantization_config
    model.config.architectures = [type(model).__name__]
    model = model.to(torch.bfloat16)
    model.config.dtype = torch.bfloat16
    model.save_pretrained(str(folder))
    tokenizer.save_pretrained(str(folder))


def main(arguments: list[str]) -> int:
    """Convert as the command line says; return the exit code."""
    if len(arguments) != 2:
        print("usage: python -m promptlint_runtime.convert FILE.gguf FOLDER", file=sys.stderr)
        return 2
    try:
        convert(Path(arguments[0]), Path(arguments[1]))
    except PromptlintError as error:
        print(f"error: {error}\n  next: {error.next_step}", file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
