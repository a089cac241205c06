"""What scorers say at the places of held-out dialogues: of the true reply, of one reply from each set, of copies.

Sections 6, 7.1 and 8 of the SSREM paper. The replies are drawn once: all scorers see the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rejoinder.indexes.corpus import Corpus, Numbers
from rejoinder.metric import NAN
from rejoinder.models.speaker.model import F_BOUNDS, SpeakerScorer, open_scorer
from rejoinder.models.speaker.network import Array
from rejoinder.papers.ssrem.scorers import CORPORA, Scorer, TrainedScorer, told
from rejoinder.stats.correlation import midranks
from rejoinder.stats.interval import Interval, mean_interval
from rejoinder.training.speaker.evaluation import COLUMNS, score_sets
from rejoinder.training.speaker.places import context_views, copies
from rejoinder.training.turn_vectors import TurnVectors, open_turn_vectors
from rejoinder.types import Dialogue


def gap_values(true: Array, other: Array) -> Array:
    """Values whose mean is the difference of the means over the root of the mean variance; NaN where one is missing."""
    there = ~(np.isnan(true) | np.isnan(other))
    x, y = true[there], other[there]
    values = np.full(len(true), NAN)
    if not len(x):
        return values
    variance = (x.var() + y.var()) / 2
    if variance == 0:
        values[there] = 0.0
        return values
    gap = (x.mean() - y.mean()) / np.sqrt(variance)
    squares = ((x - x.mean()) ** 2 + (y - y.mean()) ** 2) / 2 - variance
    values[there] = (x - y) / np.sqrt(variance) - gap * squares / (2 * variance)
    return values


def auc_values(true: Array, other: Array) -> Array:
    """Values whose mean is the chance that a true reply is above one of the others; ties count half."""
    there = ~(np.isnan(true) | np.isnan(other))
    x, y = true[there].astype(np.float64), other[there].astype(np.float64)
    values = np.full(len(true), NAN)
    n = len(x)
    if n:
        together = midranks(np.concatenate([x, y]))
        above = (together[:n] - midranks(x)) / n  # of the others, the share that each true reply is above
        below = 1 - (together[n:] - midranks(y)) / n  # of the true replies, the share above each other
        values[there] = above + below - above.mean()
    return values


def won_values(true: Array, other: Array) -> Array:
    """1 where the true reply has the higher score at its own place, one half for a tie."""
    missing = np.isnan(true) | np.isnan(other)
    return np.where(missing, NAN, (true > other) + 0.5 * (true == other))


def first_values(scores: Array) -> Array:
    """1 where the first column is above all others; NaN where one of them is missing."""
    whole = ~np.isnan(scores).any(axis=1)
    return np.where(whole, (scores[:, :1] > scores[:, 1:]).all(axis=1), NAN)


def clustered_mean(values: Array, dialogues: Array) -> Interval:
    """The mean of values with its interval, clustered by dialogue."""
    return mean_interval(values, dialogues.tolist())


SET_LABELS = {
    "true": "true",
    "same_conversation": "SC",
    "same_partner": "SP",
    "same_speaker": "SS",
    "random": "Rand",
}
SPLIT = "test"
ANY, LAST = "any utterance of the context", "the last utterance"
_SEED = 0
_BATCH_SIZE = 2_048


@dataclass(frozen=True, eq=False)
class PlaceScores:
    """f at the places of one corpus, not yet scaled, and what decides the scale."""

    scores: Array  # (n, 5), in the order of COLUMNS
    copied: Mapping[str, Array]  # ANY and LAST
    bounds: tuple[float, float]
    dialogues: Array  # of each place

    def column(self, name: str) -> Array:
        """The scores of the true replies, of a set or of copies."""
        return self.copied[name] if name in self.copied else np.asarray(self.scores[:, COLUMNS.index(name)])

    def mean(self, name: str) -> Interval:
        """The mean score of a column on the unit range, clipped as the metric is."""
        return clustered_mean(self._unit(self.column(name)), self.dialogues)

    def raised(self, name: str) -> Interval:
        """How much higher the mean score of a column is than that of the true replies of its places."""
        return clustered_mean(self._unit(self.column(name)) - self._unit(self.column(COLUMNS[0])), self.dialogues)

    def gap(self, name: str) -> Interval:
        """The standardised gap of the true replies and a column."""
        return clustered_mean(gap_values(self.column(COLUMNS[0]), self.column(name)), self.dialogues)

    def auc(self, name: str) -> Interval:
        """The chance that a true reply is above one of a column."""
        return clustered_mean(auc_values(self.column(COLUMNS[0]), self.column(name)), self.dialogues)

    def won(self, name: str) -> Interval:
        """How often the true reply is above that of a column at its own place."""
        return clustered_mean(won_values(self.column(COLUMNS[0]), self.column(name)), self.dialogues)

    def first(self) -> Interval:
        """How often the true reply is the first of five."""
        return clustered_mean(first_values(self.scores), self.dialogues)

    def ahead(self, other: PlaceScores, name: str) -> Interval:
        """How much larger the gap is here than with another scorer at the same places."""
        mine, theirs = (gap_values(one.column(COLUMNS[0]), one.column(name)) for one in (self, other))
        return clustered_mean(mine - theirs, self.dialogues)

    def more_often(self, other: PlaceScores) -> Interval:
        """How much more often the true reply is the first of five here than with another scorer."""
        return clustered_mean(first_values(self.scores) - first_values(other.scores), self.dialogues)

    def _unit(self, values: Array) -> Array:
        low, high = self.bounds
        return np.clip((values - low) / (high - low), 0, 1)


HeldOutScores = Mapping[tuple[Scorer, str], PlaceScores]  # scorer and corpus


def score_held_out(opened: Sequence[TrainedScorer], dialogues: Sequence[Dialogue]) -> HeldOutScores:
    """What every scorer says on the held-out dialogues of each corpus."""
    corpus = Corpus.of(d for d in dialogues if d.split == SPLIT and d.corpus in CORPORA)
    names = np.array([name for _, name in corpus.groups], object)
    vectors: dict[str, TurnVectors] = {}
    found = {}
    for one in opened:
        network = open_scorer(one.scorer.kind, one.folder)
        encoder = one.scorer.reading.encoder
        if encoder not in vectors:
            vectors[encoder] = open_turn_vectors(corpus, network.vectors, told)
        of = score_sets(network, vectors[encoder], SPLIT, _SEED)
        copied = _score_copies(network, vectors[encoder], of.turns)
        dialogue = corpus.dialogue[of.turns]
        where = names[corpus.group[dialogue]]
        for name in CORPORA:
            mine = where == name
            cut = {kind: values[mine] for kind, values in copied.items()}
            found[one.scorer, name] = PlaceScores(of.scores[mine], cut, network.card.bounds[F_BOUNDS], dialogue[mine])
    return found


def _score_copies(scorer: SpeakerScorer, vectors: TurnVectors, turns: Numbers) -> dict[str, Array]:
    """f of the context's own utterances; NaN where one says the same as the true reply."""
    corpus = vectors.corpus
    most = max(view.turns for view in scorer.card.views)
    found = {}
    for name, chosen in ((ANY, copies(corpus, turns, _SEED, most)), (LAST, turns - 1)):
        replies = np.where(corpus.said[chosen] == corpus.said[turns], -1, chosen)
        parts = [np.zeros(0)]
        for start in range(0, len(turns), _BATCH_SIZE):
            part = slice(start, start + _BATCH_SIZE)
            views = context_views(vectors, turns[part], scorer.card.views)
            parts.append(scorer.raw(views, vectors.replies(replies[part])))
        found[name] = np.concatenate(parts)
    return found
