"""Rankers of candidates in a situation (SUGAR)."""
