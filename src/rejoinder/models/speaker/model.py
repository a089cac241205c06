"""The folder of a scorer trained on dialogues (SSREM, RSREM, RUBER): ``scorer.json`` and its weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, get_args

import numpy as np
import orjson

from rejoinder.errors import InputError
from rejoinder.files import sha256_of_bytes
from rejoinder.model_use import ModelUse, record_use
from rejoinder.models.card import check_model_files, read_model_card, write_small_model
from rejoinder.models.speaker.network import Array, Kind, Weights, build_scorer_network, join_views
from rejoinder.models.speaker.vectors import (
    TurnEncoder,
    WeightedVectors,
    centre_vectors,
    context_vectors,
    open_turn_encoder,
)
from rejoinder.models.tensors import read_tensors
from rejoinder.models.weight_sets import WeightSet, default_set, set_of, use_weights, weights_folder

CARD_FILE = "scorer.json"
TENSORS = "weights.safetensors"
FORMAT = 1
F_BOUNDS = "f"  # the name of f's own bounds
MEAN_NAME = "mean"  # an array besides the network's own: it is subtracted from V; without it V is as it comes


class ContextView(NamedTuple):
    """A weighted mean over a context's last utterances; the weight decays with every later utterance."""

    decay: float
    turns: int


@dataclass(frozen=True)
class ScorerCard:
    """What determines a scorer's scores, besides its weights, and where it comes from."""

    kind: Kind
    encoder: str  # the name of V
    features: str  # the digest of V
    views: tuple[ContextView, ...]  # of the context: V(c) is their concatenation
    bounds: dict[str, tuple[float, float]]  # of f and, by its spec, of g: the values that become 0 and 1 (equation 2)
    weights: str  # the sha256 of the weights file
    about: dict[str, Any] = field(default_factory=dict)  # recipe, data, licence, measured
    format: int = FORMAT

    def digest(self) -> str:
        """Return the digest of everything that determines a score."""
        fields = asdict(self)
        fields["views"] = [list(view) for view in self.views]
        content = {key: fields[key] for key in ("kind", "features", "views", "bounds", "weights")}
        return sha256_of_bytes(orjson.dumps(content, option=orjson.OPT_SORT_KEYS))


def read_scorer_card(folder: Path) -> ScorerCard:
    """Return the card of a folder."""
    path = folder / CARD_FILE
    parts = {"bounds": _parse_bounds, "views": _parse_views}
    return read_model_card(path, ScorerCard, "a scorer", _retrain_hint(), parts, get_args(Kind))


def _parse_bounds(value: Any) -> dict[str, tuple[float, float]]:
    return {name: (float(low), float(high)) for name, (low, high) in value.items()}


def _parse_views(value: Any) -> tuple[ContextView, ...]:
    return tuple(ContextView(float(decay), int(turns)) for decay, turns in value)


def write_scorer(folder: Path, card: ScorerCard, weights: Weights) -> ScorerCard:
    """Write a scorer with weights in half precision (the same scorer gives the same bytes); return the written card."""
    write_small_model(folder / CARD_FILE, folder / TENSORS, card, weights)
    return read_scorer_card(folder)


