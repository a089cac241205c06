"""Indexes over the turns of dialogues: built once, stored in a plain folder, opened in place."""
