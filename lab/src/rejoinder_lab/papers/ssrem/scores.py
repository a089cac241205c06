"""Scores at the places of held-out dialogues: for the true reply, one reply from each set, and a copy.

Sections 6, 7.1 and 8 of the SSREM paper. Only places with a reply from each of the four sets count, as in training. The
replies are sampled once: all scorers get the same. Of Cornell, a third of the films is measured.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rejoinder.indexes.corpus import Corpus, Numbers
from rejoinder.metric import NAN
from rejoinder.models.speaker.model import F_BOUNDS, SpeakerScorer, open_scorer
from rejoinder.models.speaker.network import Array
from rejoinder.seeded import stable_hash
from rejoinder.stats.correlation import midranks
from rejoinder.stats.interval import Interval, mean_interval
from rejoinder.types import Dialogue
from rejoinder_lab.papers.ssrem.scorers import CORPORA, ComparedScorer, TrainedScorer, log
from rejoinder_lab.training.speaker.evaluation import COLUMNS, score_sets
from rejoinder_lab.training.speaker.places import context_views, sample_copies
from rejoinder_lab.training.turn_vectors import TurnVectors, open_turn_vectors


def true_reply_gap_values(true: Array, other: Array) -> Array:
    """Return values whose mean is the difference of the means over the root of the mean variance; NaN if missing."""
    present = ~(np.isnan(true) | np.isnan(other))
    x, y = true[present], other[present]
    values = np.full(len(true), NAN)
    if not len(x):
        return values
    variance = (x.var() + y.var()) / 2
    if variance == 0:
        values[present] = 0.0
        return values
    gap = (x.mean() - y.mean()) / np.sqrt(variance)
    squares = ((x - x.mean()) ** 2 + (y - y.mean()) ** 2) / 2 - variance
    values[present] = (x - y) / np.sqrt(variance) - gap * squares / (2 * variance)
    return values


def true_reply_auc_values(true: Array, other: Array) -> Array:
    """Return values whose mean is the probability that a true reply is above one of the others; ties count half."""
    present = ~(np.isnan(true) | np.isnan(other))
    x, y = true[present].astype(np.float64), other[present].astype(np.float64)
    values = np.full(len(true), NAN)
    n = len(x)
    if n:
        together = midranks(np.concatenate([x, y]))
        above = (together[:n] - midranks(x)) / n  # of the others, the share that each true reply is above
        below = 1 - (together[n:] - midranks(y)) / n  # of the true replies, the share above each other
        values[present] = above + below - above.mean()
    return values


def true_reply_win_values(true: Array, other: Array) -> Array:
    """Return 1 if the true reply has the higher score at its own place, one half for a tie."""
    missing = np.isnan(true) | np.isnan(other)
    return np.where(missing, NAN, (true > other) + 0.5 * (true == other))


def true_reply_first_values(scores: Array) -> Array:
    """Return 1 if the first column is above all others, a share of 1 for a tie, NaN if one of them is missing."""
    whole = ~np.isnan(scores).any(axis=1)
    is_highest = (scores[:, :1] >= scores[:, 1:]).all(axis=1)
    return np.where(whole, is_highest / (scores[:, :1] == scores).sum(axis=1).clip(1), NAN)


def clustered_mean(values: Array, dialogues: Array) -> Interval:
    """Return the mean of values with its interval, clustered by dialogue."""
    return mean_interval(values, dialogues.tolist())


SET_LABELS = {
    "true": "true",
    "same_conversation": "SC",
    "same_partner": "SP",
    "same_speaker": "SS",
    "random": "Rand",
}
SPLIT = "test"
COPY = "copy"  # of any utterance of the context
_SEED = 0
_BATCH_SIZE = 2_048
_FILMS = 3  # one of so many films of Cornell


@dataclass(frozen=True, eq=False)
class PlaceScores:
    """f at the places of one corpus, not yet scaled, and what decides the scale."""

    scores: Array  # (n, 5), in the order of COLUMNS
    copied: Array  # of a copy
    bounds: tuple[float, float]
    dialogues: Array  # of each place

    def column(self, name: str) -> Array:
        """The scores of the true replies, of a set or of copies."""
        return self.copied if name == COPY else np.asarray(self.scores[:, COLUMNS.index(name)])

    def mean(self, name: str) -> Interval:
        """The mean score of a column, scaled to 0 to 1 and clipped like the metric."""
        return clustered_mean(self._unit(self.column(name)), self.dialogues)

    def raised(self, name: str) -> Interval:
        """How much higher the mean score of a column is than that of the true replies at the same places."""
        return clustered_mean(self._unit(self.column(name)) - self._unit(self.column(COLUMNS[0])), self.dialogues)

    def gap(self, name: str) -> Interval:
        """The standardised gap of the true replies and a column."""
        return clustered_mean(true_reply_gap_values(self.column(COLUMNS[0]), self.column(name)), self.dialogues)

    def auc(self, name: str) -> Interval:
        """The probability that a true reply is above a reply from another column."""
        return clustered_mean(true_reply_auc_values(self.column(COLUMNS[0]), self.column(name)), self.dialogues)

    def won(self, name: str) -> Interval:
        """How often the true reply is above that of a column at its own place."""
        return clustered_mean(true_reply_win_values(self.column(COLUMNS[0]), self.column(name)), self.dialogues)

    def first(self) -> Interval:
        """How often the true reply is the first of five."""
        return clustered_mean(true_reply_first_values(self.scores), self.dialogues)

    def ahead(self, other: PlaceScores, name: str) -> Interval:
        """How much larger the gap is here than with another scorer at the same places."""
        own, theirs = (true_reply_gap_values(one.column(COLUMNS[0]), one.column(name)) for one in (self, other))
        return clustered_mean(own - theirs, self.dialogues)

    def more_often(self, other: PlaceScores) -> Interval:
        """How much more often the true reply is the first of five here than with another scorer."""
        return clustered_mean(
            true_reply_first_values(self.scores) - true_reply_first_values(other.scores), self.dialogues
        )

    def _unit(self, values: Array) -> Array:
        low, high = self.bounds
        return np.clip((values - low) / (high - low), 0, 1)


HeldOutScores = Mapping[tuple[ComparedScorer, str], PlaceScores]  # scorer and corpus


def select_test_dialogues(dialogues: Sequence[Dialogue]) -> list[Dialogue]:
    """Return the dialogues to measure on: of the test split, and of Cornell those of a third of the films."""
    return [d for d in dialogues if d.split == SPLIT and (d.corpus != "cornell" or _is_film_measured(d))]


def _is_film_measured(dialogue: Dialogue) -> bool:
    film = str(dialogue.turns[0].speaker).partition("/")[0]
    return stable_hash(film) % _FILMS == 0


def score_held_out(
    scorers: Sequence[TrainedScorer], dialogues: Sequence[Dialogue]
) -> Iterator[tuple[ComparedScorer, str, PlaceScores]]:
    """Return the scores of every scorer on the measured dialogues of each corpus."""
    corpus = Corpus.of(select_test_dialogues(dialogues))
    names = np.array([name for _, name in corpus.groups], object)
    vectors: dict[str, TurnVectors] = {}
    for one in scorers:
        network = open_scorer(one.scorer.kind, one.folder)
        encoder = one.scorer.reading.encoder
        if encoder not in vectors:
            vectors[encoder] = open_turn_vectors(corpus, network.vectors, log)
        set_scores = score_sets(network, vectors[encoder], SPLIT, _SEED)
        complete = ~np.isnan(set_scores.scores).any(axis=1)
        turns, scores = set_scores.turns[complete], set_scores.scores[complete]
        copied = _score_copies(network, vectors[encoder], turns)
        dialogue = corpus.dialogue[turns]
        corpora = names[corpus.group[dialogue]]
        for name in CORPORA:
            here = corpora == name
            bounds = network.card.bounds[F_BOUNDS]
            yield one.scorer, name, PlaceScores(scores[here], copied[here], bounds, dialogue[here])


def _score_copies(scorer: SpeakerScorer, vectors: TurnVectors, turns: Numbers) -> Array:
    """f of a random utterance of each context; NaN if it has the same text as the true reply."""
    corpus = vectors.corpus
    most = max(view.turns for view in scorer.card.views)
    chosen = sample_copies(corpus, turns, _SEED, most)
    replies = np.where(corpus.text_codes[chosen] == corpus.text_codes[turns], -1, chosen)
    parts = [np.zeros(0)]
    for start in range(0, len(turns), _BATCH_SIZE):
        part = slice(start, start + _BATCH_SIZE)
        views = context_views(vectors, turns[part], scorer.card.views)
        parts.append(scorer.raw(views, vectors.replies(replies[part])))
    return np.concatenate(parts)
