"""RSREM: SSREM trained with random negatives only, the baseline of the same paper."""

from __future__ import annotations

from dataclasses import dataclass

from rejoinder.metrics._speaker_scoring import ReferencedMetric


@dataclass(frozen=True)
class Rsrem(ReferencedMetric):
    """How well a reply fits its context and the best reference, by SSREM's scorer trained on random negatives.

    Parameters as in ``ssrem``. NaN without references: ``rsrem_f`` is the part that needs none.
    """

    citation = "Bak and Oh 2020, Speaker Sensitive Response Evaluation Model"
    kind = "rsrem"
