"""Judgements from projects and files: aggregated, their agreement, and how many are enough."""
