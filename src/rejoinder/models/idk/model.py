"""The model of `idk`: one JSON file with a weight per dimension of a pair's vector, and where they come from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from rejoinder.errors import InputError
from rejoinder.files import sha256_of_bytes
from rejoinder.model_use import ModelUse, record_use
from rejoinder.models.aptness.calibration import Numbers
from rejoinder.models.base import Vectors
from rejoinder.models.card import read_model_card
from rejoinder.models.idk.pair_encoder import PairEncoder, load_pair_encoder
from rejoinder.models.spoken import Contexts
from rejoinder.models.weight_sets import WeightSet, set_of, use_weights, weights_folder

CARD_FILE = "idk.json"
FORMAT = 1
RETRAIN_COMMAND = "rejoinder train idk -o FOLDER, then -m \"idk(folder='FOLDER')\""


@dataclass(frozen=True)
class IdkCard:
    """A logistic regression on the vectors of a pair encoder, and where it comes from."""

    encoder: str  # its name for load_pair_encoder
    features: str  # the digest of that encoder
    weights: tuple[float, ...]
    bias: float
    about: dict[str, Any] = field(default_factory=dict)  # recipe, data, licence, measured
    format: int = FORMAT

    def digest(self) -> str:
        """Return the digest of everything that determines a score."""
        content = [self.features, self.weights, self.bias]
        return sha256_of_bytes(orjson.dumps(content))


def read_idk_card(folder: Path) -> IdkCard:
    """Return the weights in a folder."""
    path = folder / CARD_FILE
    parts: dict[str, Any] = {"weights": lambda row: tuple(map(float, row)), "bias": float}
    card = read_model_card(path, IdkCard, "idk", f"train a model with: {RETRAIN_COMMAND}", parts)
    if not np.isfinite([*card.weights, card.bias]).all():
        raise InputError(f"{path}: contains a weight that is not a number; train them again: {RETRAIN_COMMAND}")
    return card


def write_idk_card(folder: Path, card: IdkCard) -> None:
    """Write weights into a folder; the same weights give the same bytes."""
    folder.mkdir(parents=True, exist_ok=True)
    plain = asdict(card)
    line = orjson.dumps(plain.pop("weights")).decode()
    # The weights on one line, so that the rest of the card is easy to read.
    text = orjson.dumps({**plain, "weights": []}, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS).decode()
    before, _, after = text.rpartition("[]")  # of the last key
    (folder / CARD_FILE).write_text(f"{before}{line}{after}\n", encoding="utf-8")


class IdkModel:
    """The regression with its pair encoder."""

    def __init__(self, folder: Path) -> None:
        self.card = read_idk_card(folder)
        # Scores are cached elsewhere; caching the vector of each pair as well would only fill the disk.
        self.encoder: PairEncoder = load_pair_encoder(self.card.encoder, cache=False)
        if self.encoder.digest != self.card.features or self.encoder.dimensions != len(self.card.weights):
            raise InputError(
                f"{folder / CARD_FILE}: was trained on different vectors of {self.card.encoder!r} (digest "
                f"{self.card.features[:12]}, here {self.encoder.digest[:12]}); train it again: {RETRAIN_COMMAND}"
            )

    def probabilities(self, contexts: Contexts, replies: Sequence[str]) -> Numbers:
        """Return the probability that each reply is a true one rather than the negative; NaN for blank texts."""
        return regression_probabilities(
            self.encoder.features(contexts, replies), np.array(self.card.weights), self.card.bias
        )


def regression_probabilities(features: Vectors, weights: Numbers, bias: float) -> Numbers:
    """Return the logistic function of the weighted sum of each row."""
    # Row by row: a matrix product would add in an order that depends on the other rows.
    odds = (features.astype(np.float64) * weights).sum(axis=1) + bias
    values: Numbers = 1 / (1 + np.exp(-np.clip(odds, -60, 60)))
    return values


def open_idk(folder: str | Path | None = None, weights: WeightSet | None = None) -> IdkModel:
    """Open the weights of a folder, or those of a set, by default the default one."""
    with use_weights(weights):
        location = weights_folder("idk") if folder is None else Path(folder)
        model = IdkModel(location)  # its vectors are those of the same set
    record_use(ModelUse.of("idk", str(model.card.about.get("licence", "")), model.card.digest(), set_of(location)))
    return model
