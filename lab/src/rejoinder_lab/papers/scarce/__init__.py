"""SCARCE (Gangal et al. 2021): references grown from one."""

from rejoinder_lab.papers.requirements import Requirements

REPRODUCTIONS = ("scarce", "scarce_choice", "scarce_embedding", "scarce_overlap")
REQUIREMENTS = {
    "scarce": Requirements(datasets=("gupta",), weights="research"),  # from stored scores; --adapt names the models
    "scarce_choice": Requirements(datasets=("gupta", "dailydialog", "multirefeval"), weights="research"),
    "scarce_embedding": Requirements(datasets=("gupta",), models=("glove-6b-50d", "minilm"), weights="research"),
    "scarce_overlap": Requirements(datasets=("gupta",)),
}
