"""The training of rankers."""
