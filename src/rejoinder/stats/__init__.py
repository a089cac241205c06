"""Statistics: arrays in, named tuples out."""
