"""The figures of the SUGAR paper (Otani et al. 2023): Tables 2, 3 and 4, what its text says of Figures 4 and 5."""

from __future__ import annotations

from typing import NamedTuple

EXAMPLES, SENTENCES = 1760, 33_794


class Size(NamedTuple):
    """A column of Table 2."""

    different: int
    tokens: int
    mean: float


TABLE_2 = {
    "u": Size(380, 14_458, 8.2),
    "r": Size(1738, 28_694, 16.3),
    "g": Size(431, 7_499, 4.3),
    "s": Size(4450, 147_710, 83.9),
}
TABLE_3 = {"location": 1990, "possession": 3546, "time": 1083, "date": 152, "behavior": 1699, "environment": 2793}

# Section 3.2, steps 6 and 8.
STATEMENTS, DEVIATION, DIFFERENT = 6.4, 1.3, 4375
WITH_TIME, WITH_BEHAVIOR, SEVERAL_GOOD = 0.64, 0.69, 0.56


class Score(NamedTuple):
    """A line of Table 4: both measures with their deviations between folds."""

    precision: float
    precision_deviation: float
    ndcg: float
    ndcg_deviation: float


TFIDF = "TF-IDF"
TABLE_4 = {
    (TFIDF, "u"): Score(0.5993, 0.0223, 0.8377, 0.0042),
    (TFIDF, "u+S1"): Score(0.7995, 0.0119, 0.9289, 0.0042),
    (TFIDF, "u+S"): Score(0.5683, 0.0121, 0.8499, 0.0035),
    ("BERT-FP", "u"): Score(0.6455, 0.0254, 0.8799, 0.0076),
    ("BERT-FP", "u+S1"): Score(0.8386, 0.0280, 0.9461, 0.0084),
    ("BERT-FP", "u+S"): Score(0.6631, 0.0273, 0.8869, 0.0094),
    ("BERT", "u"): Score(0.7292, 0.0256, 0.9102, 0.0071),
    ("BERT", "u+S1"): Score(0.8637, 0.0109, 0.9563, 0.0030),
    ("BERT", "u+S"): Score(0.7266, 0.0158, 0.9110, 0.0038),
    ("RoBERTa", "u"): Score(0.7178, 0.0273, 0.9055, 0.0097),
    ("RoBERTa", "u+S1"): Score(0.8723, 0.0173, 0.9596, 0.0059),
    ("RoBERTa", "u+S"): Score(0.6992, 0.0230, 0.9039, 0.0040),
    ("DeBERTa", "u"): Score(0.7787, 0.0265, 0.9305, 0.0074),
    ("DeBERTa", "u+S1"): Score(0.8981, 0.0112, 0.9686, 0.0041),
    ("DeBERTa", "u+S"): Score(0.7850, 0.0286, 0.9314, 0.0084),
}
# Section 4.4: Figure 5 is a drawing, of which the text tells these ends (0 distractors is u+S1).
FIGURE_5 = {("BERT", "15"): 0.73, ("RoBERTa", "15"): 0.67, ("DeBERTa", "15"): 0.61}
FIGURE_5_NDCG = {("BERT", "15"): 0.91}
