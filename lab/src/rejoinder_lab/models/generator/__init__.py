"""The generators of CHOSEN's ten systems."""
