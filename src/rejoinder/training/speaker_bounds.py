"""The bounds of f and g: the smallest and the largest value over replies to places of training (equation 2)."""

from __future__ import annotations

import numpy as np

from rejoinder.errors import InputError, SpecError
from rejoinder.models.speaker_network import Array
from rejoinder.models.speaker_scorer import F, SpeakerScorer
from rejoinder.registry import parse
from rejoinder.sources._corpus import Corpus, Numbers
from rejoinder.sources._draws import keys_of
from rejoinder.sources._speakers import SETS, SpeakerSet
from rejoinder.training.speaker_places import views_of
from rejoinder.training.turn_vectors import TurnVectors
from rejoinder.types import Item, Pair, Reference, Response

_PLACES = 20_000  # for f
_REFERENCED = 400  # for g, which costs more
_AT_ONCE = 2_048


def bounds_of(
    scorer: SpeakerScorer, vectors: TurnVectors, train: Numbers, reference: str, seed: int
) -> dict[str, tuple[float, float]]:
    """The bounds of f, and of g under its spec, over the true replies and one reply from each speaker set."""
    metric = parse(reference)
    if metric.needs != {"references"}:
        raise SpecError(f"g compares a reply with references only; {reference!r} needs {sorted(metric.needs)}")
    order = np.random.default_rng([seed, 2]).permutation(train)[:_PLACES]
    values = []
    for start in range(0, len(order), _AT_ONCE):
        turns = order[start : start + _AT_ONCE]
        views = views_of(vectors, turns, scorer.card.views)
        values += [scorer.raw(views, vectors.replies(replies)) for replies in _replies(vectors.corpus, turns, seed)]
    pairs = _pairs(vectors.corpus, order[:_REFERENCED], seed)
    return {
        F: _ends(np.concatenate(values), "f"),
        str(metric): _ends(np.array(metric.score(pairs)), reference),
    }


def _replies(corpus: Corpus, turns: Numbers, seed: int) -> list[Numbers]:
    """The true replies of some places, and one from each set; -1 where there is none."""
    drawn = [
        corpus.speakers.sample(SpeakerSet(name), turns, 1, keys_of(turns, seed, salt))[:, 0]
        for salt, name in enumerate(SETS)
    ]
    return [turns, *drawn]


def _pairs(corpus: Corpus, turns: Numbers, seed: int) -> list[Pair]:
    """Each reply with the true one as its reference."""
    pairs = []
    for column, replies in enumerate(_replies(corpus, turns, seed)):
        for turn, reply in zip(turns.tolist(), replies.tolist(), strict=True):
            if reply >= 0:
                item = Item(f"{turn}", (), (Reference(corpus.text(turn)),))
                pairs.append(Pair(item, Response(f"{turn}/{column}", item.id, "drawn", corpus.text(reply))))
    return pairs


def _ends(values: Array, name: str) -> tuple[float, float]:
    known = values[~np.isnan(values)]
    if not len(known):
        raise InputError(f"{name} can say nothing of the replies in training, so it has no bounds; take another one")
    if known.min() == known.max():
        raise InputError(f"{name} says the same of all replies in training, so it has no bounds; give more dialogues")
    return round(float(known.min()), 6), round(float(known.max()), 6)
