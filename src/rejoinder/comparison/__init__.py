"""Verdicts on finished runs: which system is better, which metric to trust, whether a run passes its checks."""
