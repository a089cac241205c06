"""IDK: a scorer of replies trained without wrong ones, and the encoders of pairs that it reads."""
