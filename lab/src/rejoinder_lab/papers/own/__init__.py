"""Measurements of our own, beyond the five papers."""

from rejoinder_lab.papers.requirements import Requirements

REPRODUCTIONS = ("comet", "confounders", "distributions", "held_out", "robustness")
REQUIREMENTS = {
    "comet": Requirements(models=("smollm2-135m",)),
    "confounders": Requirements(datasets=("gupta", "usr", "fed/turn"), weights="research"),
    "distributions": Requirements(datasets=("gupta",), weights="research"),
    "held_out": Requirements(datasets=("corpus",), weights="research"),
    "robustness": Requirements(datasets=("corpus",), weights="research"),
}
