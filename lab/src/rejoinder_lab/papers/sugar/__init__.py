"""SUGAR (Otani et al. 2023): situated response selection."""

from rejoinder_lab.papers.requirements import Requirements

REPRODUCTIONS = ("sugar",)
REQUIREMENTS = {
    "sugar": Requirements(
        datasets=("sugar",),
        answers=(
            "situated-mpnet",
            "cross-mpnet",
            "situated-every",
            "situated",
            "situated-given",
            "cross",
            "cross-own",
        ),
        weights="research",
    ),
}
