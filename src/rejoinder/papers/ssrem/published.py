"""What the SSREM paper (Bak and Oh 2020) prints: Tables 4 and 5 with their p-values, and section 8 on copying."""

from __future__ import annotations

from typing import NamedTuple

from rejoinder.models.speaker.network import Kind

BLEU, ROUGE, EMB = "BLEU", "ROUGE", "EMB"
SHOWN: dict[Kind, str] = {"ruber": "RUBER", "rsrem": "RSREM", "ssrem": "SSREM"}
KINDS: tuple[Kind, ...] = tuple(SHOWN)
SHORT = {
    "true": "true",
    "same_conversation": "SC",
    "same_partner": "SP",
    "same_speaker": "SS",
    "random": "Rand",
}
TWITTER, MOVIE = "Twitter (Table 4)", "Movie (Table 5)"


class Printed(NamedTuple):
    """A printed correlation and its p-value; ``below`` says that only a bound of p is printed."""

    value: float
    p: float
    below: bool = False


# Column -> row -> Spearman, Pearson.
CORRELATIONS: dict[str, dict[str, tuple[Printed, Printed]]] = {
    TWITTER: {
        BLEU: (Printed(0.024, 0.472), Printed(0.041, 0.227)),
        ROUGE: (Printed(0.024, 0.471), Printed(0.052, 0.124)),
        EMB: (Printed(0.006, 0.861), Printed(0.012, 0.720)),
        "RUBER": (Printed(0.044, 0.192), Printed(0.046, 0.177)),
        "RSREM": (Printed(0.088, 0.01, True), Printed(0.101, 0.01, True)),
        "SSREM": (Printed(0.392, 0.001, True), Printed(0.376, 0.001, True)),
    },
    MOVIE: {
        BLEU: (Printed(0.036, 0.378), Printed(0.063, 0.124)),
        ROUGE: (Printed(0.041, 0.322), Printed(0.054, 0.191)),
        EMB: (Printed(0.022, 0.586), Printed(0.010, 0.815)),
        "RUBER": (Printed(0.004, 0.920), Printed(-0.009, 0.817)),
        "RSREM": (Printed(0.009, 0.817), Printed(0.024, 0.550)),
        "SSREM": (Printed(0.132, 0.001, True), Printed(0.119, 0.005, True)),
    },
}
# Section 8: how much higher the mean score of the context's utterances is than that of the true replies.
COPIED: dict[Kind, float] = {"ruber": 0.07, "ssrem": 0.01}
