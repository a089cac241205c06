"""Runs over shards."""
