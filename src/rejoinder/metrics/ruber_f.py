"""RUBER's f alone: how well a reply fits its context, without references."""

from __future__ import annotations

from dataclasses import dataclass

from rejoinder.metrics._speaker_scoring import UnreferencedMetric


@dataclass(frozen=True)
class RuberF(UnreferencedMetric):
    """How well a reply fits its context: the part of ``ruber`` that needs no reference, from 0 to 1.

    ``folder`` is a scorer of your own (``rejoinder train ruber``), ``weights`` a set of shipped ones:
    ``'permissive'``, the default, or ``'research'``. NaN without a context.
    """

    citation = "Tao et al. 2018, RUBER: An Unsupervised Method for Automatic Evaluation of Open-Domain Dialog Systems"
    kind = "ruber"
