"""Weights for rejoinder that were trained only on corpora whose licences allow commercial use: one folder per model."""
