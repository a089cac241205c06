"""Models: encoders, language models, word vectors; the only place that imports torch, and only when asked to."""
