"""Sources of references by name: "commonsense" means "commonsense/atomic" too, and "human" means "human-edited"."""

from __future__ import annotations


def is_of(source: str, name: str) -> bool:
    """Whether a source is the one that is named, or a part of it."""
    return source == name or source.startswith((f"{name}/", f"{name}-"))
