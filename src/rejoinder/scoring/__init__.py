"""Scoring: items and responses in, one score a response and metric out, in memory or as a run folder."""

from typing import TYPE_CHECKING

from rejoinder.exports import export_lazily

if TYPE_CHECKING:
    from rejoinder.scoring.cost import CostEstimate as CostEstimate
    from rejoinder.scoring.cost import estimate_cost as estimate_cost

__getattr__, __dir__, __all__ = export_lazily(
    __name__,
    {
        "cost": ("CostEstimate", "estimate_cost"),
    },
)
