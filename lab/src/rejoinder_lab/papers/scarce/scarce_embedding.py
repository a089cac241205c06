"""SCARCE (Gangal et al. 2021), Table 1: metrics by vectors, with the embedded models in place of the paper's.

The paper used GloVe 300d, Skip-Thought and roberta-large; here we use GloVe 50d and MiniLM, so the published figures
are for orientation only.
"""

from __future__ import annotations

from rejoinder_lab.papers.base import Reproduction
from rejoinder_lab.papers.loader import load_notes, load_published
from rejoinder_lab.papers.scarce.measures import COSINE, METHODS, SETS, reference_set_figures

SUMMARY = "SCARCE, Table 1: metrics by vectors on four reference sets, with GloVe 50d and MiniLM"
SPECS = {
    "embedding average": "embedding_average",
    "vector extrema": "vector_extrema",
    "greedy matching": "greedy_matching",
    COSINE: "sentence_cosine(encoder='minilm')",
    "BERT precision": "bertscore(part='precision', encoder='minilm')",
    "BERT recall": "bertscore(part='recall', encoder='minilm')",
    "BERT F1": "bertscore(encoder='minilm')",
    "sentence mover": "sentence_mover(encoder='minilm')",
}


def reproduce() -> Reproduction:
    """Score the 500 replies under each reference set and correlate with the ratings."""
    figures = []
    for column, name in SETS.items():
        figures += reference_set_figures(column, name, SPECS, load_published("scarce")["Table 1, result logs"])
    order = {str(method): place for place, method in enumerate(METHODS)}
    figures.sort(key=lambda figure: order[figure.table])
    notes = [load_notes("scarce").text("intervals"), load_notes("scarce").text("other models")]
    return Reproduction("scarce-embedding", "SCARCE, Table 1: metrics by vectors", figures, notes)
