"""Chat templates of models: their layout, and what they do to a growing conversation."""

from __future__ import annotations

from promptlint.frontends.chat_template.locate import applies
from promptlint.frontends.chat_template.read import read

__all__ = ["applies", "read"]
