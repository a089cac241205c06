"""Steps of a ranker's training: rows to tensors, the linear schedule, and the scores of many rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from rejoinder.models.aptness.calibration import Numbers
from rejoinder.models.aptness.cross_encoder import PairRow
from rejoinder.models.aptness.network import MPNET
from rejoinder.models.batching import pad_token_ids
from rejoinder.models.ranker.transformers import HubReader
from rejoinder_lab.training.aptness.mpnet import compute_group_states
from rejoinder_lab.training.recipes import RankerRecipe

_SCORING_ROWS = 256  # at a time, without gradients
_TOKENS = {"cpu": 3_072, "cuda": 8_192}  # at a time, with gradients: more takes gigabytes and is not faster


def row_tensors(rows: Sequence[PairRow], padding: int, device: torch.device) -> tuple[Tensor, Tensor, Tensor]:
    """Return the ids, which of them are real, and which belong to the candidate."""
    tokens, mask = pad_token_ids([row.ids for row in rows], padding)
    begins = np.array([row.reply_at for row in rows])
    kinds = mask * (np.arange(mask.shape[1]) >= begins[:, None])
    ids, real, of_candidate = (torch.from_numpy(part).to(device, non_blocking=True) for part in (tokens, mask, kinds))
    return ids, real, of_candidate


def split_ranker_batch(lengths: Sequence[Sequence[int]], device: torch.device) -> list[list[int]]:
    """Split a step into what is computed at a time; ``lengths`` are those of the rows of each question.

    Questions of about the same length are together, so that there is little padding.
    """
    parts: list[list[int]] = [[]]
    rows = 0
    for question in sorted(range(len(lengths)), key=lambda n: -max(lengths[n], default=0)):
        longest = max(lengths[(parts[-1] or [question])[0]], default=0)
        if parts[-1] and (rows + len(lengths[question])) * longest > _TOKENS[device.type]:
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
        fused = all(p.is_cuda for p in (*trunk, *heads))
        self._optimizer = torch.optim.AdamW(groups, weight_decay=recipe.decay, fused=fused)
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


def compute_reader_scores(network: Any, rows: Sequence[PairRow], padding: int, device: torch.device) -> Tensor:
    """Return the score of each row, with gradients; on a GPU in bfloat16 up to the last layer."""
    ids, real, of_candidate = row_tensors(rows, padding, device)
    if not reads_by_groups(network):
        with autocast_half(device):
            scores: Tensor = network(ids, real, of_candidate).float()
        return scores
    more = -ids.shape[1] % 8  # a width that suits the kernels
    ids, real = functional.pad(ids, (0, more), value=padding), functional.pad(real, (0, more))
    first: Tensor = compute_group_states(network.trunk, ids, real.bool())[:, 0].float()
    odds: Tensor = network.head(first)
    return odds.squeeze(-1)


def reads_by_groups(network: Any) -> bool:
    """Whether a network is one layer on an MPNet, whose pass over a group of rows is fast on a GPU."""
    if not isinstance(network, HubReader):
        return False
    config = network.trunk.config
    return bool(config.model_type == MPNET and config.hidden_act == "gelu")


@torch.no_grad()
def score_ranker_rows(network: Any, rows: Sequence[PairRow], padding: int, device: torch.device) -> Numbers:
    """Return the score of each row; rows of about the same length are computed together."""
    network.eval()
    order = np.argsort([len(row.ids) for row in rows], kind="stable")
    scores = np.empty(len(rows))
    for start in range(0, len(rows), _SCORING_ROWS):
        batch = order[start : start + _SCORING_ROWS]
        part = [rows[i] for i in batch]
        if reads_by_groups(network):
            scores[batch] = compute_reader_scores(network, part, padding, device).cpu().numpy()
        else:  # in float32: a last layer in bfloat16 keeps so few digits that candidates would tie
            scores[batch] = network(*row_tensors(part, padding, device)).float().cpu().numpy()
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
