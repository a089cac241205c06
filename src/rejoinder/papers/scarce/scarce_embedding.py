"""SCARCE (Gangal et al. 2021), Table 1: metrics by vectors, with the embedded models in place of the paper's.

The paper used GloVe 300d, Skip-Thought and roberta-large; here stand GloVe 50d and MiniLM, so the published figures are
neighbours to look at, not numbers to meet.
"""

from __future__ import annotations

from rejoinder.papers.base import Reproduction
from rejoinder.papers.scarce.items import INTERVALS, METHODS, SETS, reference_set_figures

SUMMARY = "SCARCE, Table 1: metrics by vectors on four reference sets, with GloVe 50d and MiniLM"
SPECS = {
    "embedding average": "embedding_average",
    "vector extrema": "vector_extrema",
    "greedy matching": "greedy_matching",
    "sentence cosine (there Skip-Thought)": "sentence_cosine",
    "BERT precision": "bertscore(part='precision')",
    "BERT recall": "bertscore(part='recall')",
    "BERT F1": "bertscore",
    "sentence mover": "sentence_mover",
}
# Row and set -> Spearman, Pearson, Kendall, to four decimals, from the authors' result logs.
PUBLISHED = {
    ("sentence cosine (there Skip-Thought)", "SINGLE"): (-0.0029, -0.1463, 0.0033),
    ("BERT precision", "SINGLE"): (0.2698, 0.2813, 0.1875),
    ("BERT recall", "SINGLE"): (0.0958, 0.1390, 0.0642),
    ("embedding average", "MULTI"): (0.0992, 0.0671, 0.0686),
    ("sentence cosine (there Skip-Thought)", "MULTI"): (0.0652, -0.1120, 0.0527),
    ("BERT precision", "MULTI"): (0.3193, 0.3293, 0.2203),
    ("BERT recall", "MULTI"): (0.2320, 0.2631, 0.1627),
    ("sentence cosine (there Skip-Thought)", "SCARCE-SINGLE"): (0.0873, -0.0715, 0.0651),
    ("BERT precision", "SCARCE-SINGLE"): (0.3782, 0.3696, 0.2588),
    ("BERT recall", "SCARCE-SINGLE"): (0.2397, 0.2644, 0.1645),
    ("sentence cosine (there Skip-Thought)", "SCARCE-MULTI"): (0.1291, -0.0395, 0.0969),
    ("BERT precision", "SCARCE-MULTI"): (0.4070, 0.3968, 0.2793),
    ("BERT recall", "SCARCE-MULTI"): (0.3044, 0.3123, 0.2117),
}


def reproduce() -> Reproduction:
    """Score the 500 replies under each reference set and correlate with the ratings."""
    figures = []
    for column, name in SETS.items():
        published = {row: found for (row, of_set_), found in PUBLISHED.items() if of_set_ == column}
        figures += reference_set_figures(column, name, SPECS, published)
    order = {str(method): place for place, method in enumerate(METHODS)}
    figures.sort(key=lambda figure: order[figure.table])
    notes = [INTERVALS, "The published figures are of other models (GloVe 300d, Skip-Thought, roberta-large)."]
    return Reproduction("scarce-embedding", "SCARCE, Table 1: metrics by vectors", figures, notes)