class SpeakerScorer:
    """A scorer: its card, its weights (in double precision) and its V."""

    def __init__(self, card: ScorerCard, weights: Weights, vectors: TurnEncoder) -> None:
        self.card, self.vectors = card, vectors
        # Rounded as they are stored, whether they come from a folder or from training.
        self.weights = {name: array.astype(np.float16).astype(np.float64) for name, array in weights.items()}
        self._network = build_scorer_network(card.kind)

    @classmethod
    def open(cls, folder: Path) -> SpeakerScorer:
        """Open the scorer of a folder; raise if its files or vectors do not match its card."""
        card = read_scorer_card(folder)
        vectors = open_turn_encoder(card.encoder)
        digests = card.features, card.weights
        check_model_files(folder / CARD_FILE, folder / TENSORS, digests, vectors, _retrain_hint(card.kind))
        return cls(card, read_tensors(folder / TENSORS), vectors)

    def raw(self, views: Sequence[WeightedVectors], replies: WeightedVectors) -> Array:
        """Return f of the views of contexts and of replies, unscaled; NaN if either has no known words."""
        mean = self.weights.get(MEAN_NAME)
        contexts = join_views([WeightedVectors(v.vectors.astype(np.float64), v.weights) for v in views], mean)
        centered_replies = centre_vectors(replies.vectors.astype(np.float64), mean)[:, None]
        scores = self._network.scores(self.weights, contexts, centered_replies).scores[:, 0]
        has_context = np.any([view.weights > 0 for view in views], axis=0)
        return np.where(has_context & (replies.weights > 0), scores, np.nan)

    def raw_of_texts(self, contexts: Sequence[Sequence[str]], replies: Sequence[str]) -> Array:
        """Return unscaled f of contexts (their utterances, oldest first) and replies."""
        if not len(replies):
            return np.zeros(0)
        newest_first = [list(self._last_turns(context))[::-1] for context in contexts]
        distinct = list(dict.fromkeys([*(text for texts in newest_first for text in texts), *replies, ""]))
        index = {text: i for i, text in enumerate(distinct)}
        vectors = self.vectors.encode_turns(distinct)

        def rows(texts: Sequence[str]) -> WeightedVectors:
            indices = [index[text] for text in texts]
            return WeightedVectors(vectors.vectors[indices], vectors.weights[indices])

        ages = [rows([texts[age] if age < len(texts) else "" for texts in newest_first]) for age in range(self._turns)]
        views = [context_vectors(ages[: view.turns], view.decay) for view in self.card.views]
        return self.raw(views, rows(replies))

    def f(self, contexts: Sequence[Sequence[str]], replies: Sequence[str]) -> Array:
        """Return f of contexts and replies on the unit range, clipped."""
        return self.scale(self.raw_of_texts(contexts, replies), F_BOUNDS)

    def scale(self, values: Array, bounds_name: str) -> Array:
        """Return values of f, or of g by its spec, scaled to the unit range by the training data's bounds (eq. 2)."""
        if bounds_name not in self.card.bounds:
            known = ", ".join(repr(name) for name in self.card.bounds if name != F_BOUNDS)
            raise InputError(
                f"the folder of {self.card.kind} has no bounds for the reference {bounds_name!r} "
                f"(it has: {known or 'none'}); {_retrain_hint(self.card.kind)} --reference {bounds_name!r}"
            )
        low, high = self.card.bounds[bounds_name]
        return np.clip((values - low) / (high - low), 0, 1)

    def truncated(self, contexts: Sequence[Sequence[str]], replies: Sequence[str]) -> list[bool]:
        """Return which pairs contain an utterance that is too long to be read in full."""
        texts = [[*self._last_turns(c), reply] for c, reply in zip(contexts, replies, strict=True)]
        distinct = list(dict.fromkeys(text for pair_texts in texts for text in pair_texts))
        is_cut = dict(zip(distinct, self.vectors.truncated(distinct), strict=True))
        return [any(is_cut[text] for text in pair_texts) for pair_texts in texts]

    @property
    def _turns(self) -> int:
        return max(view.turns for view in self.card.views)

    def _last_turns(self, context: Sequence[str]) -> Sequence[str]:
        return context[-self._turns :]


def open_scorer(kind: Kind, folder: str | Path | None = None, weights: WeightSet | None = None) -> SpeakerScorer:
    """Open the scorer in a folder, or that of a set, by default the default one; its V is that of the same set."""
    with use_weights(weights):
        location = weights_folder(kind) if folder is None else Path(folder)
        path = location / CARD_FILE
        scorer = _open_cached(location, path.stat().st_mtime_ns if path.is_file() else 0, default_set())
    if scorer.card.kind != kind:
        raise InputError(
            f"{path}: is a scorer of the kind {scorer.card.kind}, not {kind}; use it as {scorer.card.kind}"
        )
    record_use(ModelUse.of(kind, str(scorer.card.about.get("licence", "")), scorer.card.digest(), set_of(location)))
    record_use(scorer.vectors.use)
    return scorer


@lru_cache(maxsize=8)
def _open_cached(folder: Path, changed: int, weights: WeightSet) -> SpeakerScorer:
    return SpeakerScorer.open(folder)


def _retrain_hint(kind: str = "ssrem") -> str:
    return f"train one with: rejoinder train {kind} -o FOLDER"
