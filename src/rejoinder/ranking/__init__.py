"""Ranking of graded candidates in a situation, and how good a ranking is (Otani et al. 2023)."""

from __future__ import annotations
