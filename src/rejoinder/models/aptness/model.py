"""`aptness` without torch: how well replies fit their contexts, by the two shipped networks.

Contexts are lists of utterances, oldest first. A blank context or reply has no score (NaN).
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from rejoinder.model_use import ModelUse, record_use
from rejoinder.models import aptness_card as cards
from rejoinder.models.aptness.bi_encoder import BiScorer
from rejoinder.models.aptness.calibration import TOKEN_FEATURES, Ids, ModelName, Numbers, calibrated_probability
from rejoinder.models.aptness.cross_encoder import CrossScorer, is_too_long
from rejoinder.models.base import Encoder, Vectors
from rejoinder.models.catalog.manifest import require_model
from rejoinder.models.encoder.factory import load_encoder, name_in_set
from rejoinder.models.spoken import Contexts, fill_known, select_spoken
from rejoinder.models.tokenization import TextTokenizer, read_tokenizer
from rejoinder.models.weight_sets import WeightSet, set_of, use_weights


def open_aptness(folder: str | Path | None = None, weights: WeightSet | None = None) -> AptnessModel:
    """Open the networks in a folder, or those of a set, by default the default one; once per process."""
    with use_weights(weights):
        location = require_model("aptness") if folder is None else Path(folder)
    try:
        changed = (location / cards.CARD_FILE).stat().st_mtime_ns
    except OSError:
        changed = 0  # reading the card will report what is wrong
    model = _open_aptness_folder(location, changed)
    record_use(ModelUse.of("aptness", model.card.licence, model.digest, set_of(location)))
    return model


@lru_cache(maxsize=2)
def _open_aptness_folder(folder: Path, changed: int) -> AptnessModel:
    return AptnessModel(folder)


class AptnessModel:
    """Both networks with their calibration; each is opened when first needed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.card = cards.read_aptness_card(folder)
        self.digest = self.card.digest()

    @property
    def encoder(self) -> Encoder:
        """Return the encoder of utterances, which caches its vectors."""
        weights = set_of(self.folder)
        return load_encoder(str(self.folder) if weights is None else name_in_set("aptness", weights))

    def probabilities(self, contexts: Contexts, replies: Sequence[str], model: ModelName = "both") -> Numbers:
        """Return the probability that each reply is the true one rather than another of the same kind of dialogue."""
        known, contexts, replies = select_spoken(contexts, replies)
        weights = self.card.calibration[model]
        if {"bi", "cross"} <= weights.keys():
            self._open_both()
        features: dict[str, Numbers] = {}
        if "bi" in weights:
            features["bi"] = self._bi.scores(self.encoder, contexts, replies)
        if weights.keys() - {"bi", "bias"}:
            context_tokens, reply_tokens = self._tokens(contexts, replies)
            if "cross" in weights:
                features["cross"] = self._cross.scores(context_tokens, reply_tokens)
            for name in TOKEN_FEATURES.keys() & weights.keys():
                feature = TOKEN_FEATURES[name]
                features[name] = np.array([feature(c, r) for c, r in zip(context_tokens, reply_tokens, strict=True)])
        return fill_known(known, calibrated_probability(weights, features))

    def bi_scores(self, contexts: Contexts, replies: Sequence[str]) -> Numbers:
        """Return the cosine of each context's and reply's vector."""
        known, contexts, replies = select_spoken(contexts, replies)
        return fill_known(known, self._bi.scores(self.encoder, contexts, replies))

    def cross_scores(self, contexts: Contexts, replies: Sequence[str]) -> Numbers:
        """Return the cross-encoder's log-odds of each pair."""
        known, contexts, replies = select_spoken(contexts, replies)
        return fill_known(known, self._cross.scores(*self._tokens(contexts, replies)))

    def cross_features(self, contexts: Contexts, replies: Sequence[str]) -> Vectors:
        """Return the vector of each pair before the cross-encoder's head; a row of NaN for a blank context or reply."""
        known, contexts, replies = select_spoken(contexts, replies)
        features = self._cross.features(*self._tokens(contexts, replies))
        vectors = np.full((len(known), features.shape[1]), np.nan, np.float32)
        vectors[known] = features
        return vectors

    def cut(self, contexts: Contexts, replies: Sequence[str], model: ModelName = "both") -> list[bool]:
        """Return which pairs are too long to be read in full by the networks in use."""
        known, contexts, replies = select_spoken(contexts, replies)
        cut = np.zeros(len(replies), bool)
        if model != "cross":
            cut |= self._bi.cut(self.encoder, contexts, replies)
        if model != "bi":
            limits = self.card.limits
            cut |= [is_too_long(c, r, limits) for c, r in zip(*self._tokens(contexts, replies), strict=True)]
        result = np.zeros(len(known), bool)
        result[known] = cut
        return [bool(is_cut) for is_cut in result]

    def count_tokens(self, contexts: Contexts, replies: Sequence[str]) -> tuple[list[int], list[int]]:
        """Return the number of tokens of each context, with a separator between utterances, and of each reply."""
        distinct = list(dict.fromkeys([*(text for context in contexts for text in context), *replies]))
        sizes = dict(zip(distinct, map(len, self._tokenizer.pieces(distinct)), strict=True))
        said = [[sizes[text] for text in context if sizes[text]] for context in contexts]
        return [sum(context) + max(0, len(context) - 1) for context in said], [sizes[text] for text in replies]

    def _open_both(self) -> None:
        """Open all graphs at the same time: the first score of a process mostly waits for them."""
        if "_cross" in vars(self):
            return
        with ThreadPoolExecutor(2) as pool:
            opened: list[Future[Any]] = [pool.submit(lambda: self._cross)]
            _ = self._tokenizer  # of both the heads and the encoder, so before either
            opened.append(pool.submit(lambda: self._bi))
            _ = self.encoder
            for graph in opened:
                graph.result()

    @cached_property
    def _bi(self) -> BiScorer:
        return BiScorer(self.folder, self.card, self._tokenizer)

    @cached_property
    def _cross(self) -> CrossScorer:
        return CrossScorer(self.folder, self.card)

    @cached_property
    def _tokenizer(self) -> TextTokenizer:
        cards.check_aptness_files(self.folder, self.card, cards.TOKENIZER)
        return read_tokenizer(self.folder / cards.TOKENIZER, self.card.limits.utterance_tokens)

    def _tokens(self, contexts: Contexts, replies: Sequence[str]) -> tuple[list[list[Ids]], list[Ids]]:
        """Return the token ids of each context's utterances and of each reply; each text is tokenised once.

        Utterances too far back to be read are left out, except for one, which shows that there are more.
        """
        most = self.card.limits.context_tokens // 2 + 1
        near = [context[-most:] for context in contexts]
        distinct = list(dict.fromkeys([*(text for context in near for text in context), *replies]))
        ids = dict(zip(distinct, self._tokenizer.pieces(distinct), strict=True))
        return [[ids[text] for text in context if ids[text]] for context in near], [ids[text] for text in replies]
