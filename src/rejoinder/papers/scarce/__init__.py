"""SCARCE (Gangal et al. 2021): references grown from one."""

REPRODUCTIONS = ("scarce", "scarce_choice", "scarce_embedding", "scarce_overlap")
