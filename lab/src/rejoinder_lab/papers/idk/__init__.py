"""IDK (Berlot-Attwell and Rudzicz 2022): relevance from frozen features and one fixed negative."""

from rejoinder_lab.papers.requirements import Requirements

REPRODUCTIONS = ("idk",)
REQUIREMENTS = {
    "idk": Requirements(
        datasets=("idk", "usr", "fed/turn", "corpus/dialogues"),
        row_libraries={"torch": ("GRADE", "DYNA-EVAL")},
        weights="research",
    ),
}
