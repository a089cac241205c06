"""SSREM's f alone: how well a reply fits its context, without references."""

from __future__ import annotations

from dataclasses import dataclass

from rejoinder.metrics._speaker_scoring import UnreferencedMetric


@dataclass(frozen=True)
class SsremF(UnreferencedMetric):
    """How well a reply fits its context: the part of ``ssrem`` that needs no reference, from 0 to 1.

    ``folder`` is a scorer of your own (``rejoinder train ssrem``), ``weights`` a set of shipped ones:
    ``'permissive'``, the default, or ``'research'``. NaN without a context.
    """

    citation = "Bak and Oh 2020, Speaker Sensitive Response Evaluation Model"
    kind = "ssrem"
