"""Indexes over many shards, with the hits of one big index."""
