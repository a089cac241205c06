"""SUGAR (Otani et al. 2023): situated response selection."""

REPRODUCTIONS = ("sugar",)
