"""The max-margin loss over graded candidates (SUGAR, section 4.1): a better one must be ahead by the margin."""

from __future__ import annotations

import torch
from torch import Tensor


def margin_loss(scores: Tensor, grades: Tensor, questions: Tensor, margin: float, of: int | None = None) -> Tensor:
    """The mean of max(0, margin - (better - worse)) over all pairs of candidates of one question with unlike grades.

    Where these are only some of the questions of a step, ``of`` is how many pairs all of them have.
    """
    pairs = pairs_of(grades, questions)
    lost = torch.relu(margin - (scores[:, None] - scores[None])) * pairs
    return lost.sum() / (pairs.sum() if of is None else torch.tensor(of)).clamp(min=1)


def pairs_of(grades: Tensor, questions: Tensor) -> Tensor:
    """Whether one candidate is better than another of its question."""
    return (questions[:, None] == questions[None]) & (grades[:, None] > grades[None])
