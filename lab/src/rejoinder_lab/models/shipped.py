"""The weights of the published baselines: trained on the vectors of the research set, and of no use with another."""

from __future__ import annotations

from pathlib import Path

from rejoinder.models.weight_sets import WeightSet

WEIGHTS = Path(__file__).parent.parent / "weights"
SET: WeightSet = "research"
