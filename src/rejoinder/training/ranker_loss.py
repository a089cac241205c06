"""The max-margin loss over graded candidates (SUGAR, section 4.1): a better one must be ahead by the margin."""

from __future__ import annotations

import torch
from torch import Tensor


def margin_loss(scores: Tensor, grades: Tensor, questions: Tensor, margin: float) -> Tensor:
    """The mean of max(0, margin - (better - worse)) over all pairs of candidates of one question with unlike grades."""
    pairs = (questions[:, None] == questions[None]) & (grades[:, None] > grades[None])
    lost = torch.relu(margin - (scores[:, None] - scores[None])) * pairs
    return lost.sum() / pairs.sum().clamp(min=1)
