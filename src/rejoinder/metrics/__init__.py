"""One file per metric: the file's name is what a user types."""
