"""COMET: tails of common-sense relations, by our own LoRA or a sequence model."""
