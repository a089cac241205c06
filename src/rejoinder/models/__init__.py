"""Models: encoders, language models, word vectors; torch is imported only when a model needs it."""
