"""Steps of a ranker's training: rows to tensors, the linear schedule, and the scores of many rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from rejoinder.models.aptness.calibration import Numbers
from rejoinder.models.aptness.cross_encoder import PairRow
from rejoinder.models.batching import pad_token_ids
from rejoinder.training.recipes import RankerRecipe

_SCORING_ROWS = 256  # at a time, without gradients
_TOKENS = 3_072  # at a time on a CPU, with gradients: more takes gigabytes and is not faster


def row_tensors(rows: Sequence[PairRow], padding: int, device: torch.device) -> tuple[Tensor, Tensor, Tensor]:
    """Return the ids, which of them are real, and which belong to the candidate."""
    tokens, mask = pad_token_ids([row.ids for row in rows], padding)
    begins = np.array([row.reply_at for row in rows])
    kinds = mask * (np.arange(mask.shape[1]) >= begins[:, None])
    ids, real, of_candidate = (torch.from_numpy(part).to(device, non_blocking=True) for part in (tokens, mask, kinds))
    return ids, real, of_candidate


def split_ranker_batch(lengths: Sequence[Sequence[int]], device: torch.device) -> list[list[int]]:
    """Split a step into what is computed at a time: all on a GPU, parts on a CPU; ``lengths`` are those of the rows.

    Questions of about the same length are together.
    """
    if device.type != "cpu":
        return [list(range(len(lengths)))]
    parts: list[list[int]] = [[]]
    rows = 0
    for question in sorted(range(len(lengths)), key=lambda n: -max(lengths[n], default=0)):
        longest = max(lengths[(parts[-1] or [question])[0]], default=0)
        if parts[-1] and (rows + len(lengths[question])) * longest > _TOKENS:
            parts.append([])
            rows = 0
        parts[-1].append(question)
        rows += len(lengths[question])
    return parts


class RankerOptimizer:
    """AdamW with a linear warm-up and a linear decay, and a bound on the gradient."""

    def __init__(self, network: Any, steps: int, rate: float, recipe: RankerRecipe) -> None:
        self._network = network
        trunk = [p for name, p in network.named_parameters() if name.startswith("trunk.") and p.requires_grad]
        heads = [p for name, p in network.named_parameters() if not name.startswith("trunk.")]
        groups = [{"params": trunk, "lr": rate}, {"params": heads, "lr": recipe.head_rate}]
        self._optimizer = torch.optim.AdamW(groups, weight_decay=recipe.decay)
        warm = max(1.0, recipe.warm_up * steps)
        self._schedule = torch.optim.lr_scheduler.LambdaLR(
            self._optimizer, lambda at: min((at + 1) / warm, max(0.0, (steps - at) / max(1.0, steps - warm)))
        )
        self._norm = recipe.norm

    def step(self, losses: Iterable[Tensor]) -> Tensor:
        """Take one step on the sum of losses, which are computed one after the other, and return the sum."""
        total = torch.zeros(())
        for loss in losses:
            loss.backward()  # type: ignore[no-untyped-call]
            total = total.to(loss.device) + loss.detach()
        nn.utils.clip_grad_norm_(self._network.parameters(), self._norm)
        self._optimizer.step()
        self._schedule.step()
        self._optimizer.zero_grad(set_to_none=True)
        return total


def freeze_words(network: Any) -> None:
    """Do not train the word vectors, which are shared with `aptness`."""
    network.trunk.embeddings.word_embeddings.weight.requires_grad_(False)


def autocast_half(device: torch.device) -> Any:
    """Return a context for bfloat16 on a GPU and on a CPU that is fast in it, float32 elsewhere."""
    fast = device.type == "cuda" or bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())
    return torch.autocast(device.type, torch.bfloat16, enabled=fast)


@torch.no_grad()
def score_ranker_rows(network: nn.Module, rows: Sequence[PairRow], padding: int, device: torch.device) -> Numbers:
    """Return the score of each row; rows of about the same length are computed together."""
    network.eval()
    order = np.argsort([len(row.ids) for row in rows], kind="stable")
    scores = np.empty(len(rows))
    for start in range(0, len(rows), _SCORING_ROWS):
        batch = order[start : start + _SCORING_ROWS]
        # In float32: bfloat16 keeps so few digits that candidates would tie.
        scores[batch] = network(*row_tensors([rows[i] for i in batch], padding, device)).float().cpu().numpy()
    return scores


def ranker_margin_loss(
    scores: Tensor, grades: Tensor, questions: Tensor, margin: float, of: int | None = None
) -> Tensor:
    """Return the mean of max(0, margin - (better - worse)) over pairs of candidates of a question with other grades.

    Where these are only some of the questions of a step, ``of`` is the number of pairs of all of them.
    """
    pairs = better_pairs(grades, questions)
    losses = torch.relu(margin - (scores[:, None] - scores[None])) * pairs
    return losses.sum() / (pairs.sum() if of is None else torch.tensor(of)).clamp(min=1)


def better_pairs(grades: Tensor, questions: Tensor) -> Tensor:
    """Return whether one candidate is better than another of its question, as a matrix."""
    return (questions[:, None] == questions[None]) & (grades[:, None] > grades[None])
