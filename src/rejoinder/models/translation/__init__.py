"""Translation by Marian models, and how their checkpoints are converted."""
