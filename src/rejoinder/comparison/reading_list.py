"""Which replies should we read? A mix for one system or several, without ratings: low, uncertain, unusual, diverse.

- low: beaten by most other replies, on the mean over all metrics that have a direction;
- uncertain: these metrics disagree about it;
- unusual: far from the others in length, in rare words, in repetition or in a score;
- diverse: its words stand for many other replies that nothing chosen so far stands for.

The four take turns, each giving its best reply whose words were not chosen yet. A kind with nothing to offer (one
metric cannot disagree with itself) leaves its turns to the others, and what is still missing is drawn at random. Every
choice depends only on the data and the seed.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rejoinder.data.collection import Collection
from rejoinder.scoring.result import Scores
from rejoinder.seeded import stable_hash
from rejoinder.stats.arrays import Floats
from rejoinder.stats.correlation import midranks
from rejoinder.text.normalise import text_digest
from rejoinder.text.tokens import content_words, get_tokenizer

_MIN_GAP = 0.4  # between the shares that two metrics say a reply beats, to be uncertain
_MIN_DISTANCE = 2.5  # in robust standard deviations, to be unusual
_MAX_LOW = 0.5  # a reply that beats half of the others is not low
_SAMPLE = 2_000  # replies that diversity is computed on
_SIMILAR = 0.25  # the cosine from which two replies count as alike
_SELF = 0.1  # how much a reply that stands only for itself counts
_SHOWN_WORDS = 3


class ReadingChoice(NamedTuple):
    """A reply by its place in the scores, what it was chosen for, how much it is worth there, and why in words."""

    place: int
    kind: str
    worth: float
    why: str


def choose_replies(
    scores: Scores, data: Collection, n: int, seed: int = 0, rated: Mapping[str, int] | None = None
) -> list[ReadingChoice]:
    """Return n replies worth reading, in turns of the four kinds; those with k ratings are worth 1 / (1 + k)."""
    counts = rated or {}
    weights = np.array([1 / (1 + counts.get(response, 0)) for response in scores.responses])
    ties = [stable_hash(seed, response) for response in scores.responses]
    texts = [data.responses[response].text for response in scores.responses]
    diversity = _Diversity(scores, data, weights, ties)
    kinds = [
        _in_order(_find_low(scores), weights, ties),
        _in_order(_find_uncertain(scores), weights, ties),
        _in_order(_find_unusual(scores, texts), weights, ties),
    ]
    taken, digests, chosen = set[int](), set[int](), list[ReadingChoice]()

    def is_new(place: int) -> bool:
        return place not in taken and text_digest(texts[place]) not in digests

    turn, skipped = 0, 0
    while len(chosen) < min(n, len(scores)) and skipped <= len(kinds):
        kind, turn = turn % (len(kinds) + 1), turn + 1
        if kind < len(kinds):
            choice = next((one for one in kinds[kind] if is_new(one.place)), None)
        else:
            choice = diversity.choose(is_new)
        skipped = 0 if choice is not None else skipped + 1
        if choice is not None:
            chosen.append(choice)
            taken.add(choice.place)
            digests.add(text_digest(texts[choice.place]))
            diversity.cover(choice.place)
    rest = sorted((i for i in range(len(scores)) if i not in taken), key=lambda i: (-weights[i], ties[i]))
    why = "random: nothing else is left to choose by"
    return chosen + [ReadingChoice(i, "random", 0.0, why) for i in rest[: n - len(chosen)]]


def beaten_shares(column: Floats, lower_is_better: bool) -> Floats:
    """The share of other replies that each one beats, ties counting half; NaN stays."""
    known = ~np.isnan(column)
    shares = np.full(len(column), math.nan)
    values = -column[known] if lower_is_better else column[known]
    shares[known] = (midranks(values) - 1) / max(len(values) - 1, 1) if len(values) else values
    return shares


def directed_shares(scores: Scores) -> dict[str, Floats]:
    """The share of replies that each reply beats, under each metric that has a direction."""
    better = {spec: facts.higher_is_better for spec, facts in scores.facts.items()}
    return {
        spec: beaten_shares(scores[spec], up is False)
        for spec, up in better.items()
        if up is not None and len(np.unique(scores[spec][~np.isnan(scores[spec])])) > 1
    }


def _in_order(choices: Sequence[ReadingChoice], weights: Floats, ties: Sequence[int]) -> Iterator[ReadingChoice]:
    weighted = [one._replace(worth=float(one.worth * weights[one.place])) for one in choices]
    return iter(sorted(weighted, key=lambda one: (-round(one.worth, 9), ties[one.place])))


def _find_low(scores: Scores) -> list[ReadingChoice]:
    shares = directed_shares(scores)
    choices = []
    for i in range(len(scores)):
        own = {spec: float(column[i]) for spec, column in shares.items() if not math.isnan(column[i])}
        mean = math.fsum(own.values()) / len(own) if own else 1.0
        if mean < _MAX_LOW:
            lowest = sorted(own, key=lambda spec: own[spec])[:2]
            parts = (f"{spec} {scores[spec][i]:.3f}, better than {own[spec]:.0%} of replies" for spec in lowest)
            choices.append(ReadingChoice(i, "low", 1 - mean, f"low: {'; '.join(parts)}"))
    return choices


def _find_uncertain(scores: Scores) -> list[ReadingChoice]:
    shares = directed_shares(scores)
    choices = []
    for i in range(len(scores)):
        own = {spec: float(column[i]) for spec, column in shares.items() if not math.isnan(column[i])}
        high, low = (max(own, key=own.__getitem__), min(own, key=own.__getitem__)) if own else ("", "")
        if own and own[high] - own[low] >= _MIN_GAP:
            why = f"uncertain: {high} puts it above {own[high]:.0%} of replies, {low} above {own[low]:.0%}"
            choices.append(ReadingChoice(i, "uncertain", own[high] - own[low], why))
    return choices


def _find_unusual(scores: Scores, texts: Sequence[str]) -> list[ReadingChoice]:
    """Replies far from the median in some feature, with the feature that sets them apart most."""
    words_of = get_tokenizer("words")
    words = [words_of(text) for text in texts]
    lengths = np.array([float(len(one)) for one in words])
    frequency = Counter(word for one in words for word in set(one))
    rarity = np.array([_mean_rarity(one, frequency, len(words)) for one in words])
    repetition = np.array([1 - len(set(one)) / len(one) if one else math.nan for one in words])
    features = {"length": np.log1p(lengths), "rare words": rarity, "repetition": np.maximum(repetition, 0.2)}
    distances = [_robust_distance(column) for column in features.values()]
    for spec, column in scores.values.items():
        if not spec.startswith("length"):
            features[spec] = column
            better = scores.facts[spec].higher_is_better
            far = _robust_distance(column)
            # A score that is far on the bad side makes a reply low, which is a kind of its own.
            distances.append(far if better is None else np.maximum(far, 0) if better else np.minimum(far, 0))
    return _describe_unusual(scores, words, list(features), np.stack(distances))


def _describe_unusual(
    scores: Scores, words: Sequence[Sequence[str]], names: Sequence[str], distances: Floats
) -> list[ReadingChoice]:
    """The replies that are far in some feature, each with the feature in which it is farthest."""
    far = np.nan_to_num(np.abs(distances))
    choices = []
    median = float(np.median([len(one) for one in words])) if words else math.nan
    frequency = Counter(word for one in words for word in set(one))
    for i in np.flatnonzero(far.max(axis=0, initial=0) >= _MIN_DISTANCE).tolist():
        feature = int(np.argmax(far[:, i]))
        distance, name = float(distances[feature, i]), names[feature]
        if name == "length":
            why = f"{'long' if distance > 0 else 'short'}, {len(words[i])} words (median {median:g})"
        elif name == "rare words":
            rarest = sorted(set(words[i]), key=lambda word: (frequency[word], word))[:_SHOWN_WORDS]
            why = f"rare words ({', '.join(rarest)})" if distance > 0 else "only common words"
        elif name == "repetition":
            why = f"repeats its words ({len(set(words[i]))} different of {len(words[i])})"
        else:
            why = f"{name} {scores[name][i]:.3f} (median {np.nanmedian(scores[name]):.3f})"
        choices.append(ReadingChoice(i, "unusual", 1 - 1 / (1 + abs(distance)), f"unusual: {why}"))
    return choices


def _mean_rarity(words: Sequence[str], frequency: Mapping[str, int], n: int) -> float:
    return math.fsum(math.log(n / frequency[word]) for word in words) / len(words) if words else math.nan


def _robust_distance(column: Floats) -> Floats:
    """How far each value is from the median, in standard deviations estimated from the middle half of the values."""
    known = column[np.isfinite(column)]
    if not len(known):
        return np.full(len(column), math.nan)
    low, middle, high = np.quantile(known, [0.25, 0.5, 0.75])
    scale = float(high - low) / 1.349 or float(known.std())
    distance: Floats = (column - middle) / scale if scale > 0 else np.zeros(len(column))
    return distance


class _Diversity:
    """Greedy facility location over a sample of replies: each choice adds most to what the choices stand for."""

    def __init__(self, scores: Scores, data: Collection, weights: Floats, ties: Sequence[int]) -> None:
        self._places = sorted(range(len(scores)), key=lambda i: ties[i])[:_SAMPLE]
        self._weights = weights[self._places]
        self._words = {i: _topic_words(scores, data, i) for i in self._places}
        self._scores, self._data = scores, data
        frequency = Counter(word for words in self._words.values() for word in words)
        shared = sorted(word for word, n in frequency.items() if n > 1)  # what one reply alone says relates no two
        self._index = {word: k for k, word in enumerate(shared)}
        self._rarity = np.array([math.log((1 + len(self._places)) / frequency[word]) for word in shared])
        self._vectors = self._embed([self._words[i] for i in self._places])
        self._similarity: NDArray[np.float32] = (self._vectors @ self._vectors.T).toarray().astype(np.float32)
        # A reply stands for itself too, but replies that stand for others come first.
        np.fill_diagonal(self._similarity, _SELF)
        self._covered = np.zeros(len(self._places), dtype=np.float32)

    def choose(self, is_new: Callable[[int], bool]) -> ReadingChoice | None:
        """Return the new reply that stands for most replies that nothing chosen so far stands for."""
        gains = np.maximum(self._similarity - self._covered, 0).sum(axis=1) * self._weights
        for k in np.argsort(-np.round(gains, 6), kind="stable").tolist():
            if gains[k] < 1e-6:
                return None
            if is_new(self._places[k]):
                return ReadingChoice(self._places[k], "diverse", float(gains[k] / len(gains)), self._explain(k))
        return None

    def cover(self, place: int) -> None:
        """Note that a reply was chosen."""
        vector = self._embed([self._words.get(place) or _topic_words(self._scores, self._data, place)])
        self._covered = np.maximum(self._covered, (self._vectors @ vector.T).toarray()[:, 0].astype(np.float32))

    def _explain(self, k: int) -> str:
        alike = np.flatnonzero((self._similarity[k] >= _SIMILAR) & (self._similarity[k] > self._covered))
        others = [self._places[j] for j in alike.tolist() if j != k]
        if not others:
            return "diverse: unlike everything else in the list"
        own = self._words[self._places[k]]
        shared = Counter(word for j in others for word in self._words[j] & own)
        words = sorted(shared, key=lambda word: (-shared[word], word))[:_SHOWN_WORDS]
        kind = "reply" if len(others) == 1 else "replies"
        return f"diverse: stands for {len(others):,} similar {kind} ({', '.join(words)})"

    def _embed(self, texts: Sequence[frozenset[str]]) -> Any:
        """Unit vectors of the words of some texts, rare words weighing more."""
        from scipy.sparse import csr_array

        places = [sorted(self._index[word] for word in words if word in self._index) for words in texts]
        columns = np.array([column for one in places for column in one], dtype=np.int64)
        rows = np.repeat(np.arange(len(texts)), [len(one) for one in places])
        values = self._rarity[columns] if len(columns) else np.zeros(0)
        norms = np.sqrt(np.bincount(rows, weights=values**2, minlength=len(texts)))
        shape = (len(texts), max(len(self._index), 1))
        return csr_array((values / np.maximum(norms[rows], 1e-12), (rows, columns)), shape=shape)


def _topic_words(scores: Scores, data: Collection, place: int) -> frozenset[str]:
    """The words that carry meaning in a reply and in the turn before it."""
    pair = data.pair(scores.responses[place])
    last = pair.item.context[-1].text if pair.item.context else ""
    return content_words(f"{last} {pair.response.text}")
