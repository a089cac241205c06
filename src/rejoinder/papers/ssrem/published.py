"""What the SSREM paper (Bak and Oh 2020) prints: Tables 4 and 5 with their p-values, and section 8 on copying."""

from __future__ import annotations

from typing import NamedTuple

from rejoinder.models.speaker.network import Kind

BLEU, ROUGE, EMB = "BLEU", "ROUGE", "EMB"
KIND_LABELS: dict[Kind, str] = {"ruber": "RUBER", "rsrem": "RSREM", "ssrem": "SSREM"}
KINDS: tuple[Kind, ...] = tuple(KIND_LABELS)
SET_LABELS = {
    "true": "true",
    "same_conversation": "SC",
    "same_partner": "SP",
    "same_speaker": "SS",
    "random": "Rand",
}
TWITTER, MOVIE = "Twitter (Table 4)", "Movie (Table 5)"


class PrintedCorrelation(NamedTuple):
    """A printed correlation and its p-value; ``below`` says that only a bound of p is printed."""

    value: float
    p: float
    below: bool = False


# Column -> row -> Spearman, Pearson.
CORRELATIONS: dict[str, dict[str, tuple[PrintedCorrelation, PrintedCorrelation]]] = {
    TWITTER: {
        BLEU: (PrintedCorrelation(0.024, 0.472), PrintedCorrelation(0.041, 0.227)),
        ROUGE: (PrintedCorrelation(0.024, 0.471), PrintedCorrelation(0.052, 0.124)),
        EMB: (PrintedCorrelation(0.006, 0.861), PrintedCorrelation(0.012, 0.720)),
        "RUBER": (PrintedCorrelation(0.044, 0.192), PrintedCorrelation(0.046, 0.177)),
        "RSREM": (PrintedCorrelation(0.088, 0.01, True), PrintedCorrelation(0.101, 0.01, True)),
        "SSREM": (PrintedCorrelation(0.392, 0.001, True), PrintedCorrelation(0.376, 0.001, True)),
    },
    MOVIE: {
        BLEU: (PrintedCorrelation(0.036, 0.378), PrintedCorrelation(0.063, 0.124)),
        ROUGE: (PrintedCorrelation(0.041, 0.322), PrintedCorrelation(0.054, 0.191)),
        EMB: (PrintedCorrelation(0.022, 0.586), PrintedCorrelation(0.010, 0.815)),
        "RUBER": (PrintedCorrelation(0.004, 0.920), PrintedCorrelation(-0.009, 0.817)),
        "RSREM": (PrintedCorrelation(0.009, 0.817), PrintedCorrelation(0.024, 0.550)),
        "SSREM": (PrintedCorrelation(0.132, 0.001, True), PrintedCorrelation(0.119, 0.005, True)),
    },
}
# Section 8: how much higher the mean score of the context's utterances is than that of the true replies.
COPIED: dict[Kind, float] = {"ruber": 0.07, "ssrem": 0.01}
