"""Scoring: items and responses in, one score a response and metric out, in memory or as a run folder."""
