"""SSREM (Bak and Oh 2020): a scorer trained with speaker-sensitive negatives."""

from rejoinder_lab.papers.requirements import Requirements

REPRODUCTIONS = ("speakers", "ssrem")
REQUIREMENTS = {
    "speakers": Requirements(datasets=("corpus/dialogues",), models=("glove-6b-50d", "minilm"), weights="research"),
    "ssrem": Requirements(weights="research"),  # from stored scores; tables of rated replies say which sets they lack
}
