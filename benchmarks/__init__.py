"""Measurements that are too long for the tests; ``python -m benchmarks`` writes ``docs/results/bench.json``."""
