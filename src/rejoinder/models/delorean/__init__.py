"""DELOREAN decoding: a text rewritten to fit its context."""
