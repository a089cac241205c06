"""Relevance without references: metrics against people on six rated sets."""

REPRODUCTIONS = ("relevance",)
