"""NUP: next-utterance prediction on a fine-tuned encoder."""
