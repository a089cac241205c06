"""Measurements of our own, beyond the five papers."""

from rejoinder_lab.papers.requirements import Requirements

REPRODUCTIONS = ("comet", "confounders", "distributions", "held_out", "robustness")
REQUIREMENTS = {
    "comet": Requirements(models=("smollm2-135m",)),
    "confounders": Requirements(datasets=("gupta", "usr", "fed/turn")),
    "distributions": Requirements(datasets=("gupta",)),
    "held_out": Requirements(datasets=("corpus",)),
    "robustness": Requirements(datasets=("corpus",)),
}
