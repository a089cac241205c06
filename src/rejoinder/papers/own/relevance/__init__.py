"""Relevance without references: metrics against people on six rated sets."""

from rejoinder.papers.requirements import Requirements

REPRODUCTIONS = ("relevance",)
REQUIREMENTS = {
    "relevance": Requirements(datasets=("idk", "usr", "fed/turn", "gupta/single")),
}
