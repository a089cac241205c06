"""Indexes over the turns of dialogues: built once, kept in a plain folder, opened in place."""
