"""Turns by what was said before, in and after them (SCARCE)."""
