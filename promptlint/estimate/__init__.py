"""What a prompt costs with and without a prefix cache: compute, memory, money and time."""

from promptlint.estimate.ask import Question, estimate
from promptlint.estimate.report import Estimate

__all__ = ["Estimate", "Question", "estimate"]
