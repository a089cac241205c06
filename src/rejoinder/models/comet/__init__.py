"""COMET: tails of common-sense relations, by our own addition or a sequence model."""
