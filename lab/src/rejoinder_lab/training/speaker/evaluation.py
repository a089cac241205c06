"""How well a scorer separates the true reply from those of the speaker sets (Bak and Oh 2020, section 6)."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from rejoinder.errors import InputError, SpecError
from rejoinder.indexes.corpus import Corpus, Numbers
from rejoinder.indexes.pool_sampling import draw_keys
from rejoinder.indexes.speakers import SETS, SpeakerSet
from rejoinder.metric import parse
from rejoinder.models.speaker.model import F_BOUNDS, SpeakerScorer
from rejoinder.models.speaker.network import Array
from rejoinder.stats.auc import auc
from rejoinder.types import Item, Pair, Reference, Response
from rejoinder_lab.training.speaker.places import context_views, select_split_turns
from rejoinder_lab.training.turn_vectors import TurnVectors

TRUE = "true"
COLUMNS = (TRUE, *SETS)
_BATCH_PLACES = 2_048


@dataclass(frozen=True, eq=False)
class SetScores:
    """f of the true reply of each place and of one reply from each set (NaN where a set has none)."""

    turns: Numbers  # the true replies, as the corpus numbers them; each once per draw
    scores: Array  # (n, 5), in the order of COLUMNS


@dataclass(frozen=True)
class SetDistance:
    """How far a set is from the true replies, over the places that have a reply from it."""

    n: int
    mean: float  # of the set's scores
    true: float  # of the true replies of these places
    gap: float  # the difference of the two means, over the root of the mean of the two variances
    auc: float  # how probable it is that a true reply has a higher score than one of the set
    won: float  # how often the true reply has the higher score at its own place; ties count half


@dataclass(frozen=True)
class ScorerEvaluation:
    """How well a scorer separates true replies from others on some places."""

    places: int
    true: float  # mean score of the true replies
    sets: dict[str, SetDistance]
    first: float  # how often the true reply has the highest score of the five; chance is .2
    first_places: int  # that have a reply from each set


def score_sets(
    scorer: SpeakerScorer,
    vectors: TurnVectors,
    split: str = "test",
    seed: int = 0,
    draws: int = 1,
    exclusive: bool = False,
) -> SetScores:
    """Score the places of a split with replies from each set; ``exclusive``: the sets without the smaller ones."""
    turns = select_split_turns(vectors, split, scorer.card.views)
    kinds = [SpeakerSet(name, exclusive and name in ("same_partner", "same_speaker")) for name in SETS]
    sample = vectors.corpus.speakers.sample
    scores = []
    for draw in range(draws):
        for start in range(0, len(turns), _BATCH_PLACES):
            part = turns[start : start + _BATCH_PLACES]
            views = context_views(vectors, part, scorer.card.views)
            replies_of_column = [part]
            replies_of_column += [
                sample(kind, part, 1, draw_keys(part, seed + draw, salt))[:, 0] for salt, kind in enumerate(kinds)
            ]
            scores.append(
                np.stack([scorer.raw(views, vectors.replies(replies)) for replies in replies_of_column], axis=1)
            )
    return SetScores(np.tile(turns, draws), np.concatenate([np.zeros((0, len(COLUMNS))), *scores]))


def evaluate_scores(set_scores: SetScores) -> ScorerEvaluation:
    """Return means, gaps and how often the true reply wins."""
    scores = set_scores.scores
    true = scores[:, 0]
    complete = ~np.isnan(scores).any(axis=1)
    first = np.asarray((scores[complete, :1] > scores[complete, 1:]).all(axis=1))
    return ScorerEvaluation(
        len(scores),
        float(true.mean()) if len(true) else float("nan"),
        {name: _measure_set(true, scores[:, column]) for column, name in enumerate(COLUMNS) if column},
        float(first.mean()) if len(first) else float("nan"),
        int(complete.sum()),
    )


def _measure_set(true: Array, other: Array) -> SetDistance:
    exists = ~np.isnan(other)
    n = int(exists.sum())
    if not n:
        return SetDistance(0, *[float("nan")] * 5)
    true, other = true[exists], other[exists]
    spread = float(np.sqrt((true.var() + other.var()) / 2))
    won = float(np.mean((true > other) + 0.5 * (true == other)))
    gap = float(true.mean() - other.mean())
    return SetDistance(
        n, float(other.mean()), float(true.mean()), gap / spread if spread else 0.0, auc(true, other), won
    )


def scorer_card_figures(measured: ScorerEvaluation) -> dict[str, Any]:
    """Return the figures of an evaluation for a card."""
    return {
        "places": measured.places,
        "first_of_five": _round_figure(measured.first),
        "mean": {
            TRUE: _round_figure(measured.true),
            **{name: _round_figure(distance.mean) for name, distance in measured.sets.items()},
        },
        "gap": {name: _round_figure(distance.gap) for name, distance in measured.sets.items()},
        "auc": {name: _round_figure(distance.auc) for name, distance in measured.sets.items()},
    }


def _round_figure(value: float) -> float | None:
    return None if np.isnan(value) else round(value, 4)


_PLACES = 20_000  # for f
_REFERENCED = 400  # for g, which costs more


def compute_scorer_bounds(
    scorer: SpeakerScorer, vectors: TurnVectors, train: Numbers, reference: str, seed: int
) -> dict[str, tuple[float, float]]:
    """Return the bounds of f, over the true replies and one reply from each speaker set, and of g under its spec.

    g compares with the true reply, so the true reply itself says nothing on g's range: it would always be the best.
    """
    metric = parse(reference)
    if metric.needs != {"references"}:
        raise SpecError(f"g compares a reply with references only; {reference!r} needs {sorted(metric.needs)}")
    order = np.random.default_rng([seed, 2]).permutation(train)[:_PLACES]
    values = []
    for start in range(0, len(order), _BATCH_PLACES):
        turns = order[start : start + _BATCH_PLACES]
        views = context_views(vectors, turns, scorer.card.views)
        values += [
            scorer.raw(views, vectors.replies(replies)) for replies in _held_out_replies(vectors.corpus, turns, seed)
        ]
    return {
        F_BOUNDS: _find_bounds(np.concatenate(values), "f"),
        str(metric): _find_reference_bounds(
            str(metric),
            _ReferencePlaces(vectors.corpus.digest, tuple(order[:_REFERENCED].tolist()), seed, vectors.corpus),
        ),
    }


@dataclass(frozen=True)
class _ReferencePlaces:
    """The places whose replies g compares; equal for the same places of the same dialogues."""

    dialogues: str
    turns: tuple[int, ...]
    seed: int
    corpus: Corpus = field(compare=False)


@lru_cache(maxsize=2)  # scorers of several kinds are trained on the same dialogues
def _find_reference_bounds(spec: str, places: _ReferencePlaces) -> tuple[float, float]:
    pairs = _held_out_pairs(places.corpus, np.array(places.turns, np.int64), places.seed)
    return _find_bounds(np.array(parse(spec).score(pairs)), spec)


def _held_out_replies(corpus: Corpus, turns: Numbers, seed: int) -> list[Numbers]:
    """Return the true replies of some places, and one from each set; -1 where there is none."""
    negatives = [
        corpus.speakers.sample(SpeakerSet(name), turns, 1, draw_keys(turns, seed, salt))[:, 0]
        for salt, name in enumerate(SETS)
    ]
    return [turns, *negatives]


def _held_out_pairs(corpus: Corpus, turns: Numbers, seed: int) -> list[Pair]:
    """Return one reply from each set with the true one as its reference."""
    pairs = []
    for column, replies in enumerate(_held_out_replies(corpus, turns, seed)[1:], 1):
        for turn, reply in zip(turns.tolist(), replies.tolist(), strict=True):
            if reply >= 0:
                item = Item(f"{turn}", (), (Reference(corpus.text(turn)),))
                pairs.append(Pair(item, Response(f"{turn}/{column}", item.id, "drawn", corpus.text(reply))))
    return pairs


def _find_bounds(values: Array, name: str) -> tuple[float, float]:
    known = values[~np.isnan(values)]
    if not len(known):
        raise InputError(f"{name} has no scores of the replies in training, so it has no bounds; choose another one")
    if known.min() == known.max():
        raise InputError(
            f"{name} gives all replies in training the same score, so it has no bounds; give more dialogues"
        )
    return round(float(known.min()), 6), round(float(known.max()), 6)
