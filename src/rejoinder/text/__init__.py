"""Text: tokens, normal forms, sentences, similarity, English."""
