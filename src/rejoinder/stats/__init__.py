"""Statistics: arrays in, named tuples out.

NaN and None are missing: left out and counted. Where a statistic does not exist it is NaN and ``reason`` says why.

correlation, grouped, bootstrap      how well a metric agrees with ratings, at which level, and how surely
permutation, williams, pairwise      whether one metric agrees better than another; accuracy on pairs
interval, comparison, mcnemar        the mean of a system; whether one system is better than another
multiple, rank_range, ranking        several comparisons; ranks; strengths from pairwise judgements
agreement, alpha, ceiling, units     how well people agree
agreement_interval, cohen_interval   the same with intervals, and each rater against the rest; quality: whom to look at
aggregation, certainty               one label from several raters', and how far any metric could follow it
sensitivity, calibration             how a metric holds up over data sets; whether scores are probabilities
power, pilot, rating_noise           how many items and raters the next comparison needs
order_certainty                      how sure the order of two systems is

The rest (arrays, ranks, stretches, weighted, levels, resampling, percentile, bradley_terry, significance,
unit_counts) is what these are made of. See docs/statistics.md.
"""
