"""Relevance without references: metrics against people on six rated sets."""

from rejoinder_lab.papers.requirements import Requirements

REPRODUCTIONS = ("relevance",)
REQUIREMENTS = {
    "relevance": Requirements(
        datasets=("idk", "usr", "fed/turn", "gupta/single"),
        row_libraries={"torch": ("grade", "dynaeval", "usr")},
    ),
}
