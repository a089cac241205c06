"""The training of aptness."""
