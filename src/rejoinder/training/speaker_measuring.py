"""How well a scorer tells the true reply from those of the speaker sets (Bak and Oh 2020, section 6)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rejoinder.models.speaker_network import Array
from rejoinder.models.speaker_scorer import SpeakerScorer
from rejoinder.sources._corpus import Numbers
from rejoinder.sources._draws import keys_of
from rejoinder.sources._speakers import SETS, SpeakerSet
from rejoinder.stats.ranks import midranks
from rejoinder.training.speaker_places import split_turns, views_of
from rejoinder.training.turn_vectors import TurnVectors

TRUE = "true"
COLUMNS = (TRUE, *SETS)
_AT_ONCE = 2_048


@dataclass(frozen=True, eq=False)
class Told:
    """f of the true reply of each place and of one reply from each set (NaN where a set has none)."""

    turns: Numbers  # the true replies, as the corpus numbers them; each as often as was drawn
    scores: Array  # (n, 5), in the order of COLUMNS


@dataclass(frozen=True)
class Apart:
    """How far a set lies from the true replies, over the places that have a reply from it."""

    n: int
    mean: float  # of the set's scores
    true: float  # of the true replies of these places
    gap: float  # the difference of the two means, over the root of the mean of the two variances
    auc: float  # how probable it is that a true reply has a higher score than one of the set
    won: float  # how often the true reply has the higher score at its own place; ties count half


@dataclass(frozen=True)
class Measured:
    """What a scorer tells apart on some places."""

    places: int
    true: float  # mean score of the true replies
    sets: dict[str, Apart]
    first: float  # how often the true reply has the highest score of the five; chance is .2
    first_places: int  # that have a reply from each set


def told_apart(
    scorer: SpeakerScorer,
    vectors: TurnVectors,
    split: str = "test",
    seed: int = 0,
    draws: int = 1,
    exclusive: bool = False,
) -> Told:
    """Score the places of a split with replies from each set; ``exclusive`` takes the sets without the smaller ones."""
    turns = split_turns(vectors, split, scorer.card.views)
    kinds = [SpeakerSet(name, exclusive and name in ("same_partner", "same_speaker")) for name in SETS]
    sample = vectors.corpus.speakers.sample
    found = []
    for draw in range(draws):
        for start in range(0, len(turns), _AT_ONCE):
            part = turns[start : start + _AT_ONCE]
            views = views_of(vectors, part, scorer.card.views)
            drawn = [part]
            drawn += [sample(of, part, 1, keys_of(part, seed + draw, salt))[:, 0] for salt, of in enumerate(kinds)]
            found.append(np.stack([scorer.raw(views, vectors.replies(replies)) for replies in drawn], axis=1))
    return Told(np.tile(turns, draws), np.concatenate([np.zeros((0, len(COLUMNS))), *found]))


def measure(told: Told) -> Measured:
    """Means, gaps and how often the true reply wins."""
    scores = told.scores
    true = scores[:, 0]
    whole = ~np.isnan(scores).any(axis=1)
    first = np.asarray((scores[whole, :1] > scores[whole, 1:]).all(axis=1))
    return Measured(
        len(scores),
        float(true.mean()) if len(true) else float("nan"),
        {name: _apart(true, scores[:, column]) for column, name in enumerate(COLUMNS) if column},
        float(first.mean()) if len(first) else float("nan"),
        int(whole.sum()),
    )


def _apart(true: Array, other: Array) -> Apart:
    there = ~np.isnan(other)
    n = int(there.sum())
    if not n:
        return Apart(0, *[float("nan")] * 5)
    true, other = true[there], other[there]
    spread = float(np.sqrt((true.var() + other.var()) / 2))
    won = float(np.mean((true > other) + 0.5 * (true == other)))
    gap = float(true.mean() - other.mean())
    return Apart(n, float(other.mean()), float(true.mean()), gap / spread if spread else 0.0, auc(true, other), won)


def auc(true: Array, other: Array) -> float:
    """How probable it is that one of ``true`` is above one of ``other``; ties count half (Mann and Whitney 1947)."""
    ranks = midranks(np.concatenate([true, other]).astype(np.float64))
    return float((ranks[: len(true)].sum() - len(true) * (len(true) + 1) / 2) / (len(true) * len(other)))


def plain(measured: Measured) -> dict[str, Any]:
    """What a card says of it."""
    return {
        "places": measured.places,
        "first_of_five": _round(measured.first),
        "mean": {TRUE: _round(measured.true), **{name: _round(of.mean) for name, of in measured.sets.items()}},
        "gap": {name: _round(of.gap) for name, of in measured.sets.items()},
        "auc": {name: _round(of.auc) for name, of in measured.sets.items()},
    }


def _round(value: float) -> float | None:
    return None if np.isnan(value) else round(value, 4)
