"""Adaptations that were computed before: a line each, under a digest of the model, the settings, the context and text.

One file a model in ``<cache>/adaptations``, added to batch by batch, so that a killed command loses one batch. A line
that was torn or damaged is adapted anew. A file that was made elsewhere (on a machine with a GPU) can be read as well.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from rejoinder.augmenting.line_store import LineStore, digest_of
from rejoinder.models.delorean import Job


class Likelihood(NamedTuple):
    """How likely a text is in its context: the log-probability of a token, on average and at worst."""

    mean: float
    worst: float


class Adaptation(NamedTuple):
    """What a text became (None: left alone), and how likely it was before and is now (None: it has no tokens)."""

    text: str | None
    rounds: int = 0
    before: Likelihood | None = None
    after: Likelihood | None = None

    @classmethod
    def of(cls, record: dict[str, Any]) -> Adaptation:
        """What a line of a file says."""
        likely = {name: Likelihood(*record.pop(name)) for name in ("before", "after") if record.get(name)}
        return cls(**{**record, **likely})


def key_of(signature: str, job: Job) -> str:
    """What decides an adaptation, as one digest."""
    return digest_of([signature, job.text, *((turn.speaker or "", turn.text) for turn in job.context)])


class AdaptationStore(LineStore[Adaptation]):
    """Adaptations by key: a file that grows, and files that are only read."""

    def __init__(self, path: Path, *others: Path) -> None:
        super().__init__(Adaptation.of, "adaptations", path, *others)
