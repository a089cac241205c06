"""BERT as it was published: next sentence prediction, and words under a mask."""
