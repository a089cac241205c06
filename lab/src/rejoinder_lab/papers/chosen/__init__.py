"""CHOSEN (Sato et al. 2020): test sets with well-chosen false candidates."""

from rejoinder_lab.papers.requirements import Requirements

REPRODUCTIONS = ("chosen",)
REQUIREMENTS = {
    "chosen": Requirements(
        datasets=("chosen", "dailydialog", "corpus/dialogues"), row_models=("glove-6b-50d",), weights="research"
    ),
}
