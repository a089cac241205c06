"""Verdicts on finished runs: which system is better, which metric to believe, whether a gate is passed."""
