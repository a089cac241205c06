"""Losses of candidates, stored without any text: what the ladders of ``reproduce chosen`` are computed from.

A file has the sets (for each question, where the losses of its candidates are, the true reply's first), a digest of
what was asked, and for each system the loss of every candidate after its context and alone, in thousandths of a nat per
token.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rejoinder.errors import InputError
from rejoinder_lab.papers.stored_answers import read_stored, write_stored

STORED_FILE = Path(__file__).with_name("stored_losses.json.gz")
_REMEDY = "see python -m rejoinder_lab.papers.chosen.jobs --help"
_SCALE = 1_000
Losses = NDArray[np.float32]
Positions = NDArray[np.int64]


class CandidateKind(Enum):
    """Two kinds of false candidates."""

    CHOSEN = "CHOSEN"
    RANDOM = "RANDOM"


class SystemLosses(NamedTuple):
    """The loss per token of each candidate after its context, and without a context."""

    after: Losses
    alone: Losses


@dataclass(frozen=True)
class StoredLosses:
    """The losses of some systems on chosen and random sets of the same questions.

    - ``asked``: the digest of contexts and candidates.
    - ``positions``: by kind, the positions of losses: sets, questions, candidates.
    - ``systems``: the losses of each system.
    - ``replies``: by system and metric, the scores of its replies to the questions' contexts.
    - ``about``: what the losses were computed with.
    """

    asked: str
    positions: Mapping[CandidateKind, Positions]
    systems: Mapping[str, SystemLosses] = field(default_factory=dict)
    replies: Mapping[str, Mapping[str, Sequence[float]]] = field(default_factory=dict)
    about: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def owners(self) -> Positions:
        """The question that each loss belongs to."""
        size = 1 + max(int(positions.max()) for positions in self.positions.values())
        owners = np.zeros(size, np.int64)
        for positions in self.positions.values():
            owners[positions] = np.arange(positions.shape[1])[None, :, None]
        return owners

    def add_system(self, name: str, losses: SystemLosses, **about: object) -> StoredLosses:
        """Return the same with the losses of one more system."""
        return replace(self, systems={**self.systems, name: losses}, about={**self.about, name: about})


def write_stored_losses(path: Path, stored: StoredLosses) -> None:
    """Write losses; the same losses give the same bytes."""
    content = {
        "asked": stored.asked,
        "about": stored.about,
        "positions": {kind.value: positions.tolist() for kind, positions in stored.positions.items()},
        "systems": {name: [_to_whole(part) for part in losses] for name, losses in stored.systems.items()},
        "replies": stored.replies,
    }
    write_stored(path, content)


def read_stored_losses(path: Path) -> StoredLosses:
    """Read losses."""
    try:
        content = read_stored(path, _REMEDY)
        return StoredLosses(
            content["asked"],
            {CandidateKind(kind): np.array(rows, np.int64) for kind, rows in content["positions"].items()},
            {name: SystemLosses(*map(_from_whole, parts)) for name, parts in content["systems"].items()},
            content["replies"],
            content["about"],
        )
    except (InputError, ValueError, KeyError, TypeError):
        raise InputError(f"{path}: has no stored losses; {_REMEDY}") from None


def _to_whole(losses: Losses) -> list[int | None]:
    return [None if np.isnan(value) else round(float(value) * _SCALE) for value in losses]


def _from_whole(values: Sequence[int | None]) -> Losses:
    return np.array([np.nan if value is None else value / _SCALE for value in values], np.float32)
