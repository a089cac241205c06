"""The large judge of `aptness`: a language model with an adapter, read as a scorer of replies; needs torch."""
