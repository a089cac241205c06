"""Statistics: arrays in, named tuples out.

NaN and None are missing: left out and counted. Where a statistic does not exist it is NaN and ``reason`` says why.

correlation, grouped, levels         how well a metric agrees with ratings, and at which level
bootstrap, resampling                intervals by resampling items, systems, dialogues or raters
permutation, williams, pairwise      whether one metric agrees better than another; accuracy on pairs
interval, paired_difference, mcnemar the mean of a system, a share; whether one system is better than another
holm, rank_range, bradley_terry      several comparisons; ranks; strengths from pairwise judgements
agreement, agreement_interval        how well people agree: alpha, kappas, each rater against the others
ceiling, rating_matrix, quality      what people themselves reach; ratings as a matrix; raters to look at
aggregation                          one label from several raters'
sensitivity, calibration, ndcg       how a metric holds up over data sets; whether scores are probabilities; rankings
power, rating_noise                  how many items and raters the next comparison needs

``arrays``, ``hall``, ``weighted_correlation`` and ``significance`` hold what these share. See docs/statistics.md.
"""
