"""Measurements of our own, beyond the five papers."""

REPRODUCTIONS = ("comet", "confounders", "distributions", "held_out", "robustness")
