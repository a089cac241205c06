"""Engines: who computes the parts of a long command, on this machine or on many."""
