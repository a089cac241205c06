"""MoverScore (Zhao et al. 2019): how little the tokens of a reply must move to become those of a reference."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rejoinder.files import sha256_of
from rejoinder.metric import NAN, Metric
from rejoinder.metrics._models import encoder_details, find_truncated
from rejoinder.metrics.sentence_mover import WeightedParts, find_least_distance
from rejoinder.models.base import TokenVectors
from rejoinder.models.encoder.factory import load_encoder
from rejoinder.spec import check_between
from rejoinder.text.rarity import RARITY_FILE, split_runs, word_rarity
from rejoinder.types import Pair

_BATCH_PAIRS = 64  # pairs whose token vectors are in memory together


@dataclass(frozen=True)
class Moverscore(Metric):
    """How close a reply's tokens are to those of the best reference: 1 minus the least work of moving them there.

    A token's vector is that of the encoder's last layer, of length 1; its weight is how rare the word is. Punctuation
    and all but the first piece of a word are left out, unless nothing else is there. With ``n=2``, pairs of adjacent
    tokens are moved: the vector of a pair is the weighted mean of both, its weight their sum. NaN without references.
    """

    encoder: str = "aptness"
    n: int = 1

    needs = frozenset({"references"})
    range = (-1.0, 1.0)
    citation = (
        "Zhao et al. 2019, MoverScore: Text Generation Evaluating with Contextualized Embeddings and Earth Mover "
        "Distance"
    )
    decimals = 4
    large = True

    def __post_init__(self) -> None:
        check_between("moverscore", "n", self.n, 1, 2)

    def score(self, pairs: Sequence[Pair]) -> list[float]:
        """Return the MoverScore of each response against its best reference."""
        scores = []
        for start in range(0, len(pairs), _BATCH_PAIRS):
            batch = pairs[start : start + _BATCH_PAIRS]
            texts = {t for pair in batch for t in (pair.response.text, *(r.text for r in pair.item.references))}
            parts = self._parts(sorted(text for text in texts if text.strip()))
            for pair in batch:
                known = [parts[r.text] for r in pair.item.references if r.text in parts]
                reply = parts.get(pair.response.text)
                scores.append(NAN if reply is None else 1 - find_least_distance(reply, known))
        return [NAN if math.isinf(score) else score for score in scores]

    def cut(self, pairs: Sequence[Pair]) -> list[bool]:
        """Return which pairs contain a text that is too long for the encoder."""
        return find_truncated(pairs, self.encoder)

    def details(self) -> dict[str, str]:
        """Return the digests of the encoder and of the table of rarities."""
        return {**encoder_details(self.encoder), "rarity": sha256_of(RARITY_FILE)[:12]}

    def _parts(self, texts: Sequence[str]) -> dict[str, WeightedParts]:
        """Return what is moved, for each text that has a token."""
        tokens = load_encoder(self.encoder, cache=False).encode_tokens(texts)
        return {
            text: weigh_tokens(of_text, self.n)
            for text, of_text in zip(texts, tokens, strict=True)
            if len(of_text.tokens)
        }


def weigh_tokens(tokens: TokenVectors, n: int) -> WeightedParts:
    """Return the n-grams of a text's tokens: a vector of length 1 and a weight for each (equations 1 and 2)."""
    weights = np.array([token_weight(token) for token in tokens.tokens])
    is_word = weights > 0 if weights.any() else np.ones(len(weights), bool)
    vectors = tokens.vectors[is_word].astype(np.float64)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    weights = weights[is_word] if weights.any() else np.ones(len(weights))
    n = min(n, len(weights))
    sums = np.array([weights[i : i + n].sum() for i in range(len(weights) - n + 1)])
    means = [weights[i : i + n] @ vectors[i : i + n] / total for i, total in enumerate(sums)]
    return WeightedParts(np.array(means), sums)


def token_weight(token: str) -> float:
    """Return how rare a token is; 0 for punctuation, and for any piece of a word but its first."""
    return 0.0 if token.startswith("##") or not split_runs(token) else word_rarity("".join(split_runs(token)))
