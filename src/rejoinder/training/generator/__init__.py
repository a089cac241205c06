"""The training of generators."""
