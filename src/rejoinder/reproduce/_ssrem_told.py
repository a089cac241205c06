"""What scorers say at the places of held-out dialogues: of the true reply, of one reply from each set, of copies.

Sections 6, 7.1 and 8 of the SSREM paper. The replies are drawn once: all scorers see the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rejoinder.models.speaker_network import Array
from rejoinder.models.speaker_scorer import F, SpeakerScorer, open_scorer
from rejoinder.reproduce import _ssrem_apart as apart
from rejoinder.reproduce._ssrem_scorers import CORPORA, Opened, Scorer, told
from rejoinder.sources._corpus import Corpus, Numbers
from rejoinder.stats.interval import Interval
from rejoinder.training.speaker_measuring import COLUMNS, told_apart
from rejoinder.training.speaker_places import copies, views_of
from rejoinder.training.turn_vectors import TurnVectors, turn_vectors
from rejoinder.types import Dialogue

SPLIT = "test"
ANY, LAST = "any utterance of the context", "the last utterance"
_SEED = 0
_AT_ONCE = 2_048


@dataclass(frozen=True, eq=False)
class Told:
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
        return apart.mean_of(self._unit(self.column(name)), self.dialogues)

    def raised(self, name: str) -> Interval:
        """How much higher the mean score of a column is than that of the true replies of its places."""
        return apart.mean_of(self._unit(self.column(name)) - self._unit(self.column(COLUMNS[0])), self.dialogues)

    def gap(self, name: str) -> Interval:
        """The standardised gap of the true replies and a column."""
        return apart.mean_of(apart.gap_values(self.column(COLUMNS[0]), self.column(name)), self.dialogues)

    def auc(self, name: str) -> Interval:
        """The chance that a true reply is above one of a column."""
        return apart.mean_of(apart.auc_values(self.column(COLUMNS[0]), self.column(name)), self.dialogues)

    def won(self, name: str) -> Interval:
        """How often the true reply is above that of a column at its own place."""
        return apart.mean_of(apart.won_values(self.column(COLUMNS[0]), self.column(name)), self.dialogues)

    def first(self) -> Interval:
        """How often the true reply is the first of five."""
        return apart.mean_of(apart.first_values(self.scores), self.dialogues)

    def ahead(self, other: Told, name: str) -> Interval:
        """How much larger the gap is here than with another scorer at the same places."""
        mine, theirs = (apart.gap_values(one.column(COLUMNS[0]), one.column(name)) for one in (self, other))
        return apart.mean_of(mine - theirs, self.dialogues)

    def more_often(self, other: Told) -> Interval:
        """How much more often the true reply is the first of five here than with another scorer."""
        return apart.mean_of(apart.first_values(self.scores) - apart.first_values(other.scores), self.dialogues)

    def _unit(self, values: Array) -> Array:
        low, high = self.bounds
        return np.clip((values - low) / (high - low), 0, 1)


Held = Mapping[tuple[Scorer, str], Told]  # scorer and corpus


def tell(opened: Sequence[Opened], dialogues: Sequence[Dialogue]) -> Held:
    """What every scorer says on the held-out dialogues of each corpus."""
    corpus = Corpus.of(d for d in dialogues if d.split == SPLIT and d.corpus in CORPORA)
    names = np.array([name for _, name in corpus.groups], object)
    vectors: dict[str, TurnVectors] = {}
    found = {}
    for one in opened:
        network = open_scorer(one.scorer.kind, one.folder)
        encoder = one.scorer.reading.encoder
        if encoder not in vectors:
            vectors[encoder] = turn_vectors(corpus, network.vectors, told)
        of = told_apart(network, vectors[encoder], SPLIT, _SEED)
        copied = _copied(network, vectors[encoder], of.turns)
        dialogue = corpus.dialogue[of.turns]
        where = names[corpus.group[dialogue]]
        for name in CORPORA:
            mine = where == name
            cut = {kind: values[mine] for kind, values in copied.items()}
            found[one.scorer, name] = Told(of.scores[mine], cut, network.card.bounds[F], dialogue[mine])
    return found


def _copied(scorer: SpeakerScorer, vectors: TurnVectors, turns: Numbers) -> dict[str, Array]:
    """f of the context's own utterances; NaN where one says the same as the true reply."""
    corpus = vectors.corpus
    most = max(view.turns for view in scorer.card.views)
    found = {}
    for name, chosen in ((ANY, copies(corpus, turns, _SEED, most)), (LAST, turns - 1)):
        replies = np.where(corpus.said[chosen] == corpus.said[turns], -1, chosen)
        parts = [np.zeros(0)]
        for start in range(0, len(turns), _AT_ONCE):
            part = slice(start, start + _AT_ONCE)
            views = views_of(vectors, turns[part], scorer.card.views)
            parts.append(scorer.raw(views, vectors.replies(replies[part])))
        found[name] = np.concatenate(parts)
    return found
