"""SSREM: how well a reply fits its context and a reference, learned from what else the speaker said."""

from __future__ import annotations

from dataclasses import dataclass

from rejoinder.metrics._speaker_scoring import ReferencedMetric


@dataclass(frozen=True)
class Ssrem(ReferencedMetric):
    """How well a reply fits its context and the best reference, by a scorer that knows speakers' other utterances.

    ``folder`` names a scorer of your own (``rejoinder train ssrem``), else the package's is used. ``reference`` names
    the metric of reply and reference, ``mix`` how the two become one: mean, min, max, geometric. NaN without
    references: ``ssrem_f`` is the part that needs none.
    """

    citation = "Bak and Oh 2020, Speaker Sensitive Response Evaluation Model"
    kind = "ssrem"
