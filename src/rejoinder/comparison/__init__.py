"""Verdicts on finished runs: which system is better, which metric to trust, whether a run passes its checks."""

from typing import TYPE_CHECKING

from rejoinder.exports import export_lazily

if TYPE_CHECKING:
    from rejoinder.comparison.aggregation import AggregatedAspect as AggregatedAspect
    from rejoinder.comparison.check import CheckResult as CheckResult
    from rejoinder.comparison.estimate import PoweredEstimates as PoweredEstimates
    from rejoinder.comparison.estimate_frame import PoweredEstimate as PoweredEstimate
    from rejoinder.comparison.metric_power import MetricPower as MetricPower
    from rejoinder.comparison.metric_power import power_with_metric as power_with_metric
    from rejoinder.comparison.next_ratings import NextRatings as NextRatings
    from rejoinder.comparison.next_ratings import RatingSuggestion as RatingSuggestion
    from rejoinder.comparison.next_ratings import next_for_estimate as next_for_estimate
    from rejoinder.comparison.preferences import PreferenceRanking as PreferenceRanking
    from rejoinder.comparison.preferences import rank_by_preference as rank_by_preference
    from rejoinder.comparison.run_comparison import RunComparison as RunComparison

__getattr__, __dir__, __all__ = export_lazily(
    __name__,
    {
        "aggregation": ("AggregatedAspect",),
        "check": ("CheckResult",),
        "estimate": ("PoweredEstimates",),
        "estimate_frame": ("PoweredEstimate",),
        "metric_power": ("MetricPower", "power_with_metric"),
        "next_ratings": ("NextRatings", "RatingSuggestion", "next_for_estimate"),
        "preferences": ("PreferenceRanking", "rank_by_preference"),
        "run_comparison": ("RunComparison",),
    },
)
