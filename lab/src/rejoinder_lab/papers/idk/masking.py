"""The analogue of Table 7: how much of a pair's vector next-turn prediction needs.

The head of the cross-encoder is one linear layer, so its weights follow from vectors and log-odds. All but the seven
dimensions with the largest weights of an IDK regression are set to zero, and the head, unchanged, tells true next turns
from random ones in dialogues that nothing was trained on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rejoinder.errors import RejoinderError
from rejoinder.models.aptness.calibration import Numbers
from rejoinder.models.aptness.model import AptnessModel
from rejoinder.models.base import Vectors
from rejoinder.models.idk.pair_encoder import PairEncoder
from rejoinder.types import Dialogue
from rejoinder_lab.training.idk import IdkRegression
from rejoinder_lab.training.next_turns import sample_next_turns, shuffle_responses

HELD_OUT = ("dailydialog", "friends", "irc_ubuntu")  # a textbook, a television series, a help channel
PAIRS = 400  # contexts of each
KEPT = 7  # dimensions of the vector, as in the paper's Table 7
_FOR_HEAD = 600  # pairs that the head is read from: more than it has weights
_LARGEST_REST = 1e-3


@dataclass(frozen=True)
class MaskedAccuracy:
    """Next-turn prediction in one corpus: accuracy at log-odds of 0, and the share of true replies that are ahead."""

    whole: float
    kept: float
    whole_ahead: float
    kept_ahead: float
    n: int


def recover_head(vectors: Vectors, log_odds: Numbers) -> IdkRegression:
    """Recover the linear layer between vectors and log-odds."""
    rows = np.hstack([vectors.astype(np.float64), np.ones((len(vectors), 1))])
    solution: Numbers = np.linalg.lstsq(rows, log_odds, rcond=None)[0].astype(np.float64)
    rest = float(np.abs(rows @ solution - log_odds).max())
    if len(rows) <= rows.shape[1] or rest > _LARGEST_REST:
        raise RejoinderError(
            f"the head is not a linear layer over the pair's vector (largest residual {rest:.2g}); nothing was masked"
        )
    return IdkRegression(solution[:-1], float(solution[-1]))


def read_model_head(
    model: AptnessModel, encoder: PairEncoder, dialogues: Sequence[Dialogue], n: int = _FOR_HEAD
) -> IdkRegression:
    """The head of a cross-encoder, from pairs of the split ``valid``, half of them false."""
    places = sample_next_turns(dialogues, n, None, "valid")
    contexts = [place.context for place in places]
    true = [place.reply for place in places]
    replies = [*true[: n // 2], *shuffle_responses(places[n // 2 :])]
    return recover_head(encoder.features(contexts, replies), model.cross_scores(contexts, replies))


def find_largest_weights(fitted: IdkRegression, n: int = KEPT) -> list[int]:
    """Return the dimensions with the largest weights."""
    return sorted(np.argsort(-np.abs(fitted.weights), kind="stable")[:n].tolist())


def measure_masking(
    encoder: PairEncoder, dialogues: Sequence[Dialogue], head: IdkRegression, fitted: IdkRegression, n: int = PAIRS
) -> Mapping[str, MaskedAccuracy]:
    """Next-turn prediction with whole vectors and with the few dimensions, in each held-out corpus."""
    mask = np.zeros_like(head.weights)
    mask[find_largest_weights(fitted)] = 1
    return {corpus: _measure_masked_accuracy(encoder, dialogues, corpus, head, mask, n) for corpus in HELD_OUT}


def _measure_masked_accuracy(
    encoder: PairEncoder, dialogues: Sequence[Dialogue], corpus: str, head: IdkRegression, mask: Numbers, n: int
) -> MaskedAccuracy:
    places = sample_next_turns(dialogues, 2 * n, corpus, "test")
    contexts = [place.context for place in places[:n]]
    true = encoder.features(contexts, [place.reply for place in places[:n]])
    false = encoder.features(contexts, shuffle_responses(places[n:]))
    right, ahead = [], []
    for weights in (head.weights, head.weights * mask):
        for_true, for_false = (part.astype(np.float64) @ weights + head.bias for part in (true, false))
        right.append(float(np.mean(np.r_[for_true > 0, for_false < 0])))
        ahead.append(float(np.mean((for_true > for_false) + 0.5 * (for_true == for_false))))
    return MaskedAccuracy(right[0], right[1], ahead[0], ahead[1], 2 * n)
