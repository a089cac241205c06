"""Situated test sets (SUGAR, Otani et al. 2023): requests, goals, replies and statements in, questions out."""
