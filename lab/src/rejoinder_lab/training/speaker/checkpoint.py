"""The checkpoint of a training of SSREM, RSREM or RUBER, in one file: arrays and numbers, and no code."""

from __future__ import annotations

from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
import orjson

from rejoinder.errors import InputError
from rejoinder.files import put_in_place
from rejoinder.models.speaker.network import Array

CHECKPOINT = "checkpoint.npz"


@dataclass
class ScorerState:
    """The state of a training: all that its next step depends on."""

    weights: dict[str, Array]
    means: dict[str, Array]
    spreads: dict[str, Array]
    best: dict[str, Array]
    step: int = 0
    epoch: int = 0
    begin: int = 0  # the place in the order of the epoch
    lost: float = 0.0  # in this epoch so far
    best_loss: float = float("inf")
    best_epoch: int = -1
    history: list[dict[str, float]] = field(default_factory=list)  # the losses of each epoch

    @classmethod
    def at_start(cls, weights: dict[str, Array]) -> ScorerState:
        """Return the state before the first step."""
        zeros = [{name: np.zeros_like(array) for name, array in weights.items()} for _ in range(2)]
        copy = {name: array.copy() for name, array in weights.items()}
        return cls(weights, zeros[0], zeros[1], copy)


_ARRAYS = ("weights", "means", "spreads", "best")


def save_scorer_state(path: Path, state: ScorerState, of: str) -> None:
    """Write a checkpoint, which appears whole or not at all; ``of`` names what is being trained."""
    fields = {key: value for key, value in vars(state).items() if key not in _ARRAYS}
    fields["best_loss"] = None if np.isinf(state.best_loss) else state.best_loss
    note = np.frombuffer(orjson.dumps({**fields, "of": of}), np.uint8)
    arrays = {f"{part}.{name}": array for part in _ARRAYS for name, array in getattr(state, part).items()}
    scratch = path.with_suffix(".part")
    with scratch.open("wb") as file:
        np.savez(file, note=note, **arrays)
    put_in_place(scratch, path)


def load_scorer_state(path: Path, of: str) -> ScorerState:
    """Read a checkpoint; one of another training is an error."""
    try:
        with np.load(BytesIO(path.read_bytes()), allow_pickle=False) as archive:
            note: dict[str, Any] = orjson.loads(archive["note"].tobytes())
            parts: dict[str, Any] = {
                part: {n.partition(".")[2]: archive[n] for n in archive if n.startswith(part + ".")} for part in _ARRAYS
            }
    except (OSError, ValueError, KeyError, BadZipFile):
        raise InputError(f"{path}: is not a checkpoint of a training; delete it and train again") from None
    if note.pop("of") != of:
        raise InputError(
            f"{path}: belongs to another training (other data or options); use those, or name another folder"
        )
    note["best_loss"] = float("inf") if note["best_loss"] is None else note["best_loss"]
    return ScorerState(**parts, **note)
