"""SSREM: how well a reply fits its context and a reference, learned from other things the speaker said."""

from __future__ import annotations

from dataclasses import dataclass

from rejoinder.metrics._speaker_scoring import ReferencedMetric


@dataclass(frozen=True)
class Ssrem(ReferencedMetric):
    """How well a reply fits its context and the best reference, by a scorer that knows speakers' other utterances.

    ``folder`` is a scorer of your own (``rejoinder train ssrem``), ``weights`` a set of shipped ones:
    ``'permissive'``, the default, or ``'research'``. ``reference`` is the metric that compares reply and reference,
    ``mix`` how the two scores are combined: mean, min, max, geometric. NaN without references: ``ssrem_f`` is the part
    that needs none.
    """

    citation = "Bak and Oh 2020, Speaker Sensitive Response Evaluation Model"
    kind = "ssrem"
