"""Damaged files, for every command that reads one."""
