"""CHOSEN (Sato et al. 2020): test sets with well-chosen false candidates."""

REPRODUCTIONS = ("chosen",)
