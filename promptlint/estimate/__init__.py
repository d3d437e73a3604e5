"""What a prompt costs with and without a prefix cache: compute, memory, money and time."""

from promptlint.estimate.ask import Question, estimate
from promptlint.estimate.report import Estimate
from promptlint.estimate.thousand import Thousand, per_thousand

__all__ = ["Estimate", "Question", "Thousand", "estimate", "per_thousand"]
