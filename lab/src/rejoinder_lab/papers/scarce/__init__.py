"""SCARCE (Gangal et al. 2021): references grown from one."""

from rejoinder_lab.papers.requirements import Requirements

REPRODUCTIONS = ("scarce", "scarce_choice", "scarce_embedding", "scarce_overlap")
REQUIREMENTS = {
    "scarce": Requirements(datasets=("gupta",)),  # from stored scores; with --adapt it names the models itself
    "scarce_choice": Requirements(datasets=("gupta", "dailydialog", "multirefeval")),
    "scarce_embedding": Requirements(datasets=("gupta",), models=("glove-6b-50d", "minilm")),
    "scarce_overlap": Requirements(datasets=("gupta",)),
}
