"""Turns by their own text: BM25 and dense indexes, and the folders that hold them."""
