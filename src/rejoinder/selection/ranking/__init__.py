"""Ranking of graded candidates in a situation, and how good a ranking is."""
