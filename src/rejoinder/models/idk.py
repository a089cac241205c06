"""The weights of `idk` in a folder: one JSON file, a number for each dimension of a pair's vector, and their card."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from rejoinder.errors import InputError
from rejoinder.files import sha256_of_bytes
from rejoinder.models.aptness.calibration import Numbers
from rejoinder.models.aptness.model import Contexts
from rejoinder.models.base import Vectors
from rejoinder.models.catalog.manifest import WEIGHTS
from rejoinder.models.encoder.pair_encoder import PairEncoder, load_pair_encoder

CARD_FILE = "idk.json"
FORMAT = 1
SHIPPED_FOLDER = WEIGHTS / "idk"
RETRAIN_COMMAND = "rejoinder train idk -o FOLDER, then -m \"idk(folder='FOLDER')\""


@dataclass(frozen=True)
class IdkCard:
    """A logistic regression on the vectors of one pair encoder, and where it comes from."""

    encoder: str  # as load_pair_encoder names it
    features: str  # the digest of that encoder
    weights: tuple[float, ...]
    bias: float
    about: dict[str, Any] = field(default_factory=dict)  # recipe, data, licence, measured
    format: int = FORMAT

    def digest(self) -> str:
        """Of all that decides a score."""
        decides = [self.features, self.weights, self.bias]
        return sha256_of_bytes(orjson.dumps(decides))


def read_card(folder: Path) -> IdkCard:
    """The weights of a folder."""
    path = folder / CARD_FILE
    try:
        found = orjson.loads(path.read_bytes())
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); train some with: {RETRAIN_COMMAND}") from None
    except ValueError as error:
        raise InputError(f"{path}: is not JSON ({error})") from None
    if not isinstance(found, Mapping) or found.get("format") != FORMAT:
        raise InputError(
            f"{path}: does not hold weights of idk in format {FORMAT}; train them again: {RETRAIN_COMMAND}"
        )
    try:
        card = IdkCard(**{**found, "weights": tuple(map(float, found["weights"])), "bias": float(found["bias"])})
    except (KeyError, TypeError, ValueError):
        raise InputError(
            f"{path}: does not hold weights of idk (a key is missing or wrong); {RETRAIN_COMMAND}"
        ) from None
    if not np.isfinite([*card.weights, card.bias]).all():
        raise InputError(f"{path}: holds a weight that is no number; train them again: {RETRAIN_COMMAND}")
    return card


def write_card(folder: Path, card: IdkCard) -> None:
    """Write the weights of a folder; the same weights give the same bytes."""
    folder.mkdir(parents=True, exist_ok=True)
    plain = asdict(card)
    line = orjson.dumps(plain.pop("weights")).decode()
    # The weights on one line: a reader of the card wants the rest.
    text = orjson.dumps({**plain, "weights": []}, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS).decode()
    before, _, after = text.rpartition("[]")  # of the last key
    (folder / CARD_FILE).write_text(f"{before}{line}{after}\n", encoding="utf-8")


class IdkModel:
    """The regression with its pair encoder."""

    def __init__(self, folder: Path) -> None:
        self.card = read_card(folder)
        # Scores are kept by whoever asks for them; a vector of each pair beside them would only fill the disk.
        self.encoder: PairEncoder = load_pair_encoder(self.card.encoder, cache=False)
        if self.encoder.digest != self.card.features or self.encoder.dimensions != len(self.card.weights):
            raise InputError(
                f"{folder / CARD_FILE}: was trained on other vectors of {self.card.encoder!r} (digest "
                f"{self.card.features[:12]}, here {self.encoder.digest[:12]}); train it again: {RETRAIN_COMMAND}"
            )

    def probabilities(self, contexts: Contexts, replies: Sequence[str]) -> Numbers:
        """How probable it is that each reply is a true one rather than the negative; NaN where nothing is said."""
        return probabilities(self.encoder.features(contexts, replies), np.array(self.card.weights), self.card.bias)


def probabilities(features: Vectors, weights: Numbers, bias: float) -> Numbers:
    """The logistic function of the weighted sum of each row."""
    # Row by row: a product of matrices would sum in another order for other neighbours.
    odds = (features.astype(np.float64) * weights).sum(axis=1) + bias
    found: Numbers = 1 / (1 + np.exp(-np.clip(odds, -60, 60)))
    return found


def open_idk(folder: str | Path | None = None) -> IdkModel:
    """The weights of a folder, those of the package where none is named."""
    return IdkModel(SHIPPED_FOLDER if folder is None else Path(folder))
