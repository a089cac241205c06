"""GRADE, from its authors' checkpoint."""
