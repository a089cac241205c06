"""Statistics: arrays in, named tuples out.

NaN and None are missing: left out and counted. Where a statistic does not exist it is NaN and ``reason`` says why.

correlation, grouped, bootstrap      how well a metric agrees with ratings, at which level, and how surely
permutation, williams, pairwise      whether one metric agrees better than another; accuracy on pairs
interval, comparison, mcnemar        the mean of a system; whether one system is better than another
multiple, rank_range, ranking        several comparisons; ranks; strengths from pairwise judgements
agreement, alpha, ceiling, units     how well people agree
sensitivity, calibration             how a metric holds up over data sets; whether scores are probabilities
power, pilot                         how many items the next comparison needs

The rest (arrays, ranks, stretches, weighted, levels, resampling, percentile, bradley_terry, significance) is what these
are made of. See docs/statistics.md.
"""
