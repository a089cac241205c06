"""RUBER: an unreferenced score of a reply in its context, combined with its similarity to a reference."""

from __future__ import annotations

from dataclasses import dataclass

from rejoinder.metrics._speaker_scoring import ReferencedMetric


@dataclass(frozen=True)
class Ruber(ReferencedMetric):
    """How well a reply fits its context and the best reference, by RUBER's network trained on random negatives.

    ``folder`` is a scorer of your own (``rejoinder train ruber``), ``weights`` a set of shipped ones:
    ``'permissive'``, the default, or ``'research'``. ``mix`` is one of the paper's four: mean, min, max, geometric.
    NaN without references: ``ruber_f`` is the part that needs none.
    """

    reference: str = "ruber_g"

    citation = "Tao et al. 2018, RUBER: An Unsupervised Method for Automatic Evaluation of Open-Domain Dialog Systems"
    kind = "ruber"
