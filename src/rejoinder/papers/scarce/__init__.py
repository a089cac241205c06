"""SCARCE (Gangal et al. 2021): references grown from one."""

from rejoinder.papers.requirements import Requirements

REPRODUCTIONS = ("scarce", "scarce_embedding", "scarce_overlap")
REQUIREMENTS = {
    "scarce": Requirements(datasets=("gupta", "dailydialog"), models=("smollm2-135m", "glove-6b-50d")),
    "scarce_embedding": Requirements(datasets=("gupta",), models=("glove-6b-50d",)),
    "scarce_overlap": Requirements(datasets=("gupta",)),
}
